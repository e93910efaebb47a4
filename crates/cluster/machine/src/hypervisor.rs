//! Who has domains, as the lane of a node sees it: a handful of calls, each of which can be refused.

/// Why a call came to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// In libvirt's words.
    pub message: String,
    /// What that means.
    pub kind: FaultKind,
}

/// What a fault means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// It was refused.
    Refused,
    /// There is no such device, or not any more.
    DeviceMissing,
    /// The domain is not in the state for it, or is busy.
    Busy,
    /// Nobody can be asked any more.
    Gone,
}

/// Whether a domain that is there goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Running {
    /// It does, or a user has paused it.
    Yes,
    /// It is paused, and nobody asked for that.
    Paused,
    /// It does not; whether it broke.
    Off {
        /// Whether it broke.
        crashed: bool,
    },
}

/// Who has domains.
pub trait Hypervisor {
    /// A domain.
    type Domain: Clone;
    /// All domains with their names, and whether they run.
    fn list(&mut self) -> Result<Vec<(String, bool, Self::Domain)>, Fault>;
    /// A domain by its name, and whether it runs.
    fn find(&mut self, name: &str) -> Result<Option<(bool, Self::Domain)>, Fault>;
    /// What it is: as it runs, or else as it is defined.
    fn xml(&mut self, domain: &Self::Domain) -> Result<String, Fault>;
    /// The same as another daemon takes it.
    fn migratable(&mut self, domain: &Self::Domain) -> Result<String, Fault>;
    /// Whether it goes on.
    fn running(&mut self, domain: &Self::Domain) -> Result<Running, Fault>;
    /// Defines one.
    fn define(&mut self, xml: &str) -> Result<Self::Domain, Fault>;
    /// Starts it.
    fn start(&mut self, domain: &Self::Domain) -> Result<(), Fault>;
    /// Lets it go on.
    fn resume(&mut self, domain: &Self::Domain) -> Result<(), Fault>;
    /// Ends it and takes its definition away.
    fn remove(&mut self, domain: &Self::Domain) -> Result<(), Fault>;
    /// Plugs a NIC in.
    fn attach(&mut self, domain: &Self::Domain, xml: &str) -> Result<(), Fault>;
    /// Unplugs a NIC, of the running domain alone or for good.
    fn detach(&mut self, domain: &Self::Domain, xml: &str, live_only: bool) -> Result<(), Fault>;
    /// Changes a NIC.
    fn update(&mut self, domain: &Self::Domain, xml: &str) -> Result<(), Fault>;
    /// Lets a guest notice a change before the next one.
    fn pause(&mut self);
}

/// Where bases are read from.
pub trait Bases {
    /// The text of a base; why there is none.
    fn read(&self, name: &str) -> Result<String, String>;
}
