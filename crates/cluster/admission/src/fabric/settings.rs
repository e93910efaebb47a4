//! The operator configuration: what its `ConfigMap` must keep, and what rules read of it.

use netloom_api::{
    fabric::operator::{KEY, OperatorConfig},
    foreign::{CONFIG_MAP, only_one},
};

use crate::{Findings, Operation, Review, View};

/// Refuses a configuration that cannot be read: it would not come into effect.
pub(crate) fn admit(review: &Review<'_>, findings: &mut Findings) {
    let Some(object) = review.object.filter(|_| matches!(review.operation, Operation::Create | Operation::Update))
    else {
        return;
    };
    if let Err(why) = OperatorConfig::of_config_map(object) {
        let path = format!("data[{KEY:?}]");
        let detail = why.strip_prefix(&format!("{path}: ")).unwrap_or(&why).to_owned();
        findings.forbidden(path, detail);
    }
}

/// The configuration in force. One that cannot be read counts as none: what a rule would refuse because of a usual value
/// is then only warned of by whoever compiles.
pub(super) fn of(view: &dyn View) -> OperatorConfig {
    written(view).unwrap_or_default()
}

/// The same; none where nobody has set anything.
pub(super) fn written(view: &dyn View) -> Option<OperatorConfig> {
    let found = only_one(CONFIG_MAP).and_then(|(namespace, name)| view.get(CONFIG_MAP, Some(namespace), name));
    found.and_then(|object| OperatorConfig::of_config_map(&object).ok())
}

#[cfg(test)]
mod tests {
    use netloom_api::fabric::operator::OperatorConfig;
    use serde_json::json;

    use crate::{
        Objects, Operation, Review, User,
        fabric::table::{World, object},
        validate,
    };

    fn judged(text: &str) -> Vec<String> {
        let (object, view, user) =
            (OperatorConfig::config_map(text), Objects::default(), User::new("a", &["system:masters"]));
        let verdict = validate(&Review {
            operation: Operation::Create,
            kind: netloom_api::foreign::CONFIG_MAP,
            namespace: object["metadata"]["namespace"].as_str(),
            name: object["metadata"]["name"].as_str().unwrap(),
            subresource: None,
            object: Some(&object),
            old: None,
            user: &user,
            dry_run: false,
            view: &view,
        });
        verdict.errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_place() {
        assert_eq!(judged("flavour: legacy-frr"), [""; 0]);
        let said = judged("vniRanges: {}");
        assert!(said[0].starts_with("data[\"config.yaml\"]: Forbidden: unknown field `vniRanges`"), "{said:?}");
    }

    #[test]
    fn a_vrf_without_identifier_is_warned_of_unless_the_configuration_has_one() {
        let vrf = object("VRF", "red", json!({"vrf": "red"}));
        World::new([OperatorConfig::config_map("vnimap: {blue: 8}")]).create(&vrf).warned(&[
            "spec.vni: neither this object nor vrfConfig.red of the operator configuration says which VNI this VRF has; it has \
             no effect until one of them does",
        ]);
        World::new([OperatorConfig::config_map("vnimap: {red: 7}")]).create(&vrf).warned(&[]);
    }

    #[test]
    fn an_identifier_means_one_vrf_wherever_it_is_written() {
        let world = World::new([OperatorConfig::config_map("vrfConfig: {red: {vni: 7, rt: '64500:7'}}")]);
        let vrf = |name: &str, vni: u32| {
            object("VRF", name, json!({"vrf": name, "vni": vni, "routeTarget": format!("64500:{vni}")}))
        };
        world.create(vrf("red", 7)).taken();
        world.create(vrf("blue", 7)).refused(&[
            "spec.vni: Duplicate value: 7: the operator configuration (ConfigMap netloom-system/netloom-config) uses it for VRF \"red\"",
        ]);
    }
}
