//! What comes in and what goes out, as values.

use std::{collections::BTreeSet, net::IpAddr, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use netloom_managers::Managed;
use netloom_model::Observed;
use netloom_object::{Answer, Chain, Change, RequestId};
use netloom_probing::ProbeTiming;
use netloom_types::IfName;

use crate::{CompanionNews, CompanionOrder, Failure, Kept, Leases, Prepared};

/// Something that happened.
#[derive(Debug, Clone)]
pub enum Event {
    /// Objects came, changed or went. What a server answers to a write is reported before the answer itself.
    Objects(Change),
    /// Where the API is now; reported before any object that was read there.
    Api(Vec<IpAddr>),
    /// The kernel reports a change of the host.
    HostChanged(HostChange),
    /// The answer to [`Effect::Recover`]: what was found and finished, for people.
    Recovered(Result<Option<String>, Failure>),
    /// The answer to [`Effect::Observe`]; a failure says why the host could not be read.
    Observed(Result<Box<Observed>, String>),
    /// What was found of another change and finished before [`Effect::Transact`] or [`Effect::Abandon`], for people.
    Found(String),
    /// What the change that [`Effect::Transact`] is about to make costs beside what was asked for; reported before it
    /// begins.
    Foreseen(String),
    /// The answer to [`Effect::Transact`].
    Transacted(Result<Done, Failure>),
    /// The answer to [`Effect::Keep`].
    Kept(Result<(), String>),
    /// The answer to [`Effect::Abandon`].
    Abandoned(Result<(), String>),
    /// Something that runs beside the host's transactions has news.
    Companion(CompanionNews),
    /// The links of the desired state that other programs manage. Reported before the host is changed for it, and then
    /// with every change.
    Managers(Vec<Managed>),
    /// The answer to a request.
    Answered {
        /// The request.
        request: RequestId,
        /// What came of it.
        answer: Answer,
    },
}

/// What of the host has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostChange {
    /// These links, and nothing else.
    Links(BTreeSet<IfName>),
    /// Anything: it cannot be known, or the kernel lost count.
    Anything,
}

/// A desired state that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Whether anything had to be changed.
    pub changed: bool,
    /// How long it took.
    pub took: SignedDuration,
}

/// Something to be done. Of the first five there is one at a time, and each is answered by its event.
#[derive(Debug)]
pub enum Effect {
    /// Finish what an earlier transaction left behind.
    Recover,
    /// Read the host.
    Observe,
    /// Apply the desired state in one transaction: read the host, [`Prepared::resolve`], plan, journal,
    /// execute, verify, probe, confirm or undo. A link over which nothing can be sent afterwards ([`cut_off`](crate::cut_off))
    /// and that asks for no lease any more gives back what it has once the plan is made, and asks for it again should the
    /// change be undone.
    Transact {
        /// The desired state.
        desired: Arc<Prepared>,
        /// What its links were given.
        leases: Leases,
        /// Addresses that must stay reachable.
        protected: Vec<IpAddr>,
        /// Whether nothing may be changed while the API is out of reach: whether the desired state costs the way to it
        /// could not be known then.
        reach: bool,
        /// How long the change is watched before it is confirmed.
        timing: ProbeTiming,
    },
    /// Put this on disk in the place of what is there.
    Keep(Box<Kept>),
    /// Forget that anything on the host was ever asked for by an agent, leave the host as it is, and then
    /// remove what was kept on disk.
    Abandon,
    /// Have something that runs beside the host's transactions do this from now on.
    Companion(CompanionOrder),
    /// Ask this of the API; each request is answered.
    Ask(Chain),
}

/// What to do now, and when to ask again.
#[derive(Debug, Default)]
pub struct AgentActions {
    /// What to do. Effects do not depend on each other.
    pub effects: Vec<Effect>,
    /// When to ask again although nothing has happened.
    pub wake_at: Option<Timestamp>,
}

/// How an agent stands.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing {
    /// There is something to do or to wait for.
    AtWork,
    /// Everything is done and reported.
    Settled,
    /// The desired state was not reached, and that is reported. It will be tried again.
    Failed(Failure),
}
