//! From a specification to a [`Network`], with everything that is wrong in it.
//!
//! Admission reports all of it; whoever meets a network that was stored without admission gets the same problems.

use std::{collections::BTreeMap, fmt::Display, net::IpAddr, str::FromStr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use netloom_ipam::{BadPool, Pool, default_v6_pool};
use netloom_types::{IfName, RouteTable, VlanId, Vni};

use crate::podnet::{
    AllocationPool, AllocationPoolV6, Backend, LinkId, Network, NetworkKind, NetworkOptions, NetworkSpec, Problem,
    Static,
};

/// The longest `NetworkID` of a network whose interfaces are made from it alone.
const MAX_DYNAMIC_ID: usize = 11;
/// Tables that the kernel uses itself.
const OWN_TABLES: std::ops::RangeInclusive<u32> = 253..=255;

impl NetworkSpec {
    /// Reads it for a kind of network.
    pub fn read(&self, kind: NetworkKind) -> Result<Network, Vec<Problem>> {
        let mut reader = Reader { options: &self.options, problems: Vec::new() };
        let network = reader.network(self, kind);
        if reader.problems.is_empty() { Ok(network) } else { Err(reader.problems) }
    }
}

struct Reader<'a> {
    options: &'a NetworkOptions,
    problems: Vec<Problem>,
}

const CIDR: &str = "spec.Options.cidr";
const NET6: &str = "spec.Options.net6";
const POOL: &str = "spec.Options.allocation_pool";
const POOL6: &str = "spec.Options.allocation_pool_v6";

impl Reader<'_> {
    fn problem(&mut self, path: &'static str, value: impl Display, why: impl Into<String>) {
        self.problems.push(Problem { path, value: value.to_string(), why: why.into() });
    }

    fn network(&mut self, spec: &NetworkSpec, kind: NetworkKind) -> Network {
        let options = self.options;
        let backend = Backend::named(&spec.network_type);
        let cidr = self.cidr();
        let net6 = self.net6();
        let mut routes = self.routes("spec.Options.routes", &options.routes, CIDR, cidr.map(IpNet::V4));
        routes.extend(self.routes("spec.Options.routes6", &options.routes6, NET6, net6.map(IpNet::V6)));
        let gateways: Vec<IpAddr> = routes.iter().map(|route| route.via).collect();
        let ipv4 = self.pool4(cidr, &gateways);
        let (ipv6, tracked6) = self.pool6(net6, cidr, &gateways).unzip();
        let link_id = self.link_id();
        self.id(&spec.network_id, &backend, link_id);
        self.tenants(spec, kind);
        self.device(&backend);
        if let Backend::Plugin(name) = &backend
            && (name.contains('/') || name.starts_with('.') || name.chars().any(char::is_whitespace))
        {
            self.problem("spec.NetworkType", name, "is the name of a program in the folders of CNI, without a path");
        }
        Network {
            id: spec.network_id.clone(),
            backend,
            allowed_tenants: spec.allowed_tenants.clone(),
            host_device: self.host_device(),
            device_pool: Some(options.device_pool.clone()).filter(|pool| !pool.is_empty()),
            prefix: self.prefix(),
            ipv4,
            ipv6,
            tracked6,
            routes,
            table: self.table(),
            link_id,
            mtu: Some(options.mtu).filter(|mtu| *mtu != 0),
        }
    }

    fn cidr(&mut self) -> Option<Ipv4Net> {
        let text = Some(self.options.cidr.as_str()).filter(|text| !text.is_empty())?;
        match text.parse::<Ipv4Net>() {
            Ok(net) if net.prefix_len() < 8 => {
                self.problem(CIDR, text, "has a prefix shorter than 8, so its addresses cannot be tracked");
                None
            }
            Ok(net) => Some(net.trunc()),
            Err(_) => {
                self.problem(CIDR, text, "must be an IPv4 network such as 192.0.2.0/24");
                None
            }
        }
    }

    fn net6(&mut self) -> Option<Ipv6Net> {
        let text = Some(self.options.net6.as_str()).filter(|text| !text.is_empty())?;
        let net = text.parse::<Ipv6Net>();
        if net.is_err() {
            self.problem(NET6, text, "must be an IPv6 network such as 2001:db8::/64");
        }
        Some(net.ok()?.trunc())
    }

    fn routes(
        &mut self,
        path: &'static str,
        routes: &BTreeMap<String, String>,
        of: &'static str,
        net: Option<IpNet>,
    ) -> Vec<Static> {
        let missing = if of == CIDR { self.options.cidr.is_empty() } else { self.options.net6.is_empty() };
        if missing && !routes.is_empty() {
            self.problem(path, routes.len(), format!("routes need {of}, in which their gateways are"));
        }
        let Some(net) = net else { return Vec::new() };
        let mut read = Vec::new();
        for (to, via) in routes {
            let target = IpNet::from_str(to).ok().filter(|to| to.addr().is_ipv4() == net.addr().is_ipv4());
            let gateway = IpAddr::from_str(via).ok().filter(|via| net.contains(via));
            if target.is_none() {
                self.problem(
                    path,
                    to,
                    "the destination of a route must be a network of the same family as its gateway",
                );
            }
            if gateway.is_none() {
                self.problem(path, via, format!("the gateway of the route to {to} must be an address in {net}"));
            }
            read.extend(target.zip(gateway).map(|(to, via)| Static { to: to.trunc(), via }));
        }
        read
    }

    fn pool4(&mut self, cidr: Option<Ipv4Net>, gateways: &[IpAddr]) -> Option<Pool> {
        let given = self.options.allocation_pool.clone().unwrap_or_default();
        if self.options.cidr.is_empty() && given != AllocationPool::default() {
            self.problem(POOL, &given.start, "needs spec.Options.cidr, of which it is a part");
        }
        let net = IpNet::V4(cidr?);
        let start = self.address("spec.Options.allocation_pool.start", &given.start, net);
        let end = self.address("spec.Options.allocation_pool.end", &given.end, net);
        self.pool(Place::V4, net, net, (start?, end?), gateways)
    }

    fn pool6(&mut self, net6: Option<Ipv6Net>, cidr: Option<Ipv4Net>, gateways: &[IpAddr]) -> Option<(Pool, IpNet)> {
        let given = self.options.allocation_pool_v6.clone().unwrap_or_default();
        if self.options.net6.is_empty() && given != AllocationPoolV6::default() {
            self.problem(POOL6, &given.cidr, "needs spec.Options.net6, of which it is a part");
        }
        let net6 = net6?;
        let within = self.within6(&given.cidr, net6, cidr)?;
        let (net, within) = (IpNet::V6(net6), IpNet::V6(within));
        let start = self.address("spec.Options.allocation_pool_v6.start", &given.start, within);
        let end = self.address("spec.Options.allocation_pool_v6.end", &given.end, within);
        Some((self.pool(Place::V6, net, within, (start?, end?), gateways)?, within))
    }

    /// The part of an IPv6 network that its pool is in.
    fn within6(&mut self, given: &str, net6: Ipv6Net, cidr: Option<Ipv4Net>) -> Option<Ipv6Net> {
        const PATH: &str = "spec.Options.allocation_pool_v6.cidr";
        let default = default_v6_pool(net6, cidr.map(|cidr| cidr.prefix_len()));
        if given.is_empty() {
            return Some(default);
        }
        let Ok(within) = given.parse::<Ipv6Net>() else {
            self.problem(PATH, given, "must be an IPv6 network such as 2001:db8::/112");
            return None;
        };
        let within = within.trunc();
        if !net6.contains(&within) {
            self.problem(PATH, given, format!("must be in {net6}"));
        } else if within.prefix_len() == 128 {
            self.problem(PATH, given, "must have more than one address");
        } else if within.prefix_len() < default.prefix_len() {
            let at_least = default.prefix_len();
            self.problem(
                PATH,
                given,
                format!("is larger than can be tracked: its prefix must have at least {at_least} bits"),
            );
        } else {
            return Some(within);
        }
        None
    }

    /// An address of a pool: none when it is not given; nothing at all when it is wrong.
    #[expect(clippy::option_option, reason = "absent and wrong are two things")]
    fn address(&mut self, path: &'static str, text: &str, within: IpNet) -> Option<Option<IpAddr>> {
        if text.is_empty() {
            return Some(None);
        }
        let address = IpAddr::from_str(text).ok().filter(|address| within.contains(address));
        if address.is_none() {
            self.problem(path, text, format!("must be an address in {within}"));
        }
        Some(Some(address?))
    }

    fn pool(
        &mut self,
        place: Place,
        net: IpNet,
        within: IpNet,
        (start, end): (Option<IpAddr>, Option<IpAddr>),
        gateways: &[IpAddr],
    ) -> Option<Pool> {
        match Pool::new(net, within, start, end, gateways.to_vec()) {
            Ok(pool) => Some(pool),
            Err(BadPool::Start(start, _)) => {
                self.problem(place.start(), start, format!("must be an address in {within}"));
                None
            }
            Err(BadPool::End(end, _)) => {
                self.problem(place.end(), end, format!("must be an address in {within}"));
                None
            }
            Err(BadPool::Order(start, end)) => {
                self.problem(place.end(), end, format!("must not be below the start of the pool, {start}"));
                None
            }
            Err(why @ BadPool::TooSmall(_)) => {
                self.problem(place.net(), net, format!("{why}; name start and end of the pool"));
                None
            }
        }
    }

    fn link_id(&mut self) -> Option<LinkId> {
        let NetworkOptions { vlan, vxlan, .. } = *self.options;
        if vlan != 0 && vxlan != 0 {
            self.problem("spec.Options.vxlan", vxlan, "a network has either a VLAN or a VXLAN number, not both");
        }
        let tag = u16::try_from(vlan).ok().and_then(|vlan| VlanId::try_from(vlan).ok()).map(LinkId::Vlan);
        let other = || Some(vxlan).filter(|vni| *vni != 0).and_then(|vni| Vni::try_from(vni).ok()).map(LinkId::Vxlan);
        tag.or_else(other)
    }

    fn id(&mut self, id: &str, backend: &Backend, link_id: Option<LinkId>) {
        const PATH: &str = "spec.NetworkID";
        let link = link_id.map(|link_id| link_id.link_name(id));
        if id.is_empty() {
            self.problem(PATH, id, "must be given: links of nodes and configuration files are named after it");
        } else if id.contains(['/', ':'])
            || id.starts_with('.')
            || id.chars().any(|c| c.is_whitespace() || c.is_control())
        {
            self.problem(PATH, id, "names links and files: it has no '/', ':' or space and does not begin with a dot");
        } else if backend.is_dynamic() && id.len() > MAX_DYNAMIC_ID {
            let kind = backend.name();
            self.problem(
                PATH,
                id,
                format!("has more than {MAX_DYNAMIC_ID} characters, the most for a network of type {kind}"),
            );
        } else if let Some(link) = link.filter(|link| link.len() > IfName::MAX) {
            let why =
                format!("the link of nodes would be called {link:?}, which is longer than {} characters", IfName::MAX);
            self.problem(PATH, id, why);
        }
    }

    fn tenants(&mut self, spec: &NetworkSpec, kind: NetworkKind) {
        if kind != NetworkKind::ClusterNetwork && !spec.allowed_tenants.is_empty() {
            let why =
                format!("a {} is of one namespace; only a ClusterNetwork is opened to some namespaces", kind.name());
            self.problem("spec.AllowedTenants", spec.allowed_tenants.join(", "), why);
        }
    }

    fn device(&mut self, backend: &Backend) {
        let NetworkOptions { host_device, device_pool, .. } = self.options;
        if *backend == Backend::Sriov && device_pool.is_empty() {
            self.problem("spec.Options.device_pool", "", "must be given for a network of type sriov");
        }
        if *backend == Backend::Sriov && !host_device.is_empty() {
            self.problem("spec.Options.host_device", host_device, "cannot be given for a network of type sriov");
        } else if !host_device.is_empty() && !device_pool.is_empty() {
            self.problem(
                "spec.Options.host_device",
                host_device,
                "cannot be given together with spec.Options.device_pool",
            );
        }
    }

    fn host_device(&mut self) -> Option<IfName> {
        let text = Some(self.options.host_device.as_str()).filter(|text| !text.is_empty())?;
        let name = IfName::from_str(text);
        if let Err(why) = &name {
            self.problem("spec.Options.host_device", text, why.why);
        }
        name.ok()
    }

    fn prefix(&mut self) -> Option<String> {
        let text = Some(self.options.container_prefix.as_str()).filter(|text| !text.is_empty())?;
        if let Err(why) = IfName::from_str(text) {
            self.problem("spec.Options.container_prefix", text, why.why);
        }
        Some(text.to_owned())
    }

    fn table(&mut self) -> Option<RouteTable> {
        let table = Some(self.options.rt_tables).filter(|table| *table != 0)?;
        if OWN_TABLES.contains(&table) {
            self.problem("spec.Options.rt_tables", table, "253 to 255 are tables of the kernel; choose another one");
            return None;
        }
        RouteTable::try_from(table).ok()
    }
}

/// Which of the two pools it is.
#[derive(Clone, Copy)]
enum Place {
    V4,
    V6,
}

impl Place {
    const fn start(self) -> &'static str {
        match self {
            Self::V4 => "spec.Options.allocation_pool.start",
            Self::V6 => "spec.Options.allocation_pool_v6.start",
        }
    }

    const fn end(self) -> &'static str {
        match self {
            Self::V4 => "spec.Options.allocation_pool.end",
            Self::V6 => "spec.Options.allocation_pool_v6.end",
        }
    }

    const fn net(self) -> &'static str {
        match self {
            Self::V4 => CIDR,
            Self::V6 => NET6,
        }
    }
}
