//! The picture of used addresses in the objects of networks, for those who read DANM's: `alloc`, `alloc6`, `lastIp`.
//!
//! It follows from the interfaces that there are, and nothing here is decided by it. It is late by design: a network is
//! written once a second at most, whatever happens to its pods.

use std::{collections::BTreeMap, net::IpAddr};

use ipnet::IpNet;
use netloom_api::podnet::{DanmEp, Family, Masks, Network, NetworkOptions, NetworkRef};
use serde_json::{Value, json};

/// The least time between two writes of one network, in milliseconds.
const BETWEEN: u64 = 1000;

/// An interface, as far as the picture goes.
#[derive(Debug, Clone)]
pub(crate) struct Used {
    network: NetworkRef,
    addresses: Vec<IpNet>,
    created: String,
}

impl Used {
    pub(crate) fn read(object: &DanmEp) -> Option<Self> {
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        let kind = Some(object.spec.api_type.as_str()).filter(|kind| !kind.is_empty()).unwrap_or("DanmNet");
        let network = NetworkRef::new(kind, namespace, &object.spec.network_name)?;
        let interface = &object.spec.interface;
        let texts = [interface.address.as_str(), interface.address_ipv6.as_str()];
        let addresses = texts.into_iter().filter_map(|text| text.parse().ok()).collect();
        let created = object.metadata.creation_timestamp.as_ref();
        let created = created.map(|created| created.0.to_string()).unwrap_or_default();
        Some(Self { network, addresses, created })
    }
}

/// What the object of a network says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Picture {
    masks: Masks,
    last: [String; 2],
}

impl Picture {
    pub(crate) fn of(options: &NetworkOptions) -> Self {
        let v4 = options.allocation_pool.as_ref().map(|pool| pool.last_ip.clone());
        let v6 = options.allocation_pool_v6.as_ref().map(|pool| pool.last_ip.clone());
        Self {
            masks: Masks { ipv4: options.alloc.clone(), ipv6: options.alloc6.clone() },
            last: [v4.unwrap_or_default(), v6.unwrap_or_default()],
        }
    }

    /// Whether it shows all that another one would. Nobody forgets which address was given last.
    pub(crate) fn says(&self, wanted: &Self) -> bool {
        let last = self.last.iter().zip(&wanted.last);
        self.masks == wanted.masks && last.into_iter().all(|(now, wanted)| wanted.is_empty() || now == wanted)
    }

    /// The fields that a write sets.
    pub(crate) fn options(&self) -> Value {
        let mut options = json!({});
        let Self { masks: Masks { ipv4, ipv6 }, last: [last4, last6] } = self;
        let families = [("alloc", ipv4, "allocation_pool", last4), ("alloc6", ipv6, "allocation_pool_v6", last6)];
        for (mask, bits, pool, last) in families.into_iter().filter(|(_, bits, ..)| !bits.is_empty()) {
            options[mask] = bits.as_str().into();
            if !last.is_empty() {
                options[pool] = json!({"lastIp": last});
            }
        }
        options
    }
}

/// What is remembered of networks from one picture to the next.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pictures {
    written: BTreeMap<NetworkRef, u64>,
    newest: BTreeMap<(NetworkRef, Family), (String, IpNet)>,
}

impl Pictures {
    /// Takes note of an interface: the newest one has the address that was given last.
    pub(crate) fn seen(&mut self, used: &Used) {
        for address in &used.addresses {
            let family = Family::of(address.addr());
            let given = (used.created.clone(), *address);
            let known = self.newest.entry((used.network.clone(), family)).or_insert_with(|| given.clone());
            *known = known.clone().max(given);
        }
    }

    /// What the object of a network is to say.
    pub(crate) fn wanted(&self, reference: &NetworkRef, network: &Network, used: &[IpAddr]) -> Picture {
        let masks = network.masks(used);
        let last = |family, bits: &str| {
            let newest = self.newest.get(&(reference.clone(), family));
            let inside = newest.filter(|(_, address)| {
                !bits.is_empty() && network.pool(family).is_some_and(|pool| pool.net().contains(&address.addr()))
            });
            inside.map(|(_, address)| address.to_string()).unwrap_or_default()
        };
        let last = [last(Family::Ipv4, &masks.ipv4), last(Family::Ipv6, &masks.ipv6)];
        Picture { masks, last }
    }

    /// Whether a network may be written now; else when.
    pub(crate) fn may_write(&mut self, now: u64, network: &NetworkRef) -> Result<(), u64> {
        match self.written.get(network).map(|before| before.saturating_add(BETWEEN)) {
            Some(next) if next > now => Err(next),
            _ => {
                self.written.insert(network.clone(), now);
                Ok(())
            }
        }
    }

    /// Forgets networks that are gone.
    pub(crate) fn retain(&mut self, there: impl Fn(&NetworkRef) -> bool) {
        self.written.retain(|network, _| there(network));
        self.newest.retain(|(network, _), _| there(network));
    }
}

/// The addresses that are used of each network.
pub(crate) fn by_network<'a>(all: impl Iterator<Item = &'a Used>) -> BTreeMap<NetworkRef, Vec<IpAddr>> {
    let mut networks: BTreeMap<NetworkRef, Vec<IpAddr>> = BTreeMap::new();
    for used in all {
        networks.entry(used.network.clone()).or_default().extend(used.addresses.iter().map(IpNet::addr));
    }
    networks
}
