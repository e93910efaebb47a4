//! What a pod asks for in its annotation: a JSON list with one element for each interface.

use std::{collections::BTreeMap, fmt, net::IpAddr, str::FromStr};

use ipnet::IpNet;
use netloom_api::podnet::{NetworkKind, NetworkRef};
use serde::Deserialize;
use serde_json::Value;

/// The annotations under which it may stand; where both do, they must agree.
const KEYS: [&str; 2] = ["danm.k8s.io/interfaces", "danm.io/interfaces"];

/// More interfaces than any pod has; what is longer is a mistake.
const MOST: usize = 256;

/// How one family of an interface is to get its address.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ask {
    /// Not at all, and nothing is said of it.
    #[default]
    Absent,
    /// Not at all, explicitly.
    Without,
    /// One of the pool.
    Dynamic,
    /// This one.
    Static(IpAddr),
}

/// One interface that a pod asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The network.
    pub network: NetworkRef,
    /// Its IPv4 address.
    pub ipv4: Ask,
    /// Its IPv6 address.
    pub ipv6: Ask,
    /// Routes of its own, by destination.
    pub routes: Vec<(IpNet, IpAddr)>,
}

/// Why an annotation cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadAnnotation {
    /// Both annotations are there and differ.
    #[error("annotations {} and {} differ; keep one of them", KEYS[0], KEYS[1])]
    Contradiction,
    /// It is not a list of objects.
    #[error("annotation {key} is not a JSON list of interfaces: {why}")]
    NotAList {
        /// The annotation.
        key: &'static str,
        /// What the reader says.
        why: String,
    },
    /// It is too long.
    #[error("annotation {0} has more than {MOST} interfaces")]
    TooMany(&'static str),
    /// An element is wrong.
    #[error("annotation {key}, interface {place}: {why}")]
    Element {
        /// The annotation.
        key: &'static str,
        /// Its place, from 0.
        place: usize,
        /// What is wrong.
        why: String,
    },
}

/// An element as it is written. Anything else in it is refused: DANM would take a device from there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    network: Option<String>,
    #[serde(rename = "tenantNetwork")]
    tenant_network: Option<String>,
    #[serde(rename = "clusterNetwork")]
    cluster_network: Option<String>,
    ip: Option<String>,
    ip6: Option<String>,
    #[serde(default)]
    proutes: BTreeMap<String, String>,
    #[serde(default)]
    proutes6: BTreeMap<String, String>,
}

/// Reads the annotations of a pod; none when there is none, or an empty list.
pub fn read(namespace: &str, annotations: &BTreeMap<String, String>) -> Result<Option<Vec<Wanted>>, BadAnnotation> {
    let texts: Vec<(&'static str, &str)> =
        KEYS.iter().filter_map(|key| Some((*key, annotations.get(*key)?.as_str()))).collect();
    let read = |(key, text): (&'static str, &str)| elements(namespace, key, text);
    match texts.as_slice() {
        [] => Ok(None),
        [one] => read(*one),
        [one, other, ..] => {
            let (one, other) = (read(*one)?, read(*other)?);
            if one == other { Ok(one) } else { Err(BadAnnotation::Contradiction) }
        }
    }
}

fn elements(namespace: &str, key: &'static str, text: &str) -> Result<Option<Vec<Wanted>>, BadAnnotation> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let not_a_list = |why: serde_json::Error| BadAnnotation::NotAList { key, why: why.to_string() };
    let list: Vec<Value> = serde_json::from_str(text).map_err(not_a_list)?;
    if list.len() > MOST {
        return Err(BadAnnotation::TooMany(key));
    }
    let one = |(place, value): (usize, Value)| {
        let written = Written::deserialize(value).map_err(|why| why.to_string());
        let wanted = written.and_then(|written| wanted(namespace, &written));
        wanted.map_err(|why| BadAnnotation::Element { key, place, why })
    };
    let wanted: Vec<Wanted> = list.into_iter().enumerate().map(one).collect::<Result<_, _>>()?;
    Ok(Some(wanted).filter(|wanted| !wanted.is_empty()))
}

fn wanted(namespace: &str, written: &Written) -> Result<Wanted, String> {
    let named = [
        (NetworkKind::DanmNet, &written.network),
        (NetworkKind::TenantNetwork, &written.tenant_network),
        (NetworkKind::ClusterNetwork, &written.cluster_network),
    ];
    let given: Vec<(NetworkKind, &String)> =
        named.into_iter().filter_map(|(kind, name)| Some((kind, name.as_ref()?))).collect();
    let [(kind, name)] = given.as_slice() else {
        return Err("names exactly one of network, tenantNetwork and clusterNetwork".to_owned());
    };
    let network = NetworkRef::new(kind.name(), namespace, name).filter(|network| !network.name.is_empty());
    let mut routes = routes("proutes", &written.proutes, true)?;
    routes.extend(self::routes("proutes6", &written.proutes6, false)?);
    Ok(Wanted {
        network: network.ok_or("the name of the network is empty")?,
        ipv4: ask("ip", written.ip.as_deref(), true)?,
        ipv6: ask("ip6", written.ip6.as_deref(), false)?,
        routes,
    })
}

fn ask(key: &str, text: Option<&str>, is_ipv4: bool) -> Result<Ask, String> {
    match text {
        None | Some("") => Ok(Ask::Absent),
        Some("none") => Ok(Ask::Without),
        Some("dynamic") => Ok(Ask::Dynamic),
        // Whatever prefix length is given, that of the network counts.
        Some(text) => {
            let bare = IpNet::from_str(text).map(|net| net.addr()).or_else(|_| IpAddr::from_str(text));
            let address = bare.ok().filter(|address| address.is_ipv4() == is_ipv4);
            address.map(Ask::Static).ok_or_else(|| {
                let family = if is_ipv4 { "IPv4" } else { "IPv6" };
                format!("{key} {text:?} is neither dynamic, none nor an {family} address")
            })
        }
    }
}

fn routes(key: &str, written: &BTreeMap<String, String>, is_ipv4: bool) -> Result<Vec<(IpNet, IpAddr)>, String> {
    let one = |(to, via): (&String, &String)| {
        let to = IpNet::from_str(to).ok().filter(|to| to.addr().is_ipv4() == is_ipv4);
        let via = IpAddr::from_str(via).ok().filter(|via| via.is_ipv4() == is_ipv4);
        to.zip(via).map(|(to, via)| (to.trunc(), via))
    };
    let read =
        |route| one(route).ok_or_else(|| format!("{key}: {} over {} is no route of this family", route.0, route.1));
    written.iter().map(read).collect()
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("no address"),
            Self::Without => f.write_str("none"),
            Self::Dynamic => f.write_str("dynamic"),
            Self::Static(address) => address.fmt(f),
        }
    }
}
