//! `netloom state rollback`

use netloom_journal::Recovery;
use serde_json::json;

use crate::{
    args::EndArgs,
    commands::{commit::TIME_LIMIT, result},
    failure::{Exit, Failure},
    output,
    session::{self, Session},
};

pub(crate) fn run(args: &EndArgs, session: &Session) -> Result<Exit, Failure> {
    let EndArgs { format } = args;
    let (store, mut host) = (session.store()?, session.host()?);
    session.mention_failed(&store);
    let mut probes = session.probes();
    let transaction = session.transaction(&store, &mut host, TIME_LIMIT)?;
    let recovery = transaction.with_probes(&mut probes).rollback().map_err(|error| session::failure(&error))?;
    let (source, why, report) = match &recovery {
        Recovery::RolledBack { summary, why, report } => (&summary.source, why.to_string(), report),
        Recovery::Rebooted { summary, report } => {
            (&summary.source, "the machine was restarted since".to_owned(), report)
        }
        // The transaction answers these with an error.
        Recovery::Nothing | Recovery::Dropped | Recovery::Finished(_) | Recovery::Open(_) => {
            return Err(Failure::refused("no change waits to be rolled back"));
        }
    };
    session.output.note(&format!("The change of {source} is rolled back ({why}); {}.", report.ending()));
    let reported =
        json!({ "result": "rolled-back", "source": source, "why": why, "unreached": report.unreached_names() });
    if let Some(text) = result(&reported, format.asked()) {
        output::data(&text)?;
    }
    Ok(Exit::Done)
}
