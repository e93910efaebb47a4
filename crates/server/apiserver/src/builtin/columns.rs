//! Columns of tables: what each is called and where the words about it come from.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{
    Builtin,
    json::{at, text},
    shape,
};

/// Where the description of a column comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Description {
    /// That of a field: the last part of the type's name, and the field.
    Field(&'static str, &'static str),
    /// Words of its own.
    Words(&'static str),
}

use Description::{Field, Words};

/// One column.
#[derive(Debug, Clone, Copy)]
pub struct PrinterColumn {
    /// The heading.
    pub name: &'static str,
    /// The type of the cells.
    pub kind: &'static str,
    /// How the type is to be read; `name` marks the object's name.
    pub format: &'static str,
    /// 0 for columns that are always shown, 1 for those of wide output.
    pub priority: i32,
    description: Description,
}

impl PrinterColumn {
    /// A column that is always shown.
    const fn shown(name: &'static str, description: Description) -> Self {
        Self { name, kind: "string", format: "", priority: 0, description }
    }

    /// A column of wide output.
    const fn wide(name: &'static str, description: Description) -> Self {
        Self { name, kind: "string", format: "", priority: 1, description }
    }
}

const NAME: PrinterColumn = PrinterColumn {
    name: "Name",
    kind: "string",
    format: "name",
    priority: 0,
    description: Field("ObjectMeta", "name"),
};
const AGE: PrinterColumn = PrinterColumn::shown("Age", Field("ObjectMeta", "creationTimestamp"));

/// Kinds without columns of their own.
pub(super) const PLAIN: &[PrinterColumn] = &[
    NAME,
    PrinterColumn {
        name: "Created At",
        kind: "date",
        format: "",
        priority: 0,
        description: Field("ObjectMeta", "creationTimestamp"),
    },
];
pub(super) const NAME_AND_AGE: &[PrinterColumn] = &[NAME, AGE];
pub(super) const NAMESPACE: &[PrinterColumn] =
    &[NAME, PrinterColumn::shown("Status", Words("The status of the namespace")), AGE];
pub(super) const NODE: &[PrinterColumn] = &[
    NAME,
    PrinterColumn::shown("Status", Words("The status of the node")),
    PrinterColumn::shown("Roles", Words("The roles of the node")),
    AGE,
    PrinterColumn::shown("Version", Field("NodeSystemInfo", "kubeletVersion")),
    PrinterColumn::wide("Internal-IP", Field("NodeStatus", "addresses")),
    PrinterColumn::wide("External-IP", Field("NodeStatus", "addresses")),
    PrinterColumn::wide("OS-Image", Field("NodeSystemInfo", "osImage")),
    PrinterColumn::wide("Kernel-Version", Field("NodeSystemInfo", "kernelVersion")),
    PrinterColumn::wide("Container-Runtime", Field("NodeSystemInfo", "containerRuntimeVersion")),
];
pub(super) const POD: &[PrinterColumn] = &[
    NAME,
    PrinterColumn::shown("Ready", Words("The aggregate readiness state of this pod for accepting traffic.")),
    PrinterColumn::shown("Status", Words("The aggregate status of the containers in this pod.")),
    PrinterColumn::shown(
        "Restarts",
        Words(
            "The number of times the containers in this pod have been restarted and when the last container in this \
             pod has restarted.",
        ),
    ),
    AGE,
    PrinterColumn::wide("IP", Field("PodStatus", "podIP")),
    PrinterColumn::wide("Node", Field("PodSpec", "nodeName")),
    PrinterColumn::wide("Nominated Node", Field("PodStatus", "nominatedNodeName")),
    PrinterColumn::wide("Readiness Gates", Field("PodSpec", "readinessGates")),
];
pub(super) const SERVICE: &[PrinterColumn] = &[
    NAME,
    PrinterColumn::shown("Type", Field("ServiceSpec", "type")),
    PrinterColumn::shown("Cluster-IP", Field("ServiceSpec", "clusterIP")),
    PrinterColumn::shown("External-IP", Field("ServiceSpec", "externalIPs")),
    PrinterColumn::shown("Port(s)", Field("ServiceSpec", "ports")),
    AGE,
    PrinterColumn::wide("Selector", Field("ServiceSpec", "selector")),
];
pub(super) const ENDPOINTS: &[PrinterColumn] =
    &[NAME, PrinterColumn::shown("Endpoints", Field("Endpoints", "subsets")), AGE];
pub(super) const ENDPOINT_SLICE: &[PrinterColumn] = &[
    NAME,
    PrinterColumn::shown("AddressType", Field("EndpointSlice", "addressType")),
    PrinterColumn::shown("Ports", Field("EndpointSlice", "ports")),
    PrinterColumn::shown("Endpoints", Field("EndpointSlice", "endpoints")),
    AGE,
];
pub(super) const CONFIG_MAP: &[PrinterColumn] = &[NAME, PrinterColumn::shown("Data", Field("ConfigMap", "data")), AGE];
pub(super) const SECRET: &[PrinterColumn] = &[
    NAME,
    PrinterColumn::shown("Type", Field("Secret", "type")),
    PrinterColumn::shown("Data", Field("Secret", "data")),
    AGE,
];
pub(super) const LEASE: &[PrinterColumn] =
    &[NAME, PrinterColumn::shown("Holder", Field("LeaseSpec", "holderIdentity")), AGE];
pub(super) const EVENT: &[PrinterColumn] = &[
    PrinterColumn::shown("Last Seen", Field("Event", "lastTimestamp")),
    PrinterColumn::shown("Type", Field("Event", "type")),
    PrinterColumn::shown("Reason", Field("Event", "reason")),
    PrinterColumn::shown("Object", Field("Event", "involvedObject")),
    PrinterColumn::wide("Subobject", Field("ObjectReference", "fieldPath")),
    PrinterColumn::wide("Source", Field("Event", "source")),
    PrinterColumn::shown("Message", Field("Event", "message")),
    PrinterColumn::wide("First Seen", Field("Event", "firstTimestamp")),
    PrinterColumn::wide("Count", Field("Event", "count")),
    PrinterColumn {
        name: "Name",
        kind: "string",
        format: "name",
        priority: 1,
        description: Field("ObjectMeta", "name"),
    },
];
pub(super) const ROLE_BINDING: &[PrinterColumn] = &[
    NAME,
    PrinterColumn::shown("Role", Field("RoleBinding", "roleRef")),
    AGE,
    PrinterColumn::wide("Users", Words("Users in the roleBinding")),
    PrinterColumn::wide("Groups", Words("Groups in the roleBinding")),
    PrinterColumn::wide("ServiceAccounts", Words("ServiceAccounts in the roleBinding")),
];
pub(super) const CLUSTER_ROLE_BINDING: &[PrinterColumn] = &[
    NAME,
    PrinterColumn::shown("Role", Field("ClusterRoleBinding", "roleRef")),
    AGE,
    PrinterColumn::wide("Users", Words("Users in the clusterRoleBinding")),
    PrinterColumn::wide("Groups", Words("Groups in the clusterRoleBinding")),
    PrinterColumn::wide("ServiceAccounts", Words("ServiceAccounts in the clusterRoleBinding")),
];

/// The columns of a kind as a table announces them.
pub(super) fn definitions(kind: &Builtin) -> Vec<Value> {
    // A row is described by the older spelling of its kind, where there are two.
    let described = super::find("", "v1", kind.plural).unwrap_or(kind);
    let types = shape::components([described.type_name()]);
    let of_field = |name: &str, field: &str| {
        let (_, found) = types.iter().find(|(full, _)| full.rsplit('.').next() == Some(name))?;
        found["properties"][field]["description"].as_str().map(str::to_owned)
    };
    let definition = |column: &PrinterColumn| {
        let description = match column.description {
            Field(name, field) => {
                let words = of_field(name, field).unwrap_or_default();
                // Tables of bindings speak of an older version, which had no such rule.
                words.strip_suffix(" This field is immutable.").unwrap_or(&words).to_owned()
            }
            Words(words) => words.to_owned(),
        };
        json!({
            "name": column.name,
            "type": column.kind,
            "format": column.format,
            "description": description,
            "priority": column.priority,
        })
    };
    kind.columns.iter().map(definition).collect()
}

/// How long ago a time in an object was, in the two largest units that people care about.
pub fn age(object: &Value, path: &[&str], now: Timestamp) -> String {
    since(text(object, path), now)
}

/// How long ago a time was.
pub(super) fn since(time: &str, now: Timestamp) -> String {
    match time.parse::<Timestamp>() {
        Ok(then) => human(now.duration_since(then)),
        Err(_) => "<unknown>".to_owned(),
    }
}

/// The cells of kinds without columns of their own.
pub(super) fn plain_cells(object: &Value, _now: Timestamp) -> Vec<Value> {
    let made = at(object, &["metadata", "creationTimestamp"]).cloned().unwrap_or(Value::Null);
    vec![name(object), made]
}

/// Name and age.
pub(super) fn name_and_age(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), made(object, now)]
}

/// The cell of a name.
pub(super) fn name(object: &Value) -> Value {
    text(object, &["metadata", "name"]).into()
}

/// The cell of an age.
pub(super) fn made(object: &Value, now: Timestamp) -> Value {
    age(object, &["metadata", "creationTimestamp"], now).into()
}

/// A duration as command lines show it: finer while it is short.
fn human(duration: SignedDuration) -> String {
    let seconds = duration.as_secs();
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    let seconds = seconds.max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let two = |large: i64, unit: &str, small: i64, small_unit: &str| match small {
        0 => format!("{large}{unit}"),
        small => format!("{large}{unit}{small}{small_unit}"),
    };
    if seconds < 120 {
        format!("{seconds}s")
    } else if minutes < 10 {
        two(minutes, "m", seconds % 60, "s")
    } else if hours < 3 {
        format!("{minutes}m")
    } else if hours < 8 {
        two(hours, "h", minutes % 60, "m")
    } else if hours < 48 {
        format!("{hours}h")
    } else if days < 8 {
        two(days, "d", hours % 24, "h")
    } else if days < 730 {
        format!("{days}d")
    } else if days < 365 * 8 {
        two(days / 365, "y", days % 365, "d")
    } else {
        format!("{}y", days / 365)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::all;

    #[test]
    fn durations_are_finer_while_they_are_short() {
        let table = [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (601, "10m"),
            (3 * 3600, "3h"),
            (3 * 3600 + 60, "3h1m"),
            (9 * 3600 + 60, "9h"),
            (49 * 3600, "2d1h"),
            (9 * 86_400, "9d"),
            (731 * 86_400, "2y1d"),
            (365 * 9 * 86_400, "9y"),
            (-1, "0s"),
            (-5, "<invalid>"),
        ];
        for (seconds, expected) in table {
            assert_eq!(human(SignedDuration::from_secs(seconds)), expected, "{seconds}");
        }
    }

    #[test]
    fn every_column_has_words_and_every_row_as_many_cells() {
        for kind in all() {
            for definition in kind.column_definitions() {
                assert_ne!(definition["description"], "", "{} {definition}", kind.kind);
            }
            let cells = (kind.cells)(&json!({}), Timestamp::UNIX_EPOCH);
            assert_eq!(cells.len(), kind.columns.len(), "{}", kind.kind);
        }
    }
}
