//! `netloom state watch`

use std::time::Duration;

use netloom_model::{Engine, Observed, Scope};
use serde_json::json;

use crate::{
    args::{Format, WatchArgs},
    facts::{Difference, Facts, differences, facts},
    failure::{Exit, Failure},
    names::Names,
    output,
    session::{CLOCK, Session},
};

/// How long to wait for an event before looking all the same: events can be lost, a dump cannot.
const POLL: Duration = Duration::from_mins(1);

pub(crate) fn run(args: &WatchArgs, session: &Session) -> Result<Exit, Failure> {
    let WatchArgs { names, seconds, format } = args;
    let (patterns, whole) = (Names::new(names), names.is_empty());
    let format = format.or(Format::Table);
    let end = seconds.map(|seconds| CLOCK.now().plus(Duration::from_secs(seconds.into())));
    let mut host = session.host()?;
    let look = |observed: &Observed| facts(observed, |link| patterns.fit(link), whole);
    let mut before: Facts = look(&host.observe(Scope::default()).map_err(|error| Session::unreadable(&error))?);
    session.output.note(&format!("Watching {} facts; Ctrl-C ends it.", before.len()));
    loop {
        let left = end.map_or(POLL, |end| CLOCK.now().until(end).min(POLL));
        if left.is_zero() {
            return Ok(Exit::Done);
        }
        host.wait_for_change(left).map_err(|error| Session::unreadable(&error))?;
        let after = look(&host.observe(Scope::default()).map_err(|error| Session::unreadable(&error))?);
        let time = CLOCK.now().to_string();
        let lines: String = differences(&before, &after).iter().map(|one| line(one, &time, format)).collect();
        if !lines.is_empty() {
            output::data(&lines)?;
        }
        before = after;
    }
}

fn line(difference: &Difference, time: &str, format: Format) -> String {
    match format {
        Format::Table => format!("{time} {}\n", output::plain(&difference.to_string()).replace('\n', " ")),
        Format::Json | Format::Yaml => {
            let Difference { path, before, after } = difference;
            let start = if format == Format::Yaml { "- " } else { "" };
            format!("{start}{}\n", json!({ "time": time, "path": path, "before": before, "after": after }))
        }
    }
}
