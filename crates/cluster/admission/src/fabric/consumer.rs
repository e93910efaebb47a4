//! The rules that all consumers of Destinations share.

use std::{collections::BTreeSet, sync::Arc};

use netloom_api::fabric::{routes::ExtraRoutes, selector::LabelSelector, text::Community};
use serde_json::Value;

use super::{kind, raw, related, scope, selectors, value};
use crate::{Findings, Review};

/// The fields that all consumers have.
pub(crate) struct Consumer<'a> {
    /// Which Destinations it picks.
    pub(crate) destinations: Option<&'a LabelSelector>,
    /// On which nodes.
    pub(crate) nodes: Option<&'a LabelSelector>,
    /// Its communities.
    pub(crate) communities: &'a [Community],
    /// Further prefixes.
    pub(crate) routes: &'a [ExtraRoutes],
    /// Whether it must pick something.
    pub(crate) must_match: bool,
}

impl Consumer<'_> {
    /// Checks the fields and returns the Destinations that are picked now.
    pub(crate) fn check(&self, review: &Review<'_>, findings: &mut Findings) -> Vec<Arc<Value>> {
        selectors::check(findings, "spec.nodeSelector", self.nodes);
        selectors::check(findings, "spec.destinations", self.destinations);
        value::communities(findings, "spec.communities", self.communities);
        for (index, route) in self.routes.iter().enumerate() {
            value::prefixes(findings, &format!("spec.routes[{index}].prefixes"), &route.prefixes);
        }
        let Some(selector) = self.destinations else {
            self.warn_unused(findings);
            return Vec::new();
        };
        let picked = related::destinations(review.view, selector);
        if picked.is_empty() {
            self.none_picked(review, findings, selector);
        }
        self.check_scope(review, findings, &picked);
        picked
    }

    fn warn_unused(&self, findings: &mut Findings) {
        if !self.communities.is_empty() {
            findings.warn("spec.communities has no effect without spec.destinations");
        }
        if !self.routes.is_empty() {
            findings.warn("spec.routes has no effect without spec.destinations");
        }
    }

    fn none_picked(&self, review: &Review<'_>, findings: &mut Findings, selector: &LabelSelector) {
        if self.must_match && !scope::keeps(review, &["destinations"]) {
            let shown = serde_json::to_value(selector).unwrap_or_default();
            findings.invalid("spec.destinations", shown, "must match at least one Destination");
        } else {
            findings.warn("spec.destinations matches no Destination yet");
        }
    }

    /// Manually written routes of a VRF on the same nodes must go first.
    fn check_scope(&self, review: &Review<'_>, findings: &mut Findings, picked: &[Arc<Value>]) {
        if scope::keeps(review, &["destinations", "nodeSelector"]) {
            return;
        }
        for vrf in vrf_names(review, picked) {
            if let Some(other) = scope::manual_in_vrf(review.view, &vrf, self.nodes) {
                findings.forbidden("spec.destinations", manual_object(&vrf, &other));
            }
        }
    }
}

/// Why an intent and a manually written object cannot both route in a VRF.
pub(crate) fn manual_object(vrf: &str, other: &Value) -> String {
    format!("VRF {vrf:?} is configured manually in {} on some of the same nodes; remove that first", raw::shown(other))
}

/// The VRFs that Destinations lead to, by their names on the nodes.
pub(crate) fn vrf_names(review: &Review<'_>, destinations: &[Arc<Value>]) -> BTreeSet<String> {
    let references: BTreeSet<&str> =
        destinations.iter().filter_map(|object| raw::text(object, &["spec", "vrfRef"])).collect();
    let name = |reference: &str| {
        let object = review.view.get(kind::VRF, None, reference)?;
        raw::text(&object, &["spec", "vrf"]).map(str::to_owned)
    };
    references.into_iter().filter_map(name).collect()
}
