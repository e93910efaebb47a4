//! What a `NodeNetConfPolicy` must keep: it can match, and it wants one thing that a node can read.

use netloom_api::nodestate::{InterfaceMatchRule, NodeNetConfPolicy, NodeNetConfPolicySpec};
use netloom_types::VlanId;

use super::{document, selection};
use crate::{Admitted, Findings, Write};

impl Admitted for NodeNetConfPolicy {
    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let Some(new) = &write.new else { return };
        let spec = &new.spec;
        if let Some(affinity) = &spec.affinity {
            selection::affinity(affinity, findings);
        }
        selection::tolerations(&spec.tolerations, findings);
        if spec.match_rules.is_empty() {
            findings.required("spec.matchRules", "at least one rule must say which interfaces the policy is for");
        }
        for (i, rule) in spec.match_rules.iter().enumerate() {
            match_rule(&format!("spec.matchRules[{i}]"), rule, findings);
        }
        desired(spec, findings);
    }
}

fn desired(spec: &NodeNetConfPolicySpec, findings: &mut Findings) {
    match (&spec.autoconfig, &spec.desired_state) {
        (Some(_), Some(_)) => {
            findings.forbidden("spec.autoconfig", "excludes spec.desiredState: a policy has one of them");
        }
        (Some(auto), None) if !auto.auto_bonding && !auto.auto_vlan => {
            findings.warn("spec.autoconfig switches nothing on, so the policy changes nothing");
        }
        (None, None) => {
            findings.warn("neither spec.autoconfig nor spec.desiredState is given, so the policy changes nothing");
        }
        (Some(_), None) | (None, Some(_)) => {}
    }
    if let Some(document) = &spec.desired_state {
        document::check_with_templates(document, "spec.desiredState", findings);
    }
}

/// The types that our nodes report. The set is open: a node may have links of other kinds.
const TYPES: &[&str] = &[
    "bond",
    "dummy",
    "ethernet",
    "gre",
    "gretap",
    "hsr",
    "infiniband",
    "ip-tunnel",
    "ipvlan",
    "linux-bridge",
    "loopback",
    "mac-vlan",
    "mac-vtap",
    "macsec",
    "tun",
    "unknown",
    "veth",
    "vlan",
    "vrf",
    "vxlan",
    "xfrm",
];

fn match_rule(path: &str, rule: &InterfaceMatchRule, findings: &mut Findings) {
    if let Some(name) = &rule.name {
        check_glob(&format!("{path}.name"), name, findings);
    }
    if let Some(kind) = &rule.kind
        && !TYPES.contains(&kind.as_str())
    {
        findings
            .warn(format!("{path}.type: no node of ours reports the type {kind:?}; known are {}", TYPES.join(", ")));
    }
    if let Some(id) = rule.vlan_id {
        check_vlan(&format!("{path}.vlanID"), id, findings);
    }
    for (i, id) in rule.lldp.iter().flat_map(|lldp| &lldp.vlan_id_list).enumerate() {
        check_vlan(&format!("{path}.lldp.vlanIDList[{i}]"), *id, findings);
    }
    if let (Some(kind), Some(_)) = (&rule.kind, rule.vlan_id)
        && kind != "vlan"
    {
        findings.invalid(
            format!("{path}.type"),
            kind.as_str(),
            "only an interface of type vlan has the vlanID that the rule asks for",
        );
    }
    let lldp_empty = rule.lldp.as_ref().is_none_or(|lldp| lldp.vlan_id_list.is_empty());
    if rule.name.is_none() && rule.kind.is_none() && rule.vlan_id.is_none() && lldp_empty {
        findings.warn(format!("{path} asks for nothing, so it matches every interface"));
    }
}

fn check_vlan(path: &str, id: u16, findings: &mut Findings) {
    if VlanId::try_from(id).is_err() {
        findings.invalid(path, id, "must be from 1 to 4094");
    }
}

/// A pattern that can match a link's name: without its stars it has at most 15 bytes that a name may have.
fn check_glob(path: &str, glob: &str, findings: &mut Findings) {
    let fixed = glob.bytes().filter(|&byte| byte != b'*').count();
    let allowed = |c: char| !c.is_whitespace() && !c.is_control() && c != '/' && c != ':';
    if glob.is_empty() {
        findings.invalid(path, glob, "must not be empty; leave it out to match every name");
    } else if !glob.chars().all(allowed) {
        findings.invalid(path, glob, "the name of a link has no space, slash or colon");
    } else if fixed > 15 {
        findings.invalid(path, glob, "the name of a link has at most 15 bytes, so this matches none");
    }
}
