//! `netloom state diff`

use std::io;

use netloom_local_host::LocalHost;
use netloom_model::{Engine as _, Observed, Ownership, Scope};
use netloom_plan::Planned;

use crate::{
    args::{DiffArgs, Format},
    commands::printed,
    desired_document::{DesiredDocument, Read, Resolved, warn_of},
    failure::{Exit, Failure},
    output,
    preview::Preview,
    session::Session,
};

pub(crate) fn run(args: DiffArgs, session: &Session) -> Result<Exit, Failure> {
    let DiffArgs { desired, format } = args;
    let desired = DesiredDocument::load(desired, session)?;
    session.mention_open();
    let (observed, planned) = planned(&desired, session)?;
    let text = match format.or(Format::Table) {
        Format::Table => Preview::of(&planned.plan, &observed).text(session.output, true),
        format @ (Format::Yaml | Format::Json) => {
            let part =
                netloom_nmstate::diff(&desired.document, &observed, &desired.resolve).map_err(Failure::refused)?;
            printed(&part, format)
        }
    };
    differs(&text, !planned.plan.is_empty())
}

/// Prints differences. The status is the answer, so it is given also when nobody reads the rest.
pub(crate) fn differs(text: &str, any: bool) -> Result<Exit, Failure> {
    let exit = if any { Exit::Refused } else { Exit::Done };
    match output::data(text) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        Ok(()) | Err(_) => Ok(exit),
    }
}

/// What a desired state means on the host, with nothing touched.
pub(crate) fn planned(desired: &DesiredDocument, session: &Session) -> Result<(Observed, Planned), Failure> {
    let mut host = Looked { host: session.host()?, session };
    let Resolved { observed, owned, state, scope: _ } = desired.on(&mut host, session)?;
    let planned = netloom_plan::plan(&state, &observed, &owned, &desired.options).map_err(Failure::refused)?;
    warn_of(&planned, &observed, &desired.others, session.output);
    Ok((observed, planned))
}

/// A host that is only looked at.
struct Looked<'a> {
    host: LocalHost,
    session: &'a Session,
}

impl Read for Looked<'_> {
    fn observe(&mut self, scope: Scope) -> Result<Observed, Failure> {
        self.host.observe(scope).map_err(|error| Session::unreadable(&error))
    }

    fn ownership(&mut self) -> Result<Ownership, Failure> {
        self.session.ownership()
    }
}
