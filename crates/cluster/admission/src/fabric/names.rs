//! Names of interfaces that the nodes use themselves.

use crate::Findings;

/// Interfaces of the base configuration.
const TAKEN: [&str; 11] = [
    "cluster",
    "hbn",
    "dum.underlay",
    "br_cluster",
    "vx_cluster",
    "br_mgmt",
    "vx_mgmt",
    "lo_calico",
    "lo",
    "default",
    "all",
];

/// What names of generated interfaces start with.
const PREFIXES: [&str; 10] = ["br.", "vx.", "l2.", "vlan.", "lo.", "gre-", "gtap-", "gre.", "gretap.", "s-"];

/// The usual name of the management VRF; which one it really is stands in the configuration of nodes.
const MANAGEMENT: &str = "mgmt";

/// The name of a VRF that shall be made.
pub(crate) fn vrf(findings: &mut Findings, path: &str, name: &str) {
    not_taken(findings, path, name);
    if let Some(prefix) = PREFIXES.iter().find(|prefix| name.starts_with(**prefix)) {
        findings.invalid(
            path,
            name,
            format!("names that start with {prefix:?} belong to interfaces that are generated"),
        );
    }
    if name == MANAGEMENT {
        findings.warn(format!(
            "{path}: {name:?} is usually the name of the nodes' management VRF, which is not managed here"
        ));
    }
}

/// The name of a loopback interface that shall be made.
pub(crate) fn loopback(findings: &mut Findings, path: &str, name: &str) {
    not_taken(findings, path, name);
    let prefix = PREFIXES.iter().filter(|prefix| **prefix != "lo.").find(|prefix| name.starts_with(**prefix));
    if let Some(prefix) = prefix {
        findings.invalid(
            path,
            name,
            format!("names that start with {prefix:?} belong to interfaces that are generated"),
        );
    }
}

/// The name of the bridge of a segment.
pub(crate) fn bridge(findings: &mut Findings, path: &str, name: &str) {
    if name.strip_prefix("l2.").is_none_or(str::is_empty) {
        findings.invalid(path, name, "must begin with \"l2.\", as the bridges of all segments do");
    }
}

/// A name that none of the nodes' own interfaces has.
pub(crate) fn not_taken(findings: &mut Findings, path: &str, name: &str) {
    if TAKEN.contains(&name) {
        findings.invalid(path, name, "is the name of an interface that every node has already");
    }
    if matches!(name, "." | "..") {
        findings.invalid(path, name, "cannot be the name of an interface");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReviewResult;

    #[test]
    fn names_of_the_nodes_own_interfaces_are_refused() {
        let errors = |check: fn(&mut Findings, &str, &str), name: &str| {
            let mut findings = Findings::default();
            check(&mut findings, "n", name);
            ReviewResult::from(findings).errors.len()
        };
        for (name, as_vrf, as_loopback) in
            [("m2m_enc", 0, 0), ("cluster", 1, 1), ("s-m2m", 1, 1), ("lo.mir", 1, 0), ("vx.100", 1, 1), ("mgmt", 0, 0)]
        {
            assert_eq!((errors(vrf, name), errors(loopback, name)), (as_vrf, as_loopback), "{name}");
        }
    }

    #[test]
    fn the_names_of_folders_are_refused() {
        for name in [".", "..", "..."] {
            let mut findings = Findings::default();
            not_taken(&mut findings, "spec.name", name);
            let found: Vec<String> = ReviewResult::from(findings).errors.iter().map(ToString::to_string).collect();
            let refused = format!("spec.name: Invalid value: {name:?}: cannot be the name of an interface");
            assert_eq!(found, if name == "..." { Vec::new() } else { vec![refused] });
        }
    }
}
