//! From a request and a pod to a record.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

use ipnet::IpNet;
use netloom_api::podnet::{Backend, Family, Network, NetworkRef};
use netloom_cnispec::{Attachment, Code, Config, Failure};
use netloom_ipam::Pool;
use netloom_object::ObjectKey;
use netloom_types::RouteTable;

use super::{
    Decision, Known, Node, Waiting,
    addresses::{Addresses, Named, Owner},
    defaults,
    names::names,
};
use crate::{Ask, Interface, POD, Pod, Record, RecordedRoute, State, Wanted, endpoint_id, record::LinkKind};

/// Why it is not known what a pod wants.
#[derive(Debug, Clone)]
pub(super) enum Unwanted {
    Wait(Waiting),
    Refused(Failure),
}

fn refused(msg: impl Into<String>) -> Unwanted {
    Unwanted::Refused(Failure::new(Code::Refused, msg))
}

/// The interfaces of a pod, with the default network where it names none.
pub(super) fn wanted(pod: &Pod, networks: &BTreeMap<NetworkRef, Known>) -> Result<Vec<Wanted>, Unwanted> {
    match &pod.wanted {
        Err(why) => Err(refused(why.to_string())),
        Ok(Some(wanted)) => Ok(wanted.clone()),
        Ok(None) => {
            for reference in defaults(&pod.namespace) {
                match networks.get(&reference) {
                    None | Some(Known::Asked) => {
                        return Err(Unwanted::Wait(Waiting::Network(format!("{reference} is not known yet"))));
                    }
                    Some(Known::Missing) => {}
                    Some(Known::There { network: Err(_), .. }) => return Ok(vec![of_default(reference, None)]),
                    Some(Known::There { network: Ok(network), .. }) => {
                        return Ok(vec![of_default(reference, Some(network))]);
                    }
                }
            }
            Err(refused(format!(
                "the pod names no network, and there is neither a DanmNet nor a TenantNetwork \"default\" in {} nor a \
                 ClusterNetwork of that name",
                pod.namespace
            )))
        }
    }
}

/// A default network gives an address of each family that it has.
fn of_default(network: NetworkRef, known: Option<&Arc<Network>>) -> Wanted {
    let ask = |family| match known.and_then(|known| known.pool(family)) {
        Some(_) => Ask::Dynamic,
        None => Ask::Absent,
    };
    let (ipv4, ipv6) = (ask(Family::Ipv4), ask(Family::Ipv6));
    Wanted { network, ipv4, ipv6, routes: Vec::new() }
}

/// A network that an interface is attached to.
struct Target {
    wanted: Wanted,
    uid: String,
    network: Arc<Network>,
}

impl Node {
    /// Decides about an ADD.
    pub fn add(&mut self, attachment: &Attachment, config: &Config) -> Decision {
        if let Some(record) = self.records.get(&attachment.container) {
            return match &record.state {
                State::Made(attached) => Decision::Same(attached.clone()),
                State::Making => Decision::ReleaseFirst(vec![record.container.clone()]),
            };
        }
        match self.plan(attachment, config) {
            Ok(decision) => decision,
            Err(Unwanted::Wait(waiting)) => Decision::Wait(waiting),
            Err(Unwanted::Refused(failure)) => Decision::Refused(failure),
        }
    }

    fn plan(&mut self, attachment: &Attachment, config: &Config) -> Result<Decision, Unwanted> {
        let pod = self.bound(attachment)?;
        let older: Vec<String> = self
            .records
            .values()
            .filter(|record| record.pod_uid == pod.uid)
            .map(|record| record.container.clone())
            .collect();
        if !older.is_empty() {
            return Ok(Decision::ReleaseFirst(older));
        }
        let targets = self.targets(&pod)?;
        let prefixes: Vec<Option<&str>> = targets.iter().map(|target| target.network.prefix.as_deref()).collect();
        let names = names(&attachment.ifname, &prefixes, config.legacy_names)
            .map_err(|(place, why)| refused(format!("interface {place} of the pod: {why}")))?;
        let container = &attachment.container;
        let mut interfaces = Vec::new();
        for (place, (target, name)) in targets.iter().zip(names).enumerate() {
            match self.interface(container, &pod, target, name) {
                Ok(interface) => interfaces.push(interface),
                Err(why) => {
                    self.give_back(container, &pod, &interfaces);
                    return Err(at(place, why));
                }
            }
        }
        let record = Record {
            container: container.clone(),
            netns: attachment.netns.clone().unwrap_or_default(),
            ifname: attachment.ifname.clone(),
            network: config.name.clone(),
            pod_namespace: pod.namespace,
            pod_name: pod.name,
            pod_uid: pod.uid,
            state: State::Making,
            interfaces,
        };
        self.records.insert(container.clone(), record.clone());
        Ok(Decision::Make(Box::new(record)))
    }

    /// The pod of a request, bound to this node.
    fn bound(&self, attachment: &Attachment) -> Result<Pod, Unwanted> {
        let args = attachment.pod.clone().map_err(Unwanted::Refused)?;
        let key = ObjectKey::new(args.namespace.as_str(), args.name.as_str());
        let wait = |what: &str| Unwanted::Wait(Waiting::Pod(format!("pod {key} {what}")));
        let pod = self.pods.get(POD, &key).ok_or_else(|| wait("is not known on this node yet"))?;
        if args.uid.as_ref().is_some_and(|uid| *uid != pod.uid) {
            return Err(wait("has another UID than the runtime says"));
        }
        if pod.node != self.name {
            return Err(wait("is not bound to this node"));
        }
        Ok(pod.clone())
    }

    /// The networks of a pod's interfaces, each allowed and usable.
    fn targets(&self, pod: &Pod) -> Result<Vec<Target>, Unwanted> {
        let mut targets = Vec::new();
        for (place, wanted) in self.wanted(pod)?.into_iter().enumerate() {
            let reference = wanted.network.clone();
            let refuse = |why: String| at(place, refused(why));
            let (uid, network) = match self.networks.get(&reference) {
                None | Some(Known::Asked) => {
                    return Err(Unwanted::Wait(Waiting::Network(format!("{reference} is not known yet"))));
                }
                Some(Known::Missing) => return Err(refuse(format!("there is no {reference}"))),
                Some(Known::There { network: Err(why), .. }) => {
                    return Err(refuse(format!("{reference} cannot be used: {why}")));
                }
                Some(Known::There { uid, network: Ok(network) }) => (uid.clone(), Arc::clone(network)),
            };
            if !network.allowed_tenants.is_empty() && !network.allowed_tenants.contains(&pod.namespace) {
                return Err(refuse(format!("{reference} is not open to pods of namespace {}", pod.namespace)));
            }
            targets.push(Target { wanted, uid, network });
        }
        Ok(targets)
    }

    fn interface(&mut self, container: &str, pod: &Pod, target: &Target, name: String) -> Result<Interface, Unwanted> {
        let Target { wanted, uid, network } = target;
        let reference = &wanted.network;
        let link = match &network.backend {
            Backend::Ipvlan => LinkKind::Ipvlan,
            Backend::Macvlan => LinkKind::Macvlan,
            other => {
                let kind = other.name();
                return Err(refused(format!("{reference} is of type {kind}, which this version does not serve")));
            }
        };
        let parent = network.carrier().ok_or_else(|| refused(format!("{reference} names no host_device")))?;
        let routes = routes(wanted, network)?;
        let owner = Owner { container: container.to_owned(), ifname: name.clone() };
        let ipv4 = self.address(target, Family::Ipv4, wanted.ipv4, &owner)?;
        let ipv6 = match self.address(target, Family::Ipv6, wanted.ipv6, &owner) {
            Ok(address) => address,
            Err(why) => {
                self.free(reference, uid, ipv4, &owner);
                return Err(why);
            }
        };
        let has = |net: &IpNet| if net.addr().is_ipv4() { ipv4.is_some() } else { ipv6.is_some() };
        Ok(Interface {
            endpoint: endpoint_id(&pod.uid, container, &name),
            name,
            network_kind: reference.kind.name().to_owned(),
            network_name: reference.name.clone(),
            network_uid: uid.clone(),
            network_type: network.backend.name().to_owned(),
            link,
            parent: parent.to_string(),
            mtu: network.mtu,
            ipv4,
            without_ipv4: wanted.ipv4 == Ask::Without,
            ipv6,
            without_ipv6: wanted.ipv6 == Ask::Without,
            routes: routes.into_iter().filter(|route| has(&route.to)).collect(),
        })
    }

    fn address(&mut self, target: &Target, family: Family, ask: Ask, owner: &Owner) -> Result<Option<IpNet>, Unwanted> {
        let reference = &target.wanted.network;
        match ask {
            Ask::Absent | Ask::Without => return Ok(None),
            Ask::Static(_) | Ask::Dynamic => {}
        }
        let Some(pool) = target.network.pool(family) else {
            return Err(refused(format!("{reference} has no {family} network, so it has no address to give")));
        };
        let addresses = self.addresses.entry((reference.clone(), target.uid.clone())).or_default();
        if let Ask::Static(address) = ask {
            return named(addresses, pool, address, owner).map(Some).map_err(|why| why.about(reference));
        }
        match addresses.next(pool, owner.clone()) {
            Some(address) => Ok(IpNet::new(address, pool.net().prefix_len()).ok()),
            None => Err(Unwanted::Wait(Waiting::Address(format!(
                "this node has no free {family} address of {reference} yet"
            )))),
        }
    }

    fn free(&mut self, network: &NetworkRef, uid: &str, address: Option<IpNet>, owner: &Owner) {
        if let (Some(addresses), Some(address)) = (self.addresses.get_mut(&(network.clone(), uid.to_owned())), address)
        {
            addresses.release(address.addr(), owner);
        }
    }

    /// Takes back what interfaces were given that are not to be made after all.
    fn give_back(&mut self, container: &str, pod: &Pod, interfaces: &[Interface]) {
        for interface in interfaces {
            let owner = Owner { container: container.to_owned(), ifname: interface.name.clone() };
            let network = NetworkRef::new(&interface.network_kind, &pod.namespace, &interface.network_name);
            for address in interface.addresses() {
                if let Some(network) = &network {
                    self.free(network, &interface.network_uid, Some(address), &owner);
                }
            }
        }
    }
}

/// Why a pod does not have the address that it asks for.
enum Unnamed {
    Not(String),
    NotYet(String),
}

impl Unnamed {
    fn about(self, network: &NetworkRef) -> Unwanted {
        match self {
            Self::Not(why) => refused(format!("{network}: {why}")),
            Self::NotYet(why) => Unwanted::Wait(Waiting::Address(format!("{network}: {why}"))),
        }
    }
}

/// The address that a pod asks for by name, with the prefix length of its network.
fn named(addresses: &mut Addresses, pool: &Pool, address: IpAddr, owner: &Owner) -> Result<IpNet, Unnamed> {
    let net = pool.net();
    if !net.contains(&address) {
        return Err(Unnamed::Not(format!("{address} is outside of {net}")));
    }
    if !pool.may_be_asked_for(address) {
        return Err(Unnamed::Not(format!(
            "{address} is the first or last address of {net} or one of its gateways, which no pod gets"
        )));
    }
    match addresses.named(address, owner) {
        Named::Given => IpNet::new(address, net.prefix_len()).map_err(|why| Unnamed::Not(why.to_string())),
        Named::TakenHere => Err(Unnamed::Not(format!("{address} is in use by another interface on this node"))),
        Named::TakenElsewhere => Err(Unnamed::Not(format!("{address} is in use by a pod of another node"))),
        Named::Asked => Err(Unnamed::NotYet(format!("the controller has not given {address} to this node yet"))),
    }
}

/// Names the interface that a reason is about.
fn at(place: usize, why: Unwanted) -> Unwanted {
    match why {
        Unwanted::Refused(failure) => {
            Unwanted::Refused(Failure { msg: format!("interface {place} of the pod: {}", failure.msg), ..failure })
        }
        Unwanted::Wait(waiting) => Unwanted::Wait(waiting),
    }
}

/// Routes of the network in the main table, and those that the pod asks for in the network's own.
fn routes(wanted: &Wanted, network: &Network) -> Result<Vec<RecordedRoute>, Unwanted> {
    let own = network.table.map(RouteTable::get);
    if !wanted.routes.is_empty() && own.is_none() {
        return Err(refused(format!("{} has no rt_tables, so a pod cannot ask for routes", wanted.network)));
    }
    let route = |to: IpNet, via: IpAddr, table| RecordedRoute { to, via, table };
    let main = network.routes.iter().map(|fixed| route(fixed.to, fixed.via, None));
    Ok(main.chain(wanted.routes.iter().map(|(to, via)| route(*to, *via, own))).collect())
}
