//! What objects leave out and the operator configuration says: looked up once, and kept in the revision.

use netloom_api::fabric::{
    layer2_network_configuration::Layer2NetworkConfigurationSpec,
    operator::VrfIdentity,
    text::{Mac, RouteTarget},
    vrf_route_configuration::VrfRouteConfigurationSpec,
};

use super::{
    in_force::{Config, Routes, Segment},
    piece::Given,
};
use crate::digest;

const VNI: &str = "vni";
const ROUTE_TARGET: &str = "routeTarget";
const GATEWAY_MAC: &str = "anycastMac";

/// The identity of a VRF counts only as a whole.
pub(super) fn of_routes(spec: &VrfRouteConfigurationSpec, config: &Config) -> Given {
    let known = if declared(spec).is_none() { config.identity(&spec.vrf) } else { None };
    let target = known.as_ref().and_then(|known| known.rt.clone());
    let vni = known.map(|known| (VNI.to_owned(), known.vni.to_string()));
    vni.into_iter().chain(target.map(|target| (ROUTE_TARGET.to_owned(), target.0))).collect()
}

/// The gateway has one hardware address on all nodes.
pub(super) fn of_segment(spec: &Layer2NetworkConfigurationSpec, config: &Config) -> Given {
    if spec.anycast_gateways.is_empty() || spec.anycast_mac.is_some() {
        return Given::new();
    }
    Given::from([(GATEWAY_MAC.to_owned(), gateway_mac(&config.cluster_id, spec.vni).0)])
}

/// How an object itself says that the fabric knows its VRF: with both of its fields, or not at all.
pub(super) fn declared(spec: &VrfRouteConfigurationSpec) -> Option<VrfIdentity> {
    let (vni, target) = (spec.vni?, spec.route_target.clone()?);
    Some(VrfIdentity { vni, rt: Some(target) })
}

/// How the fabric knows the VRF of an object: by what it says, else by the operator configuration.
pub(super) fn identity(routes: &Routes) -> Option<VrfIdentity> {
    declared(&routes.spec).or_else(|| configured(routes))
}

/// How the operator configuration says so.
pub(super) fn configured(routes: &Routes) -> Option<VrfIdentity> {
    let vni = routes.given.get(VNI)?.parse().ok()?;
    Some(VrfIdentity { vni, rt: routes.given.get(ROUTE_TARGET).map(|target| RouteTarget(target.clone())) })
}

/// The hardware address of the gateway of a segment.
pub(super) fn mac_of(segment: &Segment) -> Option<Mac> {
    segment.spec.anycast_mac.clone().or_else(|| segment.given.get(GATEWAY_MAC).map(|mac| Mac(mac.clone())))
}

/// A hardware address of our own making: equal for equal clusters and segments, and different for others as far as forty
/// bits can be.
pub(super) fn gateway_mac(cluster: &str, vni: u32) -> Mac {
    let digits = digest::of_text(&format!("gateway of {vni} in {cluster}"));
    let byte = |i: usize| digits.get(2 * i..2 * i + 2).unwrap_or("00");
    Mac(format!("02:{}:{}:{}:{}:{}", byte(0), byte(1), byte(2), byte(3), byte(4)))
}
