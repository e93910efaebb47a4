//! What a configuration of a node is rendered against, and what was made of it so far.

use std::{collections::BTreeMap, fmt::Display, str::FromStr};

use netloom_api::pipeline::node_network_config::{NodeNetworkConfigSpec, host::EntryOrigin, routing::Vrf};
use netloom_model::{Origin, Source};
use netloom_nmstate::{Interface, RouteEntry, RuleEntry};
use netloom_types::{IfName, IpNet, Vni};

use crate::{base::Base, error::RenderError, lines::Lines, tables, value};

/// The group and the name of the kind that is rendered.
const KIND: (&str, &str) = ("network.t-caas.telekom.com", "NodeNetworkConfig");

/// The input.
pub(crate) struct Context<'a> {
    node: &'a str,
    pub(crate) config: &'a NodeNetworkConfigSpec,
    pub(crate) base: &'a Base,
    tables: BTreeMap<String, u32>,
}

/// The output.
#[derive(Default)]
pub(crate) struct Made {
    pub(crate) interfaces: Vec<(Interface, Origin)>,
    pub(crate) routes: Vec<(RouteEntry, Origin)>,
    pub(crate) rules: Vec<(RuleEntry, Origin)>,
    pub(crate) lines: Lines,
    pub(crate) notes: Vec<String>,
}

/// A VRF of the node and the place in the configuration that speaks of it.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) name: IfName,
    pub(crate) path: &'a str,
}

impl<'a> Context<'a> {
    /// Reads the names of all VRFs, and which table each of them has.
    pub(crate) fn new(node: &'a str, config: &'a NodeNetworkConfigSpec, base: &'a Base) -> Result<Self, RenderError> {
        let wanted = || {
            let fabric = config.fabric_vrfs.keys().map(|name| (name, format!("spec.fabricVRFs.{name}")));
            fabric.chain(config.local_vrfs.keys().map(|name| (name, format!("spec.localVRFs.{name}"))))
        };
        for (name, path) in wanted() {
            value::check_vrf_name(name).map_err(|why| RenderError::invalid(&path, why))?;
            name.parse::<IfName>().map_err(|error| RenderError::invalid(&path, error.to_string()))?;
            if base.vrfs().any(|vrf| vrf.name.as_str() == name) {
                let message =
                    "is a VRF of the base file; it is configured there, and that of the cluster in clusterVRF";
                return Err(RenderError::conflict(path, message));
            }
            if config.fabric_vrfs.contains_key(name) && config.local_vrfs.contains_key(name) {
                return Err(RenderError::conflict(path, "is a fabric VRF and a local one; a name stands for one VRF"));
            }
        }
        let tables = tables::of(config, base)?;
        Ok(Self { node, config, base, tables })
    }

    /// Who asked for an entry: the object that it names, or the configuration itself where a person wrote that.
    pub(crate) fn asked(&self, origin: Option<&EntryOrigin>, path: &str) -> Origin {
        origin.map_or_else(|| self.origin(path), EntryOrigin::origin)
    }

    /// The configuration itself, and a path in it.
    pub(crate) fn origin(&self, path: &str) -> Origin {
        Origin::new(Source::object(KIND, "", self.node), path, 0)
    }

    /// Every VRF that the configuration speaks of, the cluster's first.
    pub(crate) fn vrfs(&self) -> Vec<(String, IfName, &'a Vrf)> {
        let config = self.config;
        let name = |text: &str| text.parse().expect("names were checked when the context was made");
        let cluster =
            config.cluster_vrf.iter().map(|vrf| ("spec.clusterVRF".to_owned(), self.base.cluster_vrf.name, vrf));
        let fabric = config.fabric_vrfs.iter().map(|(n, vrf)| (format!("spec.fabricVRFs.{n}"), name(n), &vrf.vrf));
        let local = config.local_vrfs.iter().map(|(n, vrf)| (format!("spec.localVRFs.{n}"), name(n), vrf));
        cluster.chain(fabric).chain(local).collect()
    }

    /// The VRF of a name that a field gives.
    pub(crate) fn vrf(&self, field: impl FnOnce() -> String, name: &str) -> Result<IfName, RenderError> {
        let known = self.config.fabric_vrfs.contains_key(name)
            || self.config.local_vrfs.contains_key(name)
            || self.base.vrfs().any(|vrf| vrf.name.as_str() == name);
        match name.parse() {
            Ok(name) if known => Ok(name),
            _ => Err(RenderError::invalid(field(), format!("the node has no VRF {name:?}"))),
        }
    }

    /// The VRF in which a segment with exactly this network has its gateway.
    pub(crate) fn routed_in(&self, net: IpNet) -> Option<IfName> {
        let gateways = self.config.layer2s.values().filter_map(|segment| segment.irb.as_ref());
        let is_of = |address: &str| address.parse::<IpNet>().is_ok_and(|own| own.trunc() == net);
        let irb = gateways.into_iter().find(|irb| irb.ip_addresses.iter().any(|address| is_of(address)))?;
        if irb.vrf.is_empty() { Some(self.base.cluster_vrf.name) } else { irb.vrf.parse().ok() }
    }

    /// The table of a VRF.
    pub(crate) fn table(&self, field: impl FnOnce() -> String, vrf: IfName) -> Result<u32, RenderError> {
        let missing = || {
            let message = format!("the table of {vrf} is not known: there is no such link on the node");
            RenderError::invalid(field(), message)
        };
        self.tables.get(vrf.as_str()).copied().ok_or_else(missing)
    }
}

/// The value of a text of the API.
pub(crate) fn parse<T: FromStr<Err: Display>>(field: impl FnOnce() -> String, text: &str) -> Result<T, RenderError> {
    text.parse().map_err(|error| RenderError::invalid(field(), format!("{text:?}: {error}")))
}

/// A network identifier of the API.
pub(crate) fn vni(field: impl FnOnce() -> String, number: u32) -> Result<Vni, RenderError> {
    Vni::try_from(number).map_err(|error| RenderError::invalid(field(), error.to_string()))
}
