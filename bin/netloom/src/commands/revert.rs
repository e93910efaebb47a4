//! `netloom state revert`

use netloom_model::{Adoption, Engine, Scope};
use netloom_nmstate::{ResolveOptions, revert};
use netloom_types::Protocol;

use crate::{
    args::RevertArgs,
    commands::printed,
    desired_document::document,
    failure::{Exit, Failure},
    output,
    session::Session,
};

pub(crate) fn run(args: &RevertArgs, session: &Session) -> Result<Exit, Failure> {
    let RevertArgs { file, format } = args;
    let (_, document) = document(file)?;
    session.mention_open();
    let observed = session
        .host()?
        .observe(Scope { ethtool: true, ..Scope::default() })
        .map_err(|error| Session::unreadable(&error))?;
    let options = ResolveOptions { adoption: Adoption::ByName, protocol: Protocol::NETLOOM, whole_of: None };
    let back = revert(&document, &observed, &options).map_err(Failure::refused)?;
    output::data(&printed(&back, format.or_yaml()))?;
    Ok(Exit::Done)
}
