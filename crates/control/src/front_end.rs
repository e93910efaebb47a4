//! What a front end adds to the control loop: its kinds, and what is said about their objects.
//!
//! A turn goes through every front end before the revision is made, with the objects that it generates and what must be
//! so before a node is assigned anything, and after the rollout has decided, with what nodes were assigned and answered.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, LazyLock},
};

use jiff::Timestamp;
use netloom_compile::{Compiled, Wishes};
use netloom_rollout::Decision;

use crate::{generated::Generated, index::Index, kinds::Row, networks::HostNetworks, policies::Policies, work::Work};

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
    pub(crate) earlier: &'a BTreeMap<String, Arc<Wishes>>,
    /// Which node is assigned what in this turn, and which cannot be.
    pub(crate) decision: &'a Decision,
}

/// One front end.
pub(crate) trait FrontEnd: fmt::Debug + Send + Sync {
    /// Its name, on the objects that it generates.
    fn name(&self) -> &'static str;

    /// Its rows in the table of kinds.
    fn kinds(&self) -> &'static [Row];

    /// The objects that it wants to be there, of the kinds that its rows say it generates.
    fn generate(&self, _scene: Scene<'_>) -> Vec<Generated> {
        Vec::new()
    }

    /// Asks for what must be so before a node is assigned anything, and for what has nothing to do with nodes.
    fn prepare(&self, scene: Scene<'_>, work: &mut Work);

    /// Asks for what is to be said of its objects, from what nodes were assigned and answered.
    fn report(&self, scene: Scene<'_>, assigned: Assigned<'_>, work: &mut Work);
}

/// All front ends, in the order of their turns.
#[derive(Debug, Clone)]
pub(crate) struct FrontEnds(Arc<[Arc<dyn FrontEnd>]>);

impl Default for FrontEnds {
    fn default() -> Self {
        static BUILT_IN: LazyLock<FrontEnds> =
            LazyLock::new(|| FrontEnds::of([Arc::new(Policies) as Arc<dyn FrontEnd>, Arc::new(HostNetworks)]));
        BUILT_IN.clone()
    }
}

impl FrontEnds {
    pub(crate) fn of(all: impl IntoIterator<Item = Arc<dyn FrontEnd>>) -> Self {
        Self(all.into_iter().collect())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &dyn FrontEnd> {
        self.0.iter().map(AsRef::as_ref)
    }
}
