//! What a `BGPNeighbor` must keep.

use netloom_api::fabric::BGPNeighbor;

use super::{
    index, kind, raw,
    related::{self, Reference},
    value,
};
use crate::{Admitted, Findings, Index, Write};

impl Admitted for BGPNeighbor {
    const INDEXES: &'static [Index] = index::OF_BGP_NEIGHBOR;

    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let Some(new) = related::to_judge(write) else { return };
        let spec = &new.spec;
        value::timers(findings, "spec", spec.hold_time.as_ref(), spec.keepalive_time.as_ref());
        value::workload_as(findings, "spec.workloadAS", &spec.workload_as);
        let before = write.old.as_ref().map_or(&[][..], |old| &old.spec.allowed_inbounds);
        for (index, inbound) in spec.allowed_inbounds.iter().enumerate() {
            let path = format!("spec.allowedInbounds[{index}].name");
            let known = before.iter().any(|old| old.name == inbound.name);
            let reference = Reference {
                kind: kind::INBOUND,
                path: path.as_str().into(),
                name: &inbound.name,
                before: known.then_some(&*inbound.name),
            };
            let found = reference.resolve(write.review, findings);
            if found.is_some_and(|object| !raw::flag(&object, &["spec", "disableLoadBalancer"])) {
                findings.invalid(
                    path,
                    &*inbound.name,
                    "this Inbound must have disableLoadBalancer set: MetalLB announces its addresses",
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::fabric::table::{World, merged, object};

    fn neighbor(more: Value) -> Value {
        object("BGPNeighbor", "n", merged(json!({"allowedInbounds": [{"name": "bgp-transfer"}]}), more))
    }

    fn inbound(disabled: bool) -> Value {
        object("Inbound", "bgp-transfer", json!({"networkRef": "n", "count": 1, "disableLoadBalancer": disabled}))
    }

    #[test]
    fn inbounds_exist_and_are_left_to_workloads() {
        World::new([inbound(true)]).create(neighbor(json!({}))).taken();
        World::new([])
            .create(neighbor(json!({})))
            .refused(&[r#"spec.allowedInbounds[0].name: Not found: "bgp-transfer": there is no Inbound of this name"#]);
        World::new([inbound(false)]).create(neighbor(json!({}))).refused(&[
            r#"spec.allowedInbounds[0].name: Invalid value: "bgp-transfer": this Inbound must have disableLoadBalancer set: MetalLB announces its addresses"#,
        ]);
        World::new([neighbor(json!({}))]).update(neighbor(json!({"maximumPrefixes": 3}))).taken();
    }

    #[test]
    fn times_and_systems_are_possible() {
        let world = World::new([inbound(true)]);
        world.create(neighbor(json!({"holdTime": "90s", "keepaliveTime": "30s", "workloadAS": "64512"}))).taken();
        world
            .create(neighbor(json!({"holdTime": "1s"})))
            .refused(&[r#"spec.holdTime: Invalid value: "1s": must be 0s, which means for ever, or at least 3s"#]);
        world.create(neighbor(json!({"workloadAS": "0"}))).refused(&[
            "spec.workloadAS: Invalid value: 0: is reserved and cannot be the autonomous system of a router",
        ]);
    }
}
