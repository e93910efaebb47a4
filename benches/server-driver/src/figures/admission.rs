//! How long a review takes. The rules are pure functions, so a program of their own calls them.

use std::process::Stdio;

use bench_table::{Bound, Row, Series, Unit};
use tokio::process::Command;

use super::{Bench, tell};
use crate::{Failure, server::Whose};

/// In seconds.
const BOUND: f64 = 0.001;

impl Bench {
    pub(super) async fn admission(&self) -> Result<Vec<Row>, Failure> {
        let (mut all, mut worst) = (Series::default(), Series::default());
        for round in 0..self.rounds {
            let output = Command::new(&self.admission).stdin(Stdio::null()).stderr(Stdio::inherit()).output().await?;
            if !output.status.success() {
                return Err(format!("{}: {}", self.admission, output.status).into());
            }
            let text = String::from_utf8(output.stdout)?;
            let value = |name: &str| {
                let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
                let line = line.ok_or_else(|| format!("{} says nothing of {name}", self.admission))?;
                Ok::<f64, Failure>(line.split(' ').next().unwrap_or_default().parse::<f64>()? / 1e6)
            };
            all.push(value("p99 of all")?);
            worst.push(value("p99 of the slowest")?);
            tell("admission", round, Whose::Ours, &text.lines().collect::<Vec<_>>().join("; "));
        }
        let row = |what: &str, figure: Series| Row {
            what: what.to_owned(),
            ours: None,
            peer: None,
            figure: (figure, Unit::Microseconds),
            bound: Bound::AtMost(BOUND),
        };
        Ok(vec![
            row("p99 of a review with 10000 objects in view, writes of all kinds", all),
            row("p99 of a review with 10000 objects in view, the slowest kind of write", worst),
        ])
    }
}
