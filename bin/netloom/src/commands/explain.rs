//! `netloom state explain`

use netloom_model::{Engine, Scope};
use serde_json::Value as Json;

use crate::{
    args::{ExplainArgs, Format},
    explain::{Explanation, explain},
    failure::{Exit, Failure},
    output,
    session::Session,
    text,
};

pub(crate) fn run(args: &ExplainArgs, session: &Session) -> Result<Exit, Failure> {
    let ExplainArgs { name, format } = args;
    session.mention_open();
    let observed = session.host()?.observe(Scope::default()).map_err(|error| Session::unreadable(&error))?;
    let owned = session.ownership()?;
    let found = explain(name, &observed, &owned);
    if found.is_empty() {
        return Err(Failure::refused(format_args!(
            "{name:?} is no link, further name, address, route destination, rule or line of routing daemons here; {} lists what is",
            session.hint("show -o table")
        )));
    }
    let all = || Json::Array(found.iter().map(Explanation::json).collect());
    let text = match format.or(Format::Table) {
        Format::Table => output::plain(&found.iter().map(Explanation::text).collect::<String>()).into_owned(),
        Format::Yaml => netloom_yaml::print(&all()),
        Format::Json => text::json(&all()),
    };
    output::data(&text)?;
    Ok(Exit::Done)
}
