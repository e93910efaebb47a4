//! The rules of the three kinds of networks.

use netloom_api::{
    dig,
    podnet::{
        self, ClusterNetwork, DANM_EP, DanmNet, NetworkKind, NetworkOptions, NetworkRef, NetworkSpec, Problem,
        TenantNetwork,
    },
};
use serde::Deserialize;
use serde_json::Value;

use crate::{Admitted, Findings, Operation, Review, Write, podnet::picture};

/// The index of interfaces by their network.
pub(crate) const BY_NETWORK: &str = "network";

impl Admitted for DanmNet {
    fn complete(review: &Review<'_>, object: &mut Value) {
        complete(NetworkKind::DanmNet, review, object);
    }

    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let (new, old) = (write.new.as_ref().map(|new| &new.spec.0), write.old.as_ref().map(|old| &old.spec.0));
        admit(NetworkKind::DanmNet, write.review, new, old, findings);
    }
}

impl Admitted for TenantNetwork {
    fn complete(review: &Review<'_>, object: &mut Value) {
        complete(NetworkKind::TenantNetwork, review, object);
    }

    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let (new, old) = (write.new.as_ref().map(|new| &new.spec.0), write.old.as_ref().map(|old| &old.spec.0));
        admit(NetworkKind::TenantNetwork, write.review, new, old, findings);
    }
}

impl Admitted for ClusterNetwork {
    fn complete(review: &Review<'_>, object: &mut Value) {
        complete(NetworkKind::ClusterNetwork, review, object);
    }

    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let (new, old) = (write.new.as_ref().map(|new| &new.spec.0), write.old.as_ref().map(|old| &old.spec.0));
        admit(NetworkKind::ClusterNetwork, write.review, new, old, findings);
    }
}

/// Fills in the type, the ends of the pools and the masks of used addresses.
fn complete(kind: NetworkKind, review: &Review<'_>, object: &mut Value) {
    let Some(mut spec) = object.get("spec").and_then(|spec| NetworkSpec::deserialize(spec).ok()) else { return };
    if dig::is_terminating(object) {
        return;
    }
    let old = review.old.and_then(|old| old.get("spec")).and_then(|spec| NetworkSpec::deserialize(spec).ok());
    let before = spec.clone();
    if spec.network_type.is_empty() {
        "ipvlan".clone_into(&mut spec.network_type);
    }
    if let Some(old) = &old {
        picture::keep(&mut spec.options, &old.options);
    }
    if let Ok(network) = spec.read(kind) {
        picture::fill(&mut spec.options, &network, old.as_ref().map(|old| &old.options));
    }
    if spec != before
        && let Ok(filled) = serde_json::to_value(&spec)
        && let (Some(fields), Value::Object(filled)) = (object["spec"].as_object_mut(), filled)
    {
        // Field by field: what the type does not know stays for the schema to judge.
        for (key, value) in filled {
            match (fields.get_mut(&key), value) {
                (Some(Value::Object(there)), Value::Object(options)) => there.extend(options),
                (_, value) => {
                    fields.insert(key, value);
                }
            }
        }
    }
}

fn admit(
    kind: NetworkKind,
    review: &Review<'_>,
    new: Option<&NetworkSpec>,
    old: Option<&NetworkSpec>,
    findings: &mut Findings,
) {
    match (review.operation, new) {
        (Operation::Create, Some(new)) => {
            content(kind, new, findings);
            fresh_picture(kind, new, findings);
            if kind == NetworkKind::TenantNetwork {
                no_number(new, findings);
            }
        }
        (Operation::Update, Some(new)) => {
            content(kind, new, findings);
            if let Some(old) = old {
                kept_picture(review, new, old, findings);
                fixed(kind, review, new, old, findings);
            }
        }
        (Operation::Delete, _) => unused(kind, review, findings),
        (Operation::Create | Operation::Update | Operation::Connect, _) => {}
    }
}

/// What a network must be in itself: rules 1 to 4 and 6 to 13.
fn content(kind: NetworkKind, new: &NetworkSpec, findings: &mut Findings) {
    for Problem { path, value, why } in new.read(kind).err().unwrap_or_default() {
        findings.invalid(path, value, why);
    }
}

const BY_CONTROLLER: &str = "is kept by the controller; leave it out";

/// Rule 5: nobody says which addresses are in use. What is filled in on the way is what it begins with.
fn fresh_picture(kind: NetworkKind, new: &NetworkSpec, findings: &mut Findings) {
    let begin = new.read(kind).map(|network| picture::begin(&network)).unwrap_or_default();
    let NetworkOptions { alloc, alloc6, .. } = &new.options;
    for (path, given, expected) in
        [("spec.Options.alloc", alloc, begin.ipv4), ("spec.Options.alloc6", alloc6, begin.ipv6)]
    {
        if !given.is_empty() && *given != expected {
            findings.forbidden(path, BY_CONTROLLER);
        }
    }
    for (path, last) in last_given(&new.options) {
        if !last.is_empty() {
            findings.forbidden(path, BY_CONTROLLER);
        }
    }
}

/// The same later: only the controller changes the picture. Where the network itself changes, it begins again.
fn kept_picture(review: &Review<'_>, new: &NetworkSpec, old: &NetworkSpec, findings: &mut Findings) {
    if review.user.is_controller() {
        return;
    }
    let (now, before) = (&new.options, &old.options);
    let moved = now.cidr != before.cidr;
    let moved6 = now.net6 != before.net6 || now.allocation_pool_v6 != before.allocation_pool_v6 || moved;
    for (path, same) in [
        ("spec.Options.alloc", now.alloc == before.alloc || moved),
        ("spec.Options.alloc6", now.alloc6 == before.alloc6 || moved6),
    ] {
        if !same {
            findings.forbidden(path, BY_CONTROLLER);
        }
    }
    for ((path, now), (_, before)) in last_given(now).into_iter().zip(last_given(before)) {
        if now != before {
            findings.forbidden(path, BY_CONTROLLER);
        }
    }
}

fn last_given(options: &NetworkOptions) -> [(&'static str, &str); 2] {
    let v4 = options.allocation_pool.as_ref().map_or("", |pool| pool.last_ip.as_str());
    let v6 = options.allocation_pool_v6.as_ref().map_or("", |pool| pool.last_ip.as_str());
    [("spec.Options.allocation_pool.lastIp", v4), ("spec.Options.allocation_pool_v6.lastIp", v6)]
}

/// Tenants do not choose numbers.
fn no_number(new: &NetworkSpec, findings: &mut Findings) {
    for (path, number) in [("spec.Options.vlan", new.options.vlan), ("spec.Options.vxlan", new.options.vxlan)] {
        if number != 0 {
            findings.forbidden(path, "a TenantNetwork gets its number out of a TenantConfig; leave it out");
        }
    }
}

/// What does not change: for a TenantNetwork ever, for others while pods are attached (rule 14).
fn fixed(kind: NetworkKind, review: &Review<'_>, new: &NetworkSpec, old: &NetworkSpec, findings: &mut Findings) {
    let (now, before) = (&new.options, &old.options);
    let tenant = kind == NetworkKind::TenantNetwork;
    let changed: Vec<&str> = [
        ("spec.Options.host_device", now.host_device != before.host_device),
        ("spec.Options.device_pool", tenant && now.device_pool != before.device_pool),
        ("spec.Options.vlan", now.vlan != before.vlan),
        ("spec.Options.vxlan", now.vxlan != before.vxlan),
    ]
    .into_iter()
    .filter_map(|(path, changed)| changed.then_some(path))
    .collect();
    if changed.is_empty() {
        return;
    }
    if tenant {
        for path in changed {
            findings.forbidden(path, "was given to this TenantNetwork when it was made, and stays");
        }
        return;
    }
    if let Some(pod) = attached(kind, review) {
        for path in changed {
            findings.forbidden(path, format!("cannot change while pods are attached, such as {pod}"));
        }
    }
}

/// Rule 15: a network with pods stays.
fn unused(kind: NetworkKind, review: &Review<'_>, findings: &mut Findings) {
    if let Some(pod) = attached(kind, review) {
        findings.forbid(format!("pods are attached to this {}, such as {pod}; delete them first", kind.name()));
    }
}

/// A pod that is attached to the network that is written.
fn attached(kind: NetworkKind, review: &Review<'_>) -> Option<String> {
    let network = NetworkRef::new(kind.name(), review.namespace.unwrap_or_default(), review.name)?;
    let interfaces = review.view.lookup(DANM_EP, BY_NETWORK, &network.to_string());
    let first = interfaces.first()?;
    let text = |path: &str| dig::text(first, path).unwrap_or_default().to_owned();
    Some(format!("{}/{}", text("metadata.namespace"), text("spec.Pod")))
}

/// The network of an interface, as the key of [`BY_NETWORK`]. Interfaces of old programs do not name the kind; they are
/// of DanmNets.
pub(super) fn network_of(interface: &Value) -> Vec<String> {
    let text = |path: &str| dig::text(interface, path).unwrap_or_default();
    let kind = Some(text("spec.apiType")).filter(|kind| !kind.is_empty()).unwrap_or(podnet::DANM_NET.kind);
    let network = NetworkRef::new(kind, text("metadata.namespace"), text("spec.NetworkName"));
    network.map(|network| network.to_string()).into_iter().collect()
}
