//! One row for each kind.

use std::sync::{LazyLock, OnceLock};

use super::{
    Builtin, FieldLabels, Habits, NameRule, Subresource, access, columns, config, definition, endpoints, event, lease,
    namespace, node, pod, pod_row, service,
};

const ALL_VERBS: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const ONE_BY_ONE: &[&str] = &["create", "delete", "get", "list", "patch", "update", "watch"];
const STATUS_VERBS: &[&str] = &["get", "patch", "update"];
const RBAC: &str = "rbac.authorization.k8s.io";

const PLAIN: Habits =
    Habits { update_without_revision: true, update_creates: false, generation: false, delete_answers_object: false };
const CREATES: Habits = Habits { update_creates: true, ..PLAIN };

const EVENT_LABELS: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];
const NEW_EVENT_LABELS: &[&str] = &[
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "reason",
    "reportingController",
    "type",
];
const POD_LABELS: &[&str] = &[
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
];

/// The names of a kind, from the group to the singular.
type Names = [&'static str; 5];

/// Every kind, ordered by group and plural.
pub fn all() -> &'static [Builtin] {
    static ROWS: LazyLock<Vec<Builtin>> = LazyLock::new(|| {
        let mut rows = core();
        rows.extend(access_rules());
        rows.extend(others());
        rows.sort_by_key(|row| (row.group, row.plural));
        rows
    });
    &ROWS
}

fn core() -> Vec<Builtin> {
    let mut rows = objects_of_the_cluster();
    rows.extend(plain_objects());
    rows
}

fn objects_of_the_cluster() -> Vec<Builtin> {
    let answers = Habits { delete_answers_object: true, ..PLAIN };
    vec![
        Builtin {
            namespaced: false,
            short_names: &["ns"],
            verbs: ONE_BY_ONE,
            names: NameRule::Label,
            subresources: const {
                &[
                    Subresource { name: "finalize", group: "", version: "v1", kind: "Namespace", verbs: &["update"] },
                    status("", "Namespace"),
                ]
            },
            habits: answers,
            labels: FieldLabels::of(&["status.phase"]),
            columns: columns::NAMESPACE,
            cells: namespace::cells,
            default: namespace::default,
            prepare: namespace::prepare,
            validate: namespace::validate,
            ..row(["", "v1", "Namespace", "namespaces", "namespace"])
        },
        Builtin {
            namespaced: false,
            short_names: &["no"],
            subresources: const { &[status("", "Node")] },
            labels: FieldLabels::of(&["spec.unschedulable"]),
            columns: columns::NODE,
            cells: node::cells,
            default: node::default,
            prepare: node::prepare,
            validate: node::validate,
            ..row(["", "v1", "Node", "nodes", "node"])
        },
        Builtin {
            short_names: &["po"],
            categories: &["all"],
            subresources: const { &[status("", "Pod")] },
            habits: Habits { generation: true, ..answers },
            labels: FieldLabels::of(POD_LABELS),
            columns: columns::POD,
            cells: pod_row::cells,
            default: pod::default,
            prepare: pod::prepare,
            validate: pod::validate,
            ..row(["", "v1", "Pod", "pods", "pod"])
        },
        Builtin {
            short_names: &["svc"],
            categories: &["all"],
            names: NameRule::Label,
            subresources: const { &[status("", "Service")] },
            habits: Habits { delete_answers_object: true, ..CREATES },
            labels: FieldLabels::of(&["spec.clusterIP", "spec.type"]),
            columns: columns::SERVICE,
            cells: service::cells,
            default: service::default,
            prepare: service::prepare,
            validate: service::validate,
            ..row(["", "v1", "Service", "services", "service"])
        },
    ]
}

fn plain_objects() -> Vec<Builtin> {
    let token = &[Subresource {
        name: "token",
        group: "authentication.k8s.io",
        version: "v1",
        kind: "TokenRequest",
        verbs: &["create"],
    }];
    vec![
        Builtin {
            short_names: &["ep"],
            habits: CREATES,
            columns: columns::ENDPOINTS,
            cells: endpoints::endpoints_cells,
            default: endpoints::default_endpoints,
            validate: endpoints::validate_endpoints,
            ..row(["", "v1", "Endpoints", "endpoints", "endpoints"])
        },
        Builtin {
            short_names: &["cm"],
            columns: columns::CONFIG_MAP,
            cells: config::config_map_cells,
            validate: config::validate_config_map,
            ..row(["", "v1", "ConfigMap", "configmaps", "configmap"])
        },
        Builtin {
            labels: FieldLabels::of(&["type"]),
            columns: columns::SECRET,
            cells: config::secret_cells,
            default: config::default_secret,
            validate: config::validate_secret,
            ..row(["", "v1", "Secret", "secrets", "secret"])
        },
        Builtin {
            short_names: &["sa"],
            subresources: token,
            habits: Habits { delete_answers_object: true, ..PLAIN },
            columns: columns::NAME_AND_AGE,
            cells: columns::name_and_age,
            prepare: access::prepare_account,
            ..row(["", "v1", "ServiceAccount", "serviceaccounts", "serviceaccount"])
        },
        Builtin {
            short_names: &["ev"],
            habits: CREATES,
            labels: FieldLabels::of(EVENT_LABELS),
            columns: columns::EVENT,
            cells: event::cells,
            default: event::default_core,
            validate: event::validate_core,
            ..row(["", "v1", "Event", "events", "event"])
        },
    ]
}

fn access_rules() -> Vec<Builtin> {
    let base = |row: Builtin| Builtin { names: NameRule::PathSegment, habits: CREATES, ..row };
    vec![
        Builtin {
            default: access::default_role,
            validate: access::validate_role,
            ..base(row([RBAC, "v1", "Role", "roles", "role"]))
        },
        Builtin {
            namespaced: false,
            default: access::default_role,
            validate: access::validate_cluster_role,
            ..base(row([RBAC, "v1", "ClusterRole", "clusterroles", "clusterrole"]))
        },
        Builtin {
            columns: columns::ROLE_BINDING,
            cells: access::binding_cells,
            default: access::default_binding,
            validate: access::validate_binding,
            ..base(row([RBAC, "v1", "RoleBinding", "rolebindings", "rolebinding"]))
        },
        Builtin {
            namespaced: false,
            columns: columns::CLUSTER_ROLE_BINDING,
            cells: access::binding_cells,
            default: access::default_binding,
            validate: access::validate_cluster_binding,
            ..base(row([RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", "clusterrolebinding"]))
        },
    ]
}

fn others() -> Vec<Builtin> {
    const EXTENSIONS: &str = "apiextensions.k8s.io";
    let strict = Habits { update_without_revision: false, ..PLAIN };
    vec![
        Builtin {
            habits: Habits { generation: true, ..PLAIN },
            columns: columns::ENDPOINT_SLICE,
            cells: endpoints::slice_cells,
            default: endpoints::default_slice,
            validate: endpoints::validate_slice,
            ..row(["discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", "endpointslice"])
        },
        Builtin {
            habits: Habits { update_creates: true, ..strict },
            columns: columns::LEASE,
            cells: lease::cells,
            default: lease::default,
            validate: lease::validate,
            ..row(["coordination.k8s.io", "v1", "Lease", "leases", "lease"])
        },
        Builtin {
            short_names: &["ev"],
            habits: CREATES,
            labels: FieldLabels::of(NEW_EVENT_LABELS),
            columns: columns::EVENT,
            cells: event::cells,
            validate: event::validate_new,
            ..row(["events.k8s.io", "v1", "Event", "events", "event"])
        },
        Builtin {
            namespaced: false,
            short_names: &["crd", "crds"],
            categories: &["api-extensions"],
            subresources: const { &[status("apiextensions.k8s.io", "CustomResourceDefinition")] },
            habits: Habits { generation: true, delete_answers_object: true, ..strict },
            default: definition::default,
            ..row([
                EXTENSIONS,
                "v1",
                "CustomResourceDefinition",
                "customresourcedefinitions",
                "customresourcedefinition",
            ])
        },
    ]
}

/// A kind about which nothing is particular.
fn row([group, version, kind, plural, singular]: Names) -> Builtin {
    Builtin {
        group,
        version,
        kind,
        plural,
        singular,
        short_names: &[],
        categories: &[],
        namespaced: true,
        verbs: ALL_VERBS,
        subresources: &[],
        names: NameRule::Subdomain,
        habits: PLAIN,
        labels: FieldLabels::METADATA,
        columns: columns::PLAIN,
        cells: columns::plain_cells,
        default: |_| (),
        prepare: |_, _| (),
        validate: |_, _| Vec::new(),
        shape: OnceLock::new(),
        definitions: OnceLock::new(),
    }
}

const fn status(group: &'static str, kind: &'static str) -> Subresource {
    Subresource { name: "status", group, version: "v1", kind, verbs: STATUS_VERBS }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_single_within_a_version() {
        let mut seen = BTreeSet::new();
        for row in all() {
            assert!(seen.insert((row.group, row.version, row.plural)), "{}", row.plural);
            assert_eq!(row.singular, row.kind.to_lowercase());
        }
    }

    #[test]
    fn every_function_takes_an_empty_object() {
        for row in all() {
            let mut object = serde_json::json!({});
            (row.default)(&mut object);
            (row.prepare)(&mut object, None);
            (row.validate)(&object, None);
            let mut nothing = serde_json::Value::Null;
            (row.default)(&mut nothing);
            (row.validate)(&nothing, Some(&nothing));
        }
    }
}
