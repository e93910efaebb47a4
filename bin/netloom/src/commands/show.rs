//! `netloom state show`

use std::collections::BTreeSet;

use netloom_model::{Engine, Observed, Scope};
use netloom_nmstate::Document;
use netloom_types::IfName;

use crate::{
    args::{Format, ShowArgs},
    commands::printed,
    failure::{Exit, Failure},
    names::Names,
    output,
    overview::overview,
    session::Session,
};

pub(crate) fn run(args: ShowArgs, session: &Session) -> Result<Exit, Failure> {
    let ShowArgs { names, ethtool, format } = args;
    session.mention_open();
    let observed =
        session.host()?.observe(Scope { ethtool, ..Scope::default() }).map_err(|error| Session::unreadable(&error))?;
    let chosen = chosen(&names, &observed, session)?;
    let text = match format.or(Format::Yaml) {
        Format::Table => overview(&observed, &chosen),
        format @ (Format::Yaml | Format::Json) => {
            let exact: Vec<String> = chosen.iter().map(IfName::to_string).collect();
            let document = Document::show(&observed, if names.is_empty() { &[] } else { &exact });
            printed(&document, format)
        }
    };
    output::data(&text)?;
    Ok(Exit::Done)
}

/// The links that are meant; a name that fits none is a mistake, not an empty answer.
fn chosen(names: &[String], observed: &Observed, session: &Session) -> Result<BTreeSet<IfName>, Failure> {
    let patterns = Names::new(names);
    if let Some(missing) = patterns.unmatched(&observed.links.values()) {
        return Err(Failure::refused(format_args!(
            "no link is called {missing:?}; {} lists all",
            session.hint("show -o table")
        )));
    }
    Ok(observed.links.values().filter(|link| patterns.fit(link)).map(|link| link.name).collect())
}
