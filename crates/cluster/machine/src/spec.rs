//! The words of a machine that are read here. What else an object has is preserved at every level.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that is there or not; what it says is of no interest here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Given {}

/// What the instance is to be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(inline, extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct InstanceSpec {
    /// The machine's parts.
    pub domain: DomainSpec,
    /// The networks that its interfaces are on, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<Network>,
    /// Labels that its node must have.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// How it is found out whether the machine can take requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readiness_probe: Option<Probe>,
    /// How it is found out whether the machine lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub liveness_probe: Option<Probe>,
}

/// A machine's parts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(inline, extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct DomainSpec {
    /// Its memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// Its processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Cpu>,
    /// Its devices.
    #[serde(skip_serializing_if = "Devices::is_empty")]
    pub devices: Devices,
}

/// The memory of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(inline, extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Memory {
    /// What the guest has, such as `64Mi`; without it the base says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guest: Option<Quantity>,
}

/// An amount, as a number or as text with a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Quantity {
    /// A number of bytes.
    Bytes(u64),
    /// Text such as `64Mi`.
    Text(String),
}

impl JsonSchema for Quantity {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "x-kubernetes-int-or-string": true,
        })
    }
}

impl Quantity {
    /// The bytes; none for a text that is no amount.
    pub fn bytes(&self) -> Option<u64> {
        const UNITS: [(&str, u64); 10] = [
            ("Ki", 1 << 10),
            ("Mi", 1 << 20),
            ("Gi", 1 << 30),
            ("Ti", 1 << 40),
            ("Pi", 1 << 50),
            ("k", 1_000),
            ("M", 1_000_000),
            ("G", 1_000_000_000),
            ("T", 1_000_000_000_000),
            ("P", 1_000_000_000_000_000),
        ];
        match self {
            Self::Bytes(bytes) => Some(*bytes),
            Self::Text(text) => {
                let unit = UNITS.iter().find_map(|(unit, bytes)| Some((text.strip_suffix(unit)?, *bytes)));
                let (digits, unit) = unit.unwrap_or((text, 1));
                let whole = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
                digits.parse::<u64>().ok().filter(|_| whole)?.checked_mul(unit)
            }
        }
    }
}

/// The processors of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(inline, extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Cpu {
    /// How many there are; without it the base says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4096))]
    pub cores: Option<u32>,
}

/// The devices of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(inline, extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Devices {
    /// Its NICs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<Interface>,
    /// Whether each virtio NIC has a pair of queues for each processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_interface_multiqueue: Option<bool>,
}

impl Devices {
    /// Whether nothing is said of them.
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A NIC of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(inline, extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Interface {
    /// Its name, which is that of its network.
    pub name: String,
    /// The device that the guest sees; virtio by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// It is bridged to its network; so it is when no binding is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bridge: Option<Given>,
    /// It is behind the address of its pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub masquerade: Option<Given>,
    /// It is a device of the node that is handed through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sriov: Option<Given>,
    /// It is connected by passt, a process beside the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passt_binding: Option<Given>,
    /// It is attached by a plugin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binding: Option<Plugin>,
    /// A binding of former versions, which nobody attaches here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passt: Option<Given>,
    /// A binding of former versions, which nobody attaches here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub macvtap: Option<Given>,
    /// A binding of former versions, which nobody attaches here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slirp: Option<Given>,
    /// Its address; without it one follows from the names of machine and network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac_address: Option<String>,
    /// When the guest tries to boot from it; 1 is first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_order: Option<u32>,
    /// Where it is on the guest's PCI bus, such as `0000:81:00.1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pci_address: Option<String>,
    /// The number by which the guest names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acpi_index: Option<u32>,
    /// Whether it has a link: `up` (also when it is empty), `down`, or `absent` for one that is to be unplugged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

/// A plugin that attaches NICs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(inline, extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Plugin {
    /// Its name.
    pub name: String,
}

/// How a NIC is attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding<'a> {
    /// Bridged.
    Bridge,
    /// Behind an address of the node.
    Masquerade,
    /// A device that is handed through.
    Sriov,
    /// By passt.
    Passt,
    /// By a plugin of that name.
    Plugin(&'a str),
    /// As former versions did it.
    Former,
}

impl Interface {
    /// How it is attached.
    pub fn binding(&self) -> Binding<'_> {
        match self {
            Self { binding: Some(plugin), .. } => Binding::Plugin(&plugin.name),
            Self { sriov: Some(_), .. } => Binding::Sriov,
            Self { masquerade: Some(_), .. } => Binding::Masquerade,
            Self { passt_binding: Some(_), .. } => Binding::Passt,
            Self { passt: Some(_), .. } | Self { macvtap: Some(_), .. } | Self { slirp: Some(_), .. } => {
                Binding::Former
            }
            _ => Binding::Bridge,
        }
    }

    /// How many bindings it names.
    pub fn bindings(&self) -> usize {
        let today = [&self.bridge, &self.masquerade, &self.sriov, &self.passt_binding];
        let named = today.into_iter().chain([&self.passt, &self.macvtap, &self.slirp]);
        named.flatten().count() + usize::from(self.binding.is_some())
    }

    /// The state as it was written; nothing for up.
    pub fn state(&self) -> &str {
        self.state.as_deref().unwrap_or_default()
    }
}

/// A network that a NIC is on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(inline, extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Network {
    /// Its name, which is that of its NIC.
    pub name: String,
    /// It is the network of the pods of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<Given>,
    /// It is a network of an attachment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multus: Option<Multus>,
}

/// A network of an attachment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(inline, extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Multus {
    /// The attachment, with its namespace where that is another one.
    pub network_name: String,
    /// Whether it is the machine's first network.
    #[serde(rename = "default", skip_serializing_if = "std::ops::Not::not")]
    pub is_default: bool,
}

impl Network {
    /// Whether it is the network by which the machine is reached first.
    pub fn is_default(&self) -> bool {
        self.pod.is_some() || self.multus.as_ref().is_some_and(|multus| multus.is_default)
    }
}

/// How it is found out how a machine is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(inline, extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Probe {
    /// By a request to a web server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_get: Option<Given>,
    /// By a connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_socket: Option<Given>,
}

impl Probe {
    /// Whether it goes over the network.
    pub fn is_remote(&self) -> bool {
        self.http_get.is_some() || self.tcp_socket.is_some()
    }
}
