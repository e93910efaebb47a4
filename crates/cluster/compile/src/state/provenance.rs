//! Which policy asked for which value of a node's desired state.
//!
//! The record stands in an annotation beside the desired state. What it does not name was written manually
//! and is never touched; what it names goes when its policies go. Values that somebody wrote manually
//! are not in it even when a policy wants the same.
//!
//! A node may have thousands of links that are wanted alike, so each set of paths is written once.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::key::ObjectKey;

/// What each policy has asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provenance {
    /// Shares by policy.
    pub shares: BTreeMap<ObjectKey, Share>,
}

/// What one policy has asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Share {
    /// The paths of values by link, such as `ipv4/address`.
    pub interfaces: BTreeMap<String, BTreeSet<String>>,
    /// Routes, by a digest of each.
    pub routes: BTreeSet<String>,
    /// Policy rules, by a digest of each.
    pub rules: BTreeSet<String>,
    /// Whether the resolver is its desired state.
    pub dns: bool,
    /// Which host names are its desired state: `running` or `config`.
    pub hostname: BTreeSet<String>,
}

/// The record as it is written.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    /// Sets of paths that shares refer to by number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    paths: Vec<BTreeSet<String>>,
    policies: BTreeMap<String, RecordedShare>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedShare {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    interfaces: BTreeMap<String, usize>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    routes: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    rules: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dns: bool,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    hostname: BTreeSet<String>,
}

impl Provenance {
    /// Whether no policy has asked for anything.
    pub fn is_empty(&self) -> bool {
        self.shares.is_empty()
    }

    pub(crate) fn share(&mut self, policy: &ObjectKey) -> &mut Share {
        self.shares.entry(policy.clone()).or_default()
    }

    /// The text of the annotation; none when no policy has asked for anything.
    pub fn encode(&self) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let all: BTreeSet<&BTreeSet<String>> =
            self.shares.values().flat_map(|share| share.interfaces.values()).collect();
        let numbers: BTreeMap<&BTreeSet<String>, usize> =
            all.iter().enumerate().map(|(number, paths)| (*paths, number)).collect();
        let recorded = |share: &Share| RecordedShare {
            interfaces: share.interfaces.iter().map(|(name, paths)| (name.clone(), numbers[paths])).collect(),
            routes: share.routes.clone(),
            rules: share.rules.clone(),
            dns: share.dns,
            hostname: share.hostname.clone(),
        };
        let record = Record {
            paths: all.into_iter().cloned().collect(),
            policies: self.shares.iter().map(|(key, share)| (key.to_string(), recorded(share))).collect(),
        };
        serde_json::to_string(&record).ok()
    }

    /// Reads the text of the annotation.
    pub fn decode(text: &str) -> Result<Self, String> {
        let record: Record = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let mut provenance = Self::default();
        for (policy, recorded) in record.policies {
            let (namespace, name) = policy.split_once('/').unwrap_or(("", &policy));
            let share = provenance.share(&ObjectKey::new(namespace, name));
            for (link, number) in recorded.interfaces {
                let paths = record.paths.get(number).ok_or_else(|| format!("there is no set of paths {number}"))?;
                share.interfaces.insert(link, paths.clone());
            }
            share.routes = recorded.routes;
            share.rules = recorded.rules;
            share.dns = recorded.dns;
            share.hostname = recorded.hostname;
        }
        Ok(provenance)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names() -> impl Strategy<Value = BTreeSet<String>> {
        prop::collection::btree_set("[a-z/]{1,6}", 0..3)
    }

    prop_compose! {
        fn shares()(
            interfaces in prop::collection::btree_map("[a-z0-9.]{1,6}", names(), 0..4),
            routes in names(), rules in names(), dns in any::<bool>(), hostname in names(),
        ) -> Share {
            Share { interfaces, routes, rules, dns, hostname }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn what_is_written_reads_back(shares in prop::collection::btree_map(("[a-z]{1,4}", "[a-z.-]{1,4}"), shares(), 1..4)) {
            let shares = shares.into_iter().map(|((namespace, name), share)| (ObjectKey::new(namespace, name), share));
            let provenance = Provenance { shares: shares.collect() };
            let text = provenance.encode().unwrap();
            prop_assert_eq!(Provenance::decode(&text).unwrap(), provenance);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,80}") {
            let _ = Provenance::decode(&text);
        }
    }

    #[test]
    fn many_links_wanted_alike_stay_small() {
        let mut provenance = Provenance::default();
        let paths: BTreeSet<String> = ["state", "type", "vlan/base-iface", "vlan/id"].map(str::to_owned).into();
        for id in 1..4095 {
            provenance.share(&ObjectKey::new("default", "all")).interfaces.insert(format!("eth0.{id}"), paths.clone());
        }
        let text = provenance.encode().unwrap();
        assert!(text.len() < 64 * 1024, "{} bytes; a server takes 256 KiB of annotations", text.len());
    }
}
