//! Why there is no plan.

use std::net::IpAddr;

use netloom_model::{Address, Attr, KernelVersion, LinkKind, Origin, StepError};
use netloom_types::{Family, IfName};

/// Why a desired state cannot be planned. Nothing was touched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The host's kernel is older than what netloom was tried on.
    #[error(
        "kernel {version} is too old: netloom needs {} or newer, and changes nothing on this host; boot a newer kernel",
        KernelVersion::OLDEST
    )]
    OldKernel {
        /// Its version.
        version: KernelVersion,
    },
    /// An address shall carry a protocol that this kernel has no room for.
    #[error(
        "{origin}: address {address} cannot carry protocol {}: this kernel keeps no protocol of an address (Linux does since {}); remove `protocol`",
        address.protocol, KernelVersion::ADDRESS_PROTOCOL
    )]
    NoAddressProtocol {
        /// The address.
        address: Box<Address>,
        /// Who asked.
        origin: Origin,
    },
    /// A generated desired state met somebody else's link.
    #[error(
        "{origin}: link {name} exists and was not made by netloom; rename one of the two, or adopt the link by naming it in a document"
    )]
    ForeignLink {
        /// The link.
        name: IfName,
        /// Who asked.
        origin: Origin,
    },
    /// A route or rule of somebody else stands where ours should.
    #[error("{origin}: {what} exists and belongs to {owner}; remove it there, or name it with `state: absent` first")]
    ForeignObject {
        /// The route or rule.
        what: String,
        /// Who it belongs to.
        owner: String,
        /// Who asked.
        origin: Origin,
    },
    /// A link that is not there can only be adopted, not made.
    #[error(
        "{origin}: link {name} does not exist, and a link of type {kind} cannot be made; check the name against `netloom state show`"
    )]
    NotCreatable {
        /// The link.
        name: IfName,
        /// Its kind.
        kind: LinkKind,
        /// Who asked.
        origin: Origin,
    },
    /// A link of a kind that is only shown would have to be made, changed or deleted.
    #[error("link {name} is of type {kind}, which netloom shows and keeps but does not change{}", origin.as_ref().map(|o| format!("; asked for by {o}")).unwrap_or_default())]
    KeptKind {
        /// The link.
        name: IfName,
        /// Its kind.
        kind: LinkKind,
        /// Who asked, when it was not a consequence.
        origin: Option<Origin>,
    },
    /// A new link lacks a property without which the kernel does not make it.
    #[error("{origin}: new link {name} of type {kind} needs `{attr}`")]
    MissingProperty {
        /// The link.
        name: IfName,
        /// Its kind.
        kind: LinkKind,
        /// The property.
        attr: Attr,
        /// Who asked.
        origin: Origin,
    },
    /// Lines of routing daemons are wanted, and no daemon answers.
    #[error(
        "{origin}: the routing daemons of this host cannot be used: {why}; start FRR, and give the agent the folder of its sockets with `--frr DIR`"
    )]
    NoRouting {
        /// What is wrong with them.
        why: Box<str>,
        /// Who asked.
        origin: Origin,
    },
    /// A lease is wanted, and nothing here asks for leases.
    #[error(
        "{origin}: {family}.dhcp is true on {name}: a lease needs the node agent, `netloom state` only sets what the kernel keeps; give addresses instead"
    )]
    NeedsAgent {
        /// The link.
        name: IfName,
        /// The family.
        family: Family,
        /// Who asked.
        origin: Origin,
    },
    /// Links stand on each other in a circle.
    #[error("links {} stand on each other or control each other in a circle", names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    Cycle {
        /// The links.
        names: Vec<IfName>,
    },
    /// A link shall be up on a base that is or shall be down.
    #[error(
        "{}link {name} cannot be up: it stands on {base}, which {}; set {base} up too, or give {name} `state: down`",
        origin.as_ref().map(|o| format!("{o}: ")).unwrap_or_default(),
        if *lowered { "this change takes down" } else { "is down" }
    )]
    BaseDown {
        /// The link.
        name: IfName,
        /// What it stands on.
        base: IfName,
        /// Whether it is this change that takes the base down.
        lowered: bool,
        /// Who asked, when it was not a consequence.
        origin: Option<Origin>,
    },
    /// The kernel would refuse a step.
    #[error("{step}: the kernel would refuse this: {error}{}", origin.as_ref().map(|o| format!("; asked for by {o}")).unwrap_or_default())]
    Refused {
        /// The step.
        step: String,
        /// The kernel's answer.
        #[source]
        error: StepError,
        /// Who asked, when it was not a consequence.
        origin: Option<Origin>,
    },
    /// A protected address would not be reached any more. How the cut is allowed all the same depends on who
    /// asks, so whoever shows this says it.
    #[error(
        "{address} is reached over {before} now and would not be reached after this change ({after}); keep a route to it"
    )]
    CutsProtected {
        /// The address.
        address: IpAddr,
        /// The way now.
        before: String,
        /// What the lookup says afterwards.
        after: String,
    },
    /// The plan does not come to rest; a mistake in netloom, not in the desired state.
    #[error(
        "the plan does not come to rest after {rounds} rounds; still open: {open}. This is a mistake in netloom: please report it with the document"
    )]
    Unsettled {
        /// How often it was tried.
        rounds: usize,
        /// The steps that come again and again.
        open: String,
    },
}

impl PlanError {
    /// The stable name of this failure.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::OldKernel { .. } => "KernelTooOld",
            Self::NoAddressProtocol { .. } => "NoAddressProtocol",
            Self::ForeignLink { .. } => "ForeignLink",
            Self::ForeignObject { .. } => "ForeignObject",
            Self::NotCreatable { .. } => "NotCreatable",
            Self::KeptKind { .. } => "KeptKind",
            Self::MissingProperty { .. } => "MissingProperty",
            Self::NoRouting { .. } => "NoRoutingDaemon",
            Self::NeedsAgent { .. } => "NeedsAgent",
            Self::Cycle { .. } => "Cycle",
            Self::BaseDown { .. } => "BaseDown",
            Self::Refused { .. } => "KernelWouldRefuse",
            Self::CutsProtected { .. } => "CutsProtectedAddress",
            Self::Unsettled { .. } => "PlanUnsettled",
        }
    }
}
