//! How the lists and maps of the built-in types merge.
//!
//! The published types do not carry this, so it is a table. A list that is not in it is replaced as
//! a whole; a map that is not in it merges key by key.

/// What is known about one field, or about a type as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    /// Items are found again by these keys; the first one is that of strategic merge patches.
    Map(&'static [&'static str]),
    /// As `Map`, and a patch says which keys of an item stay.
    MapRetainingKeys(&'static [&'static str]),
    /// As `Map`, but strategic merge patches replace the list.
    MapForApplyOnly(&'static [&'static str]),
    /// Replaced as a whole by apply, merged by this key in strategic merge patches.
    MapForPatchOnly(&'static str),
    /// A set of scalars, which strategic merge patches replace.
    Set,
    /// A set of scalars, which strategic merge patches add to.
    MergedSet,
    /// An object that is replaced as a whole.
    Atomic,
    /// A scalar with a value of its own when absent.
    Default(&'static str),
}

use Merge::{Atomic, Default, Map, MapForApplyOnly, MapForPatchOnly, MapRetainingKeys, MergedSet, Set};

const CORE: &str = "io.k8s.api.core.v1.";
const DISCOVERY: &str = "io.k8s.api.discovery.v1.";
const RBAC: &str = "io.k8s.api.rbac.v1.";
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";
const EXTENSIONS: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.";

/// A group of types that share the start of their names: type, field (empty for the type), merge.
type Rows = &'static [(&'static str, &'static str, Merge)];

const TABLE: &[(&str, Rows)] = &[
    (META, META_ROWS),
    (CORE, POD_ROWS),
    (CORE, CORE_ROWS),
    (CORE, ATOMIC_ROWS),
    (DISCOVERY, DISCOVERY_ROWS),
    (RBAC, RBAC_ROWS),
    (EXTENSIONS, EXTENSION_ROWS),
];

const META_ROWS: Rows = &[
    ("LabelSelector", "", Atomic),
    ("ObjectMeta", "finalizers", MergedSet),
    ("ObjectMeta", "ownerReferences", Map(&["uid"])),
    ("OwnerReference", "", Atomic),
];

const POD_ROWS: Rows = &[
    ("Container", "env", Map(&["name"])),
    ("Container", "ports", Map(&["containerPort", "protocol"])),
    ("Container", "volumeDevices", Map(&["devicePath"])),
    ("Container", "volumeMounts", Map(&["mountPath"])),
    ("ContainerPort", "protocol", Default("TCP")),
    ("ContainerRestartRuleOnExitCodes", "values", Set),
    ("ContainerStatus", "allocatedResourcesStatus", Map(&["name"])),
    ("ContainerStatus", "volumeMounts", Map(&["mountPath"])),
    ("EphemeralContainer", "env", Map(&["name"])),
    ("EphemeralContainer", "ports", Map(&["containerPort", "protocol"])),
    ("EphemeralContainer", "volumeDevices", Map(&["devicePath"])),
    ("EphemeralContainer", "volumeMounts", Map(&["mountPath"])),
    ("PodSpec", "containers", Map(&["name"])),
    ("PodSpec", "ephemeralContainers", Map(&["name"])),
    ("PodSpec", "hostAliases", Map(&["ip"])),
    ("PodSpec", "imagePullSecrets", Map(&["name"])),
    ("PodSpec", "initContainers", Map(&["name"])),
    ("PodSpec", "nodeSelector", Atomic),
    ("PodSpec", "resourceClaims", MapRetainingKeys(&["name"])),
    ("PodSpec", "schedulingGates", Map(&["name"])),
    ("PodSpec", "topologySpreadConstraints", Map(&["topologyKey", "whenUnsatisfiable"])),
    ("PodSpec", "volumes", MapRetainingKeys(&["name"])),
    ("PodStatus", "conditions", Map(&["type"])),
    ("PodStatus", "hostIPs", MapForPatchOnly("ip")),
    ("PodStatus", "podIPs", Map(&["ip"])),
    ("PodStatus", "resourceClaimStatuses", MapRetainingKeys(&["name"])),
    ("ResourceRequirements", "claims", MapForApplyOnly(&["name"])),
    ("ResourceStatus", "resources", MapForApplyOnly(&["resourceID"])),
];

const CORE_ROWS: Rows = &[
    ("NamespaceStatus", "conditions", Map(&["type"])),
    ("NodeSpec", "podCIDRs", MergedSet),
    ("NodeStatus", "addresses", Map(&["type"])),
    ("NodeStatus", "conditions", Map(&["type"])),
    ("ServiceAccount", "secrets", Map(&["name"])),
    ("ServicePort", "protocol", Default("TCP")),
    ("ServiceSpec", "ports", Map(&["port", "protocol"])),
    ("ServiceSpec", "selector", Atomic),
    ("ServiceStatus", "conditions", Map(&["type"])),
];

const ATOMIC_ROWS: Rows = &[
    ("ConfigMapKeySelector", "", Atomic),
    ("EndpointAddress", "", Atomic),
    ("EndpointPort", "", Atomic),
    ("FileKeySelector", "", Atomic),
    ("LocalObjectReference", "", Atomic),
    ("NodeSelector", "", Atomic),
    ("NodeSelectorTerm", "", Atomic),
    ("ObjectFieldSelector", "", Atomic),
    ("ObjectReference", "", Atomic),
    ("ResourceFieldSelector", "", Atomic),
    ("SecretKeySelector", "", Atomic),
    ("TypedLocalObjectReference", "", Atomic),
];

const DISCOVERY_ROWS: Rows = &[("Endpoint", "addresses", Set), ("EndpointPort", "", Atomic)];

const RBAC_ROWS: Rows = &[("RoleRef", "", Atomic), ("Subject", "", Atomic)];

const EXTENSION_ROWS: Rows = &[
    ("CustomResourceDefinitionStatus", "conditions", MapForApplyOnly(&["type"])),
    ("JSONSchemaProps", "x-kubernetes-validations", Map(&["rule"])),
];

/// Every row: the full name of the type, the field (empty for the type as a whole), how it merges.
pub fn rows() -> impl Iterator<Item = (String, &'static str, Merge)> {
    TABLE.iter().flat_map(|(prefix, rows)| {
        rows.iter().map(move |&(name, field, merge)| (format!("{prefix}{name}"), field, merge))
    })
}
