//! `netloom state commit`

use std::time::Duration;

use serde_json::json;

use crate::{
    args::EndArgs,
    commands::result,
    failure::{Exit, Failure},
    output,
    session::{self, Session},
};

/// Another change at work ends within moments, or is itself open and holds no lock.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(10);

pub(crate) fn run(args: &EndArgs, session: &Session) -> Result<Exit, Failure> {
    let EndArgs { format } = args;
    let (store, mut host) = (session.store()?, session.host()?);
    session.mention_failed(&store);
    let summary =
        session.transaction(&store, &mut host, TIME_LIMIT)?.commit().map_err(|error| session::failure(&error))?;
    session.output.note(&format!("The change of {} is kept.", summary.source));
    if let Some(text) = result(&json!({ "result": "confirmed", "source": summary.source }), format.asked()) {
        output::data(&text)?;
    }
    Ok(Exit::Done)
}
