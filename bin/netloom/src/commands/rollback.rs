//! `netloom state rollback`

use netloom_journal::Recovery;
use netloom_place::NamedProbes;
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
    let mut probes = NamedProbes(session.place.namespace.clone());
    let turn = session.turn(&store, &mut host, PATIENCE)?;
    let recovery = turn.with_probes(&mut probes).rollback().map_err(|error| session::failure(&error))?;
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
    let how = match report.unreached_text() {
        None => "the host is as it was, and that was verified".to_owned(),
        Some(unreached) => format!("its configuration is as it was, but {unreached}"),
    };
    session.output.note(&format!("The change of {source} is rolled back ({why}); {how}."));
    let told = json!({ "result": "rolled-back", "source": source, "why": why, "unreached": report.unreached_names() });
    if let Some(text) = result(&told, format.asked()) {
        output::data(&text)?;
    }
    Ok(Exit::Done)
}
