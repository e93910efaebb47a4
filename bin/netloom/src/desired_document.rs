//! From a file to a desired state for one host, and who must stay reachable meanwhile.

use std::{net::IpAddr, sync::Arc};

use netloom_journal::Transaction;
use netloom_local_host::{RunFiles, possible_in};
use netloom_model::{Adoption, HostState, Observed, Ownership, Scope};
use netloom_netlink::Namespace;
use netloom_nmstate::{Document, ResolveOptions};
use netloom_plan::{Options, Planned, needs_drivers};
use netloom_types::Protocol;

use crate::{
    args::DocumentArgs,
    failure::Failure,
    input,
    login::{Login, login},
    output::Output,
    session::{self, Session},
};

/// A document that was read and is not yet compared with a host.
#[derive(Debug)]
pub(crate) struct DesiredDocument {
    /// Its name in messages and records.
    pub(crate) source: String,
    /// The document.
    pub(crate) document: Document,
    /// How it is read against a host.
    pub(crate) resolve: ResolveOptions,
    /// What a plan for it may do.
    pub(crate) options: Options,
    /// What other programs say of links.
    pub(crate) others: RunFiles,
}

impl DesiredDocument {
    /// Reads the document that the command line names.
    pub(crate) fn load(args: DocumentArgs, session: &Session) -> Result<Self, Failure> {
        let DocumentArgs { file, whole_of, mut protect, allow_cut, run_dir } = args;
        let (source, document) = document(&file)?;
        if session.place.namespace == Namespace::Host {
            protect.extend(far_end(session));
        }
        let resolve = ResolveOptions {
            adoption: Adoption::ByName,
            protocol: Protocol::NETLOOM,
            whole_of: whole_of.map(Arc::from),
        };
        let others = session.place.run_files(run_dir.as_deref());
        Ok(Self { source, document, resolve, options: Options { protected: protect, allow_cut }, others })
    }

    /// Reads the host, as much of it as the document needs, and compares the document with it; what
    /// a person should know is reported.
    pub(crate) fn on(&self, host: &mut impl Read, session: &Session) -> Result<Resolved, Failure> {
        let owned = host.ownership()?;
        let mut scope = Scope::default();
        loop {
            let observed = host.observe(scope)?;
            let netloom_nmstate::Resolved { state, warnings } =
                self.document.resolve(&observed, &self.resolve).map_err(Failure::refused)?;
            // Asking every driver is slow, so it is done only for documents that need the answers.
            if !scope.ethtool && needs_drivers(&state, &owned) {
                scope.ethtool = true;
                continue;
            }
            possible_in(&session.place.namespace, &state)
                .map_err(|error| Failure::refused(format_args!("{}: {error}", self.source)))?;
            for warning in &warnings {
                session.output.warn(&warning.to_string());
            }
            return Ok(Resolved { observed, owned, state, scope });
        }
    }
}

/// Says what a person should know about a plan, though it stops nothing.
pub(crate) fn warn_of(planned: &Planned, observed: &Observed, others: &RunFiles, output: Output) {
    planned.notes.iter().for_each(|note| output.warn(note));
    for managed in others.managed(planned.links(), observed) {
        output.warn(&managed.to_string());
    }
}

/// A host that a desired state is compared with.
pub(crate) trait Read {
    /// The host as it is.
    fn observe(&mut self, scope: Scope) -> Result<Observed, Failure>;

    /// Who asked for what.
    fn ownership(&mut self) -> Result<Ownership, Failure>;
}

impl Read for Transaction<'_> {
    fn observe(&mut self, scope: Scope) -> Result<Observed, Failure> {
        Transaction::observe(self, scope).map_err(|error| session::failure(&error))
    }

    fn ownership(&mut self) -> Result<Ownership, Failure> {
        Transaction::ownership(self).map_err(|error| session::failure(&error))
    }
}

/// A desired state, and the host that it was compared with.
#[derive(Debug)]
pub(crate) struct Resolved {
    /// The host.
    pub(crate) observed: Observed,
    /// Who asked for what before.
    pub(crate) owned: Ownership,
    /// The desired state.
    pub(crate) state: HostState,
    /// How much of the host was read.
    pub(crate) scope: Scope,
}

/// Reads a document and its name.
pub(crate) fn document(file: &std::path::Path) -> Result<(String, Document), Failure> {
    let input::Input { source, bytes } = input::load(file)?;
    let document = netloom_nmstate::parse(source.as_str(), &bytes).map_err(Failure::refused)?;
    Ok((source, document))
}

/// The machine from which a person is logged in here.
fn far_end(session: &Session) -> Option<IpAddr> {
    match login() {
        Login::Local => None,
        Login::From(address) => Some(address),
        Login::Unclear(given) => {
            session.output.warn(&format!(
                "SSH_CONNECTION is {given:?}, which names no address, so the way back to you is not protected; \
                 name your machine with --protect ADDRESS"
            ));
            None
        }
    }
}
