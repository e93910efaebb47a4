//! From the start of the process to the first good answer of `/readyz`.

use bench_table::{Bound, Row, Series, Unit};

use super::{Bench, PEER, Pair, tell};
use crate::{Failure, server::Whose};

/// In seconds.
const BOUND: f64 = 0.1;

impl Bench {
    pub(super) async fn ready(&self) -> Result<Vec<Row>, Failure> {
        let (mut first, mut again) = (Pair::default(), Series::default());
        for round in 0..self.rounds {
            for whose in Self::turns(round, true) {
                let folder = self.programs.fresh()?;
                let server = self.programs.start_in(whose, &folder).await?;
                let seconds = server.ready_after.as_secs_f64();
                first.push(whose, seconds);
                tell("ready", round, whose, &format!("{:.0} ms", seconds * 1e3));
                server.stop().await?;
                if whose == Whose::Ours {
                    let server = self.programs.start_in(whose, &folder).await?;
                    again.push(server.ready_after.as_secs_f64());
                    tell("ready again", round, whose, &format!("{:.0} ms", server.ready_after.as_secs_f64() * 1e3));
                    server.stop().await?;
                }
            }
        }
        let row = |what: &str, figure: Series, peer: Option<Series>| Row {
            what: what.to_owned(),
            ours: None,
            peer: peer.map(|peer| (PEER, peer, Unit::Milliseconds)),
            figure: (figure, Unit::Milliseconds),
            bound: Bound::AtMost(BOUND),
        };
        Ok(vec![
            row("ready, first start in an empty folder", first.ours, Some(first.peers)),
            row("ready, started again", again, None),
        ])
    }
}
