//! What a front end adds to the control loop: what is reported about its objects, beside what it wants.
//!
//! A turn goes through every front end before the revision is made, with what must be so before a node is assigned
//! anything, and after the rollout has decided, with what nodes were assigned and answered. A front end whose status is
//! no more than a condition need not be known here: see [`Plain`].

use std::{collections::BTreeMap, fmt, sync::Arc};

use jiff::Timestamp;
use netloom_compile::{BUILT_IN, Compiled, FrontEnd, NodeTargets};
use netloom_rollout::Decision;

use crate::{
    fabric::Fabric, index::Index, kinds::Row, machines::Machines, networks::HostNetworks, plain::Plain,
    policies::Policies, work::Work,
};

/// What is known in one turn.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) now: Timestamp,
    pub(crate) index: &'a Index,
    pub(crate) compiled: &'a Compiled,
}

/// What nodes were assigned and are assigned in this turn.
#[derive(Clone, Copy)]
pub(crate) struct Assigned<'a> {
    /// What revisions say that nodes have in place while they are at another one.
    pub(crate) earlier: &'a BTreeMap<String, Arc<NodeTargets>>,
    /// Which node is assigned what in this turn, and which cannot be.
    pub(crate) decision: &'a Decision,
}

/// The status of one front end.
pub(crate) trait FrontEndStatus: fmt::Debug + Send + Sync {
    /// Its name, on the objects that it generates.
    fn name(&self) -> &'static str;

    /// Its rows in the table of kinds.
    fn kinds(&self) -> Vec<Row>;

    /// Asks for what must be so before a node is assigned anything, and for what has nothing to do with nodes.
    fn prepare(&self, scene: Scene<'_>, work: &mut Work);

    /// Asks for what is to be reported of its objects, from what nodes were assigned and answered.
    fn report(&self, scene: Scene<'_>, assigned: Assigned<'_>, work: &mut Work);
}

/// All front ends, in the order of their precedence.
#[derive(Debug, Clone)]
pub(crate) struct FrontEnds(Arc<[Arc<dyn FrontEndStatus>]>);

impl Default for FrontEnds {
    fn default() -> Self {
        // Machines are not for nodes to configure: nothing of them is compiled.
        let machines: Arc<dyn FrontEndStatus> = Arc::new(Machines);
        Self(Self::of(BUILT_IN).0.iter().cloned().chain([machines]).collect())
    }
}

impl FrontEnds {
    pub(crate) fn of(all: &[&'static dyn FrontEnd]) -> Self {
        let of = |front_end: &&'static dyn FrontEnd| -> Arc<dyn FrontEndStatus> {
            let own: [Arc<dyn FrontEndStatus>; 3] = [Arc::new(HostNetworks), Arc::new(Fabric), Arc::new(Policies)];
            let own = own.into_iter().find(|own| own.name() == front_end.name());
            own.unwrap_or_else(|| Arc::new(Plain(*front_end)))
        };
        Self(all.iter().map(of).collect())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &dyn FrontEndStatus> {
        self.0.iter().map(AsRef::as_ref)
    }
}
