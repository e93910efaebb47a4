//! `netloom state rollback`

use netloom_journal::Recovery;
use serde_json::json;

use crate::{
    args::EndArgs,
    commands::{commit::PATIENCE, result},
    failure::{Exit, Failure},
    output,
    session::{self, Session},
};

pub(crate) fn run(args: &EndArgs, session: &Session) -> Result<Exit, Failure> {
    let EndArgs { format } = args;
    let (store, mut host) = (session.store()?, session.host()?);
    session.mention_failed(&store);
    let recovery = session.turn(&store, &mut host, PATIENCE)?.rollback().map_err(|error| session::failure(&error))?;
    let (source, why) = match &recovery {
        Recovery::RolledBack { summary, why, report: _ } => (&summary.source, why.to_string()),
        Recovery::Rebooted { summary, report: _ } => (&summary.source, "the machine was restarted since".to_owned()),
        // The transaction answers these with an error.
        Recovery::Nothing | Recovery::Dropped | Recovery::Finished(_) | Recovery::Open(_) => {
            return Err(Failure::refused("no change waits to be rolled back"));
        }
    };
    session
        .output
        .note(&format!("The change of {source} is rolled back ({why}); the host is as it was, and that was verified."));
    if let Some(text) = result(&json!({ "result": "rolled-back", "source": source, "why": why }), format.asked()) {
        output::data(&text)?;
    }
    Ok(Exit::Done)
}
