//! The fabric: from intents to low-level objects, and from these to what each node gets.
//!
//! ```text
//! intents --Intents::live--> low-level objects, written into the cluster by the controller
//! low-level objects --InForce::live--> segments, routes and sessions that keep their rules
//! InForce x group of nodes --Choice::of--> which of them are for these nodes
//! Choice x class of nodes --contribute--> segments, VRFs and sessions of NodeNetworkConfig, and what was left out
//! ```
//!
//! What was generated is read like what somebody wrote, once it is there; its entries name the intent that it came of.

mod choice;
mod clashes;
mod extras;
mod filters;
mod fitting;
mod given;
mod in_force;
mod intents;
mod maker;
mod objects;
mod operator;
mod piece;
mod report;
mod segments;
mod vrfs;

pub use in_force::Broken;
pub use objects::{Object, Spec};
pub use operator::{Settings, SettingsReport};
pub use report::FabricReport;

use std::sync::Arc;

use netloom_api::fabric::{
    bgp_peering::BgpPeeringSpec, destination::DestinationSpec, layer2_attachment::Layer2AttachmentSpec,
    layer2_network_configuration::Layer2NetworkConfigurationSpec, network::NetworkSpec, vrf::VrfSpec,
    vrf_route_configuration::VrfRouteConfigurationSpec,
};
use netloom_object::ObjectRef;

use crate::{
    front_end::{FrontEnd, Generated, Looks, Reader, Selected, Selects, ServedKind, Wants},
    frozen::Frozen,
    layout::Weighed,
    outcome::Outcome,
    report::Report,
    snapshot::Snapshot,
};
use choice::Choice;
use in_force::{InForce, Readings};

/// The front end of the fabric.
#[derive(Debug)]
pub struct FabricNetworks;

impl FrontEnd for FabricNetworks {
    fn name(&self) -> &'static str {
        "fabric"
    }

    fn kinds(&self) -> &'static [ServedKind] {
        const {
            &[
                ServedKind::generated::<Object<Layer2NetworkConfigurationSpec>>(),
                ServedKind::generated::<Object<VrfRouteConfigurationSpec>>(),
                ServedKind::generated::<Object<BgpPeeringSpec>>(),
                ServedKind::frozen::<Object<Layer2AttachmentSpec>>(),
                ServedKind::read::<Object<DestinationSpec>>(),
                ServedKind::read::<Object<NetworkSpec>>(),
                ServedKind::read::<Object<VrfSpec>>(),
                ServedKind::frozen::<Settings>(),
            ]
        }
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(Memory::default())
    }
}

/// What was read before.
#[derive(Debug, Default)]
struct Memory(Readings);

impl Reader for Memory {
    fn live(&mut self, snapshot: &Snapshot) -> Arc<dyn Wants> {
        Arc::new(InForce::live(snapshot, &mut self.0))
    }

    fn frozen(&mut self, content: &Frozen<'_>) -> Arc<dyn Wants> {
        Arc::new(InForce::frozen(content))
    }

    fn read(&self) -> usize {
        self.0.read
    }
}

impl Wants for InForce {
    fn looks(&self) -> Looks<'_> {
        let segments = self.segments.iter().flat_map(|one| one.labels());
        let routes = self.routes.iter().flat_map(|one| one.labels());
        let sessions = self.sessions.iter().flat_map(|one| one.labels());
        let extras = self.extras.iter().flat_map(|one| one.labels());
        Looks { labels: segments.chain(routes).chain(sessions).chain(extras).collect(), names: false }
    }

    fn freeze(&self) -> Vec<Weighed> {
        self.freeze()
    }

    fn choose(&self, selects: &mut Selects<'_>) -> Vec<Arc<dyn Selected>> {
        if self.is_empty() {
            return Vec::new();
        }
        vec![Arc::new(Choice::of(self, selects))]
    }

    fn generate(&self) -> Vec<Generated> {
        self.intents.generated.clone()
    }

    fn reports(&self, outcome: &Outcome<'_>) -> Vec<(ObjectRef, Arc<dyn Report>)> {
        let reports = report::reports(self, outcome);
        let settings = self.settings.report().map(|(object, report)| (object, Arc::new(report) as Arc<dyn Report>));
        let reports = reports.into_iter().map(|(object, report)| (object, Arc::new(report) as Arc<dyn Report>));
        reports.chain(settings).collect()
    }
}
