//! What zebra knows: VRFs with their VNIs, the VNIs that EVPN is about, links with their addresses.
//!
//! It is zebra's own picture, which is what is advertised. It may differ from the kernel's: zebra was seen to miss an address
//! that was given to a link in the moment in which the link came into its VRF.

use std::{collections::BTreeMap, net::IpAddr};

use ipnet::IpNet;
use netloom_types::{IfName, MacAddr, Vni};
use serde::Deserialize;

use super::{number, read, unless_none};
use crate::{Daemon, Daemons, FrrError};

const VRF_VNIS: &str = "show vrf vni json";
const EVPN_VNIS: &str = "show evpn vni json";
const LINKS: &str = "show interface json";

/// A VRF with the VNI of its routes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VrfVni {
    /// The VRF.
    pub vrf: String,
    /// Its VNI.
    pub vni: Vni,
    /// The VXLAN device with this VNI, once zebra knows one.
    pub vxlan: Option<IfName>,
    /// The bridge, or the link on it, that belongs to the VRF.
    pub bridge: Option<IfName>,
    /// Whether routes are exchanged: both devices are there and up.
    pub up: bool,
    /// The MAC address that is advertised with routes of the VRF.
    pub router_mac: Option<MacAddr>,
}

/// What a VNI is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VniKind {
    /// A segment.
    L2,
    /// The routes of a VRF.
    L3,
}

/// A VNI that zebra knows a VXLAN device of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvpnVni {
    /// The VNI.
    pub vni: Vni,
    /// What it is for.
    pub kind: VniKind,
    /// Its device.
    pub vxlan: Option<IfName>,
    /// The VRF that it belongs to; `default` where there is none.
    pub vrf: String,
    /// The other ends that take unknown destinations of a segment.
    pub remotes: Vec<IpAddr>,
}

/// A link in zebra's picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZebraLink {
    /// The VRF that it is in; `default` where there is none.
    pub vrf: String,
    /// Whether it is to be up.
    pub admin_up: bool,
    /// Whether it is.
    pub up: bool,
    /// Its addresses, those of the link itself included.
    pub addresses: Vec<IpNet>,
}

impl Daemons {
    /// The VRFs that have a VNI.
    pub fn vrf_vnis(&mut self) -> Result<Vec<VrfVni>, FrrError> {
        self.view(Daemon::Zebra, VRF_VNIS, vrf_vnis)
    }

    /// The VNIs of VXLAN devices, in order. There are none before bgpd has `advertise-all-vni`.
    pub fn evpn_vnis(&mut self) -> Result<Vec<EvpnVni>, FrrError> {
        self.view(Daemon::Zebra, EVPN_VNIS, evpn_vnis)
    }

    /// All links, by name.
    pub fn links(&mut self) -> Result<BTreeMap<IfName, ZebraLink>, FrrError> {
        self.view(Daemon::Zebra, LINKS, links)
    }
}

pub(crate) fn vrf_vnis(text: &str) -> Result<Vec<VrfVni>, FrrError> {
    #[derive(Deserialize)]
    struct Shown {
        vrfs: Vec<Vrf>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Vrf {
        #[serde(rename = "vrf")]
        name: String,
        #[serde(deserialize_with = "number")]
        vni: u32,
        vxlan_intf: String,
        svi_intf: String,
        state: String,
        router_mac: String,
    }
    let shown: Shown = read(Daemon::Zebra, VRF_VNIS, text)?;
    let typed = |vrf: Vrf| {
        Ok(VrfVni {
            vni: vrf.vni.try_into().map_err(|error| unreadable(VRF_VNIS, &error))?,
            vxlan: unless_none(&vrf.vxlan_intf).map_err(|error| unreadable(VRF_VNIS, &error))?,
            bridge: unless_none(&vrf.svi_intf).map_err(|error| unreadable(VRF_VNIS, &error))?,
            up: vrf.state == "Up",
            router_mac: unless_none(&vrf.router_mac).map_err(|error| unreadable(VRF_VNIS, &error))?,
            vrf: vrf.name,
        })
    };
    shown.vrfs.into_iter().map(typed).collect()
}

pub(crate) fn evpn_vnis(text: &str) -> Result<Vec<EvpnVni>, FrrError> {
    #[derive(Deserialize)]
    enum Kind {
        L2,
        L3,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Shown {
        #[serde(deserialize_with = "number")]
        vni: u32,
        #[serde(rename = "type")]
        kind: Kind,
        #[serde(default)]
        vxlan_if: String,
        tenant_vrf: String,
        #[serde(default)]
        remote_vteps: Vec<IpAddr>,
    }
    // Older releases print nothing at all before EVPN is on.
    let text = if text.trim().is_empty() { "{}" } else { text };
    let shown: BTreeMap<String, Shown> = read(Daemon::Zebra, EVPN_VNIS, text)?;
    let typed = |vni: Shown| {
        Ok(EvpnVni {
            vni: vni.vni.try_into().map_err(|error| unreadable(EVPN_VNIS, &error))?,
            kind: match vni.kind {
                Kind::L2 => VniKind::L2,
                Kind::L3 => VniKind::L3,
            },
            vxlan: unless_none(&vni.vxlan_if).map_err(|error| unreadable(EVPN_VNIS, &error))?,
            vrf: vni.tenant_vrf,
            remotes: vni.remote_vteps,
        })
    };
    let mut typed: Vec<EvpnVni> = shown.into_values().map(typed).collect::<Result<_, FrrError>>()?;
    typed.sort_by_key(|vni| vni.vni);
    Ok(typed)
}

pub(crate) fn links(text: &str) -> Result<BTreeMap<IfName, ZebraLink>, FrrError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Shown {
        vrf_name: String,
        administrative_status: String,
        operational_status: String,
        #[serde(default)]
        ip_addresses: Vec<Address>,
    }
    #[derive(Deserialize)]
    struct Address {
        address: IpNet,
    }
    let shown: BTreeMap<String, Shown> = read(Daemon::Zebra, LINKS, text)?;
    let typed = |(name, link): (String, Shown)| {
        let name = name.parse().map_err(|error| unreadable(LINKS, &error))?;
        let link = ZebraLink {
            vrf: link.vrf_name,
            admin_up: link.administrative_status == "up",
            up: link.operational_status == "up",
            addresses: link.ip_addresses.into_iter().map(|one| one.address).collect(),
        };
        Ok((name, link))
    };
    shown.into_iter().map(typed).collect()
}

fn unreadable(command: &str, why: &netloom_types::Invalid) -> FrrError {
    FrrError::Unreadable { daemon: Daemon::Zebra, command: command.to_owned(), why: why.to_string() }
}
