//! The network configuration on standard input.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{Attached, Code, Failure, Version};

/// Where the agent listens when the configuration does not say it.
pub const DEFAULT_SOCKET: &str = "/run/netloom/cni.sock";

/// Where configurations of delegates are when nobody says it.
pub const DEFAULT_CONFIG_DIR: &str = "/etc/cni/net.d";

/// An attachment that GC is to leave alone.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ValidAttachment {
    /// The container.
    #[serde(rename = "containerID")]
    pub container: String,
    /// The name under which the runtime asked for it; all interfaces of the container belong to it.
    #[serde(default)]
    pub ifname: String,
}

/// A configuration that can be used.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The version to answer in.
    pub version: Version,
    /// Name of the network.
    pub name: String,
    /// Socket of the agent.
    pub socket: String,
    /// Folder with configurations of delegates, when given.
    pub config_dir: Option<String>,
    /// Interfaces are named by `container_prefix` alone.
    pub legacy_names: bool,
    /// The result of an earlier ADD, or of the plugin before.
    pub previous: Option<Attached>,
    /// For GC: what is still in use; none where nothing is named, which means that nothing is.
    pub valid: Option<Vec<ValidAttachment>>,
}

impl Config {
    /// The version that an input names, for answering errors before it has been read as a whole.
    pub fn version_of(input: &[u8]) -> Version {
        let value: Option<Value> = serde_json::from_slice(input).ok();
        let name = value.as_ref().and_then(|value| value.get("cniVersion")?.as_str());
        name.and_then(Version::named).unwrap_or(Version::LATEST)
    }

    /// Reads a configuration. Keys that are not known are left alone, since DANM's file has comments in some.
    pub fn read(input: &[u8]) -> Result<Self, Failure> {
        let value: Value = serde_json::from_slice(input)
            .map_err(|why| Failure::new(Code::Decode, "the network configuration is not JSON").with(why.to_string()))?;
        let Value::Object(keys) = value else {
            return Err(Failure::new(Code::Decode, "the network configuration is not a JSON object"));
        };
        let version = version(&keys)?;
        let name = text(&keys, "name")?.unwrap_or_default();
        if !is_name(name) {
            let msg = if name.is_empty() {
                "the network configuration has no name".to_owned()
            } else {
                format!("name {name:?}: letters, digits, '_', '.' and '-' are possible, the first a letter or a digit")
            };
            return Err(Failure::new(Code::Config, msg));
        }
        let previous = match keys.get("prevResult") {
            None | Some(Value::Null) => None,
            Some(value) => Some(
                Attached::read(value)
                    .map_err(|why| Failure::new(Code::Config, "prevResult cannot be read").with(why.to_string()))?,
            ),
        };
        Ok(Self {
            version,
            name: name.to_owned(),
            socket: text(&keys, "agentSocket")?.filter(|path| !path.is_empty()).unwrap_or(DEFAULT_SOCKET).to_owned(),
            config_dir: text(&keys, "cniDir")?.filter(|path| !path.is_empty()).map(ToOwned::to_owned),
            legacy_names: text(&keys, "namingScheme")? == Some("legacy"),
            previous,
            valid: valid(&keys)?,
        })
    }
}

/// Whether a text may name a network or a container.
pub(crate) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphanumeric())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

fn text<'a>(keys: &'a Map<String, Value>, key: &str) -> Result<Option<&'a str>, Failure> {
    match keys.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Failure::new(Code::Decode, format!("{key} in the network configuration is not text"))),
    }
}

fn version(keys: &Map<String, Value>) -> Result<Version, Failure> {
    // A configuration without a version is of the first one.
    let name = text(keys, "cniVersion")?.filter(|name| !name.is_empty()).unwrap_or("0.1.0");
    Version::named(name).ok_or_else(|| {
        let supported = crate::SUPPORTED.map(Version::name).join(", ");
        Failure::new(Code::Version, format!("cniVersion {name:?} is not supported; supported are {supported}"))
    })
}

fn valid(keys: &Map<String, Value>) -> Result<Option<Vec<ValidAttachment>>, Failure> {
    match keys.get("cni.dev/valid-attachments") {
        None | Some(Value::Null) => Ok(None),
        Some(list) => Vec::deserialize(list).map(Some).map_err(|why| {
            Failure::new(Code::Decode, "cni.dev/valid-attachments is not a list of containerID and ifname")
                .with(why.to_string())
        }),
    }
}
