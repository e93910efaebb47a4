//! What a front end is to the compiler: kinds, what of their objects is frozen, which nodes they are for, what they want
//! of a class of nodes, and what is to be reported about them.
//!
//! ```text
//! FrontEnd --reader--> Reader --live, frozen--> Wants --choose(group of nodes)--> Selected --contribute(class)--> Contribution
//!                                                 '--freeze--> revision     '--reports(outcome)--> reports
//! ```
//!
//! Nodes that selectors cannot tell apart are a *group*, those of a group that report the same links and have the same
//! written into their desired state are a *class*. Each question is asked once for all nodes for which the answer is the
//! same, so the cost follows the number of classes.
//!
//! Nobody but a front end knows its kinds. The order of front ends is their precedence.

use std::{any::Any, collections::BTreeMap, fmt, sync::Arc};

use netloom_object::GroupKind;

use crate::{
    contribution::Contribution,
    fabric::FabricNetworks,
    frozen::Frozen,
    hostnet::HostNetworks,
    key::ObjectRef,
    layout::Weighed,
    nodestate::NodePolicies,
    objects::Node,
    outcome::Outcome,
    report::Report,
    snapshot::{AnyShelf, Readable, Shelf, Snapshot},
    state::{Inventory, Manual},
};

/// A kind that a front end reads.
#[derive(Debug, Clone, Copy)]
pub struct ServedKind {
    /// Its names.
    pub kind: GroupKind<'static>,
    /// The version that its objects are written in.
    pub version: &'static str,
    /// Whether revisions hold what its objects want.
    pub frozen: bool,
    /// Whether the front end generates objects of it.
    pub generated: bool,
    /// The list in which revisions of the first version hold its objects.
    pub earlier: Option<&'static str>,
    pub(crate) shelf: fn() -> Box<dyn AnyShelf>,
}

impl ServedKind {
    /// A kind whose objects are only looked at.
    pub const fn read<T: Readable>() -> Self {
        Self {
            kind: T::KIND,
            version: T::VERSION,
            frozen: false,
            generated: false,
            earlier: None,
            shelf: || Box::new(Shelf::<T>::default()),
        }
    }

    /// A kind whose objects revisions hold.
    pub const fn frozen<T: Readable>() -> Self {
        Self { frozen: true, ..Self::read::<T>() }
    }

    /// The same for a kind that revisions of the first version hold in a list of its own.
    #[must_use]
    pub const fn formerly(self, list: &'static str) -> Self {
        Self { earlier: Some(list), ..self }
    }

    /// The same for a kind of which the front end generates objects.
    pub const fn generated<T: Readable>() -> Self {
        Self { generated: true, ..Self::frozen::<T>() }
    }
}

/// One front end.
pub trait FrontEnd: fmt::Debug + Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Its kinds.
    fn kinds(&self) -> &'static [ServedKind];

    /// Somebody who reads its objects and remembers what was read.
    fn reader(&self) -> Box<dyn Reader>;
}

/// The front ends of this program, in the order of their precedence.
pub const BUILT_IN: &[&dyn FrontEnd] = &[&HostNetworks, &FabricNetworks, &NodePolicies];

/// Reads the objects of a front end.
pub trait Reader: fmt::Debug + Send + Sync {
    /// Those of a snapshot. In the place of one that cannot be used stands its version in the newest revision that no node
    /// has refused.
    fn live(&mut self, snapshot: &Snapshot) -> Arc<dyn Wants>;

    /// Those that a revision holds.
    fn frozen(&mut self, content: &Frozen<'_>) -> Arc<dyn Wants>;

    /// How many objects were read in all.
    fn read(&self) -> usize;
}

/// What selectors look at on nodes, beside their taints.
#[derive(Debug, Clone, Default)]
pub struct Looks<'a> {
    /// Labels.
    pub labels: Vec<&'a str>,
    /// Whether they look at names too.
    pub names: bool,
}

/// Says whether the object of that number selects the nodes of a group. It may know without asking.
pub type Selects<'a> = dyn FnMut(u64, &dyn Fn(&Node) -> bool) -> bool + 'a;

/// All objects of a front end that are in force together.
pub trait Wants: fmt::Debug + Send + Sync {
    /// What tells nodes apart.
    fn looks(&self) -> Looks<'_>;

    /// What a revision holds of them.
    fn freeze(&self) -> Vec<Weighed>;

    /// What is for the nodes of a group, in the order in which it wins.
    fn choose(&self, selects: &mut Selects<'_>) -> Vec<Arc<dyn Selected>>;

    /// The objects that it wants to be there because of others.
    fn generate(&self) -> Vec<Generated> {
        Vec::new()
    }

    /// What is to be reported about each object.
    fn reports(&self, outcome: &Outcome<'_>) -> Vec<(ObjectRef, Arc<dyn Report>)>;
}

/// An object that shall be there because of another one.
#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    /// The object.
    pub target: ObjectRef,
    /// The object because of which it is there; in the same namespace, or of a kind without namespaces.
    pub owner: ObjectRef,
    /// Labels that it carries beside the one of its front end.
    pub labels: BTreeMap<String, String>,
    /// The label that has the uid of its owner.
    pub owner_uid: Option<&'static str>,
    /// What it says.
    pub spec: serde_json::Value,
}

/// Where the entries of a contribution are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigPart {
    /// Into the node's configuration.
    Config,
    /// Into its desired state, beside what was written there manually.
    State,
}

/// One object, or several that ask together, which is for the nodes of a group.
pub trait Selected: Any + fmt::Debug + Send + Sync {
    /// Equal for those that want the same of nodes with the same links, but for what a node has for itself alone.
    fn id(&self) -> u64;

    /// Equal for those that want the same of every node.
    fn whole_id(&self) -> u64 {
        self.id()
    }

    /// Where its entries are written.
    fn medium(&self) -> ConfigPart {
        ConfigPart::Config
    }

    /// What makes a difference beside the links that nodes report.
    fn depends(&self, _class: &NodeClass<'_>) -> (u64, u64) {
        (0, 0)
    }

    /// Whether it makes a link of that name for the configuration, on whatever node.
    fn makes(&self, _link: &str) -> bool {
        false
    }

    /// Whether its rules look at links that are made for the desired state.
    fn looks_at(&self, _made: &Inventory) -> bool {
        false
    }

    /// What it wants of a class of nodes.
    fn contribute(&self, class: &NodeClass<'_>) -> Contribution;
}

/// Nodes that nothing tells apart, or one of them.
#[derive(Debug, Clone, Copy)]
pub struct NodeClass<'a> {
    /// The links that they report.
    pub reported: &'a Inventory,
    /// The node, where it is asked what it gets for itself; none for what all of them have in common.
    pub node: Option<&'a str>,
    /// The links that are there without what is made for the desired state.
    pub(crate) found: &'a Inventory,
    /// What was written into their desired state manually.
    pub(crate) manual: &'a Manual,
    pub(crate) leaving_id: u64,
    /// What makes a difference to the links that rules look at, among classes that report the same.
    pub(crate) found_id: u64,
    pub(crate) manual_id: u32,
}
