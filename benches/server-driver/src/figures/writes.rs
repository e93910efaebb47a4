//! Acknowledged writes on the same disk: every one of them is there after a power cut.

use std::time::Duration;

use bench_table::{Bound, Row, Unit};

use super::{Bench, PEER, Pair, tell};
use crate::{Failure, crowd, objects::CONFIG_MAPS};

/// How long one client writes, and all of them.
const LASTS: Duration = Duration::from_secs(4);
/// Writes before that, which do not count: connections, caches and compiled paths are then warm.
const WARM_UP: Duration = Duration::from_millis(500);
const MANY: usize = 64;
const BOUND: f64 = 2.0;

impl Bench {
    pub(super) async fn writes(&self) -> Result<Vec<Row>, Failure> {
        let (mut one, mut many) = (Pair::default(), Pair::default());
        for round in 0..self.rounds {
            for whose in Self::turns(round, true) {
                let server = self.programs.start(whose).await?;
                let clients = crowd::gather(&server.access, MANY).await?;
                let (_, next) = crowd::write_for(&clients, CONFIG_MAPS, 0, WARM_UP).await?;
                let (alone, next) = crowd::write_for(&clients[..1], CONFIG_MAPS, next, LASTS).await?;
                let (together, _) = crowd::write_for(&clients, CONFIG_MAPS, next, LASTS).await?;
                one.push(whose, alone);
                many.push(whose, together);
                tell("writes", round, whose, &format!("{alone:.0}/s, {together:.0}/s"));
                server.stop().await?;
            }
        }
        let row = |what: String, pair: Pair| Row {
            what,
            figure: (pair.ours.over(&pair.peers), Unit::Times),
            ours: Some((pair.ours, Unit::PerSecond)),
            peer: Some((PEER, pair.peers, Unit::PerSecond)),
            bound: Bound::AtLeast(BOUND),
        };
        Ok(vec![row("durable writes, 1 client".to_owned(), one), row(format!("durable writes, {MANY} clients"), many)])
    }
}
