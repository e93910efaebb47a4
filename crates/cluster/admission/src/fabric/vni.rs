//! One space of VXLAN network identifiers for segments and VRFs: both become an interface that is
//! named after the identifier. What is generated only repeats what its intent says, and does not
//! count.

use netloom_api::{
    GroupKind,
    fabric::operator::{NAME, NAMESPACE},
};
use serde_json::Value;

use super::{generated, index, kind, raw, related, settings};
use crate::{Findings, Review};

/// What an identifier stands for in the object that is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning<'a> {
    /// A VRF by its name on the nodes.
    Vrf(&'a str),
    /// A segment by its VLAN, when it has one.
    Segment(Option<u16>),
}

/// The kinds that use identifiers.
const HOLDERS: [GroupKind<'static>; 4] =
    [kind::VRF, kind::VRF_CONFIGURATION, kind::NETWORK, kind::LAYER2_CONFIGURATION];

/// Refuses an identifier that means something else in another object.
pub(crate) fn check(review: &Review<'_>, findings: &mut Findings, path: &str, vni: u32, means: Meaning<'_>) {
    for kind in HOLDERS {
        for other in related::others_under(review, kind, index::VNI, &vni.to_string()) {
            if meaning(&other) != means && !generated::is_generated(&other) {
                let detail = format!("{} uses it for {}", raw::shown(&other), words(meaning(&other)));
                findings.duplicate(path, vni, detail);
                return;
            }
        }
    }
    let config = settings::of(review.view);
    let listed = config.vrf_config.iter().map(|(name, known)| (name, known.vni));
    let listed = listed.chain(config.vnimap.iter().map(|(name, vni)| (name, *vni)));
    if let Some((name, _)) = listed.filter(|(_, known)| *known == vni).find(|(name, _)| means != Meaning::Vrf(name)) {
        let detail = format!(
            "the operator configuration (ConfigMap {NAMESPACE}/{NAME}) uses it for {}",
            words(Meaning::Vrf(name))
        );
        findings.duplicate(path, vni, detail);
    }
}

fn meaning(object: &Value) -> Meaning<'_> {
    let vlan = |field: &str| raw::number(object, &["spec", field]).and_then(|vlan| u16::try_from(vlan).ok());
    match raw::text(object, &["spec", "vrf"]).filter(|_| !is_segment(object)) {
        Some(vrf) => Meaning::Vrf(vrf),
        None => Meaning::Segment(vlan("vlan").or_else(|| vlan("id"))),
    }
}

/// A low-level segment has a field `vrf` too: that of its gateway.
fn is_segment(object: &Value) -> bool {
    raw::kind(object) == kind::LAYER2_CONFIGURATION.kind
}

fn words(meaning: Meaning<'_>) -> String {
    match meaning {
        Meaning::Vrf(name) => format!("VRF {name:?}"),
        Meaning::Segment(Some(vlan)) => format!("the segment of VLAN {vlan}"),
        Meaning::Segment(None) => "a segment without a VLAN".to_owned(),
    }
}
