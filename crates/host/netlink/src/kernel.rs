//! What lives on the thread of a namespace: its sockets, its names of links.

use std::{
    collections::{BTreeSet, HashSet},
    fs,
};

use netloom_model::{EngineError, KernelFeatures, KernelVersion, Rule, StepError};
use netloom_types::{IfName, Protocol};

use crate::{
    address, ethtool,
    events::{EVENT_BUFFER, Watch},
    link_map::LinkMap,
    netns::Namespace,
    socket::{Connection, Counters, NetlinkError, Part},
};

/// Where the kernel names its release.
const RELEASE: &str = "/proc/sys/kernel/osrelease";

/// Which host, and how it is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// The network namespace.
    pub namespace: Namespace,
    /// How many bytes of notifications the kernel keeps for us.
    pub event_buffer: usize,
    /// The calling thread does the work itself, when it is in the namespace already. Only for
    /// programs whose threads all stay in one: otherwise the work goes to a thread of its own.
    pub here: bool,
}

impl Options {
    /// The usual ones for a namespace.
    pub fn of(namespace: Namespace) -> Self {
        Self { namespace, event_buffer: EVENT_BUFFER, here: false }
    }
}

/// The state of a worker's thread.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// Links, addresses, routes and the rest.
    pub(crate) route: Connection,
    /// Driver settings: the socket and the number of the family. Opened when first needed.
    generic: Option<(Connection, u16)>,
    /// Names of links as last read.
    pub(crate) links: LinkMap,
    /// Names under which a link could not be made since the host was last observed: whoever has them
    /// is none of ours.
    pub(crate) closed: HashSet<IfName>,
    /// Links whose `clsact` queue had no filter of ours when they were last read: somebody else's.
    pub(crate) foreign_queues: HashSet<u32>,
    /// Rules as last read or made, to know which removals the kernel could misunderstand; `None`
    /// until they were read.
    pub(crate) rules: Option<BTreeSet<Rule>>,
    /// What this kernel is and keeps; learned when addresses are first read.
    features: Option<KernelFeatures>,
    /// Where this is.
    pub(crate) namespace: Namespace,
    /// The subscription, opened when first waited for.
    pub(crate) watch: Option<Watch>,
    pub(crate) event_buffer: usize,
}

impl Kernel {
    /// Opens the sockets in the namespace of the calling thread.
    pub(crate) fn open(options: &Options) -> Result<Self, EngineError> {
        let route = Connection::open(Part::Route).map_err(|e| e.doing("talk to the kernel"))?;
        Ok(Self {
            route,
            generic: None,
            links: LinkMap::default(),
            closed: HashSet::new(),
            foreign_queues: HashSet::new(),
            rules: None,
            features: None,
            namespace: options.namespace.clone(),
            watch: None,
            event_buffer: options.event_buffer,
        })
    }

    /// The socket for driver settings with the number of its family; `None` when this kernel has no
    /// such family.
    pub(crate) fn generic(&mut self) -> Result<Option<&mut (Connection, u16)>, NetlinkError> {
        if self.generic.is_none() {
            let mut connection = Connection::open(Part::Generic)?;
            let mut family = None;
            let answer = connection.get(&ethtool::get_family(), |message| {
                family = family.or_else(|| ethtool::decode_family(&message));
            })?;
            self.generic = answer.ok().and(family).map(|family| (connection, family));
        }
        Ok(self.generic.as_mut())
    }

    /// What this kernel is and keeps, from its version and from addresses that it reported. An older one is asked, for
    /// distributions carry features back; whoever may not ask goes by what its version says.
    pub(crate) fn features(&mut self, addresses: &[address::Reported]) -> Result<KernelFeatures, NetlinkError> {
        if let Some(known) = self.features {
            return Ok(known);
        }
        let version: Option<KernelVersion> = fs::read_to_string(RELEASE).ok().and_then(|text| text.parse().ok());
        let is_new = version.is_some_and(|version| version >= KernelVersion::ADDRESS_PROTOCOL);
        let address_protocol = is_new
            || addresses.iter().any(|reported| reported.address.protocol != Protocol::UNSPEC)
            || self.knows_address_protocols()?;
        Ok(*self.features.insert(KernelFeatures { version, address_protocol }))
    }

    fn knows_address_protocols(&mut self) -> Result<bool, NetlinkError> {
        let refused = self.route.get(&address::encode_protocol_question(), |_| {})?.err();
        Ok(!refused.is_some_and(|error| matches!(error.errno, StepError::ENODEV | StepError::EPERM)))
    }

    /// What went over all sockets until now.
    pub(crate) fn counters(&self) -> Counters {
        let generic = self.generic.as_ref().map_or_else(Counters::default, |(connection, _)| connection.counters());
        self.route.counters() + generic
    }
}
