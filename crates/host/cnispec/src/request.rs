//! A request: what environment and standard input say together.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use crate::{Code, Config, Failure, PodArguments, Version, config::is_name};

/// What is asked. VERSION is answered without anything else, so it is no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// Attach a container.
    Add,
    /// Detach it.
    Del,
    /// Is it still attached as it was?
    Check,
    /// Can containers be attached?
    Status,
    /// Detach all that are not named.
    Gc,
}

/// The variables of the specification, and the two that are ours; others are not looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Variables(BTreeMap<String, String>);

/// What one container is to be attached to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The container; key of all its interfaces.
    pub container: String,
    /// Path of its network namespace. Only DEL does without.
    pub netns: Option<String>,
    /// Name of the first interface.
    pub ifname: String,
    /// The pod, as `CNI_ARGS` name it.
    pub pod: Result<PodArguments, Failure>,
}

/// A request that is complete.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// What is asked.
    pub verb: Verb,
    /// For whom; STATUS and GC are about no container.
    pub attachment: Option<Attachment>,
    /// Folders with delegates.
    pub path: Vec<String>,
    /// Folder with configurations of delegates.
    pub config_dir: String,
    /// The namespace may be the node's own.
    pub own_netns_allowed: bool,
    /// The configuration.
    pub config: Config,
}

impl Verb {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "ADD" => Self::Add,
            "DEL" => Self::Del,
            "CHECK" => Self::Check,
            "STATUS" => Self::Status,
            "GC" => Self::Gc,
            _ => return None,
        })
    }

    /// The first version that has it.
    const fn since(self) -> Version {
        match self {
            Self::Add | Self::Del => Version::V0_3_0,
            Self::Check => Version::V0_4_0,
            Self::Status | Self::Gc => Version::V1_1_0,
        }
    }

    /// The variables without which it means nothing.
    const fn required(self) -> &'static [&'static str] {
        match self {
            Self::Add | Self::Check => &["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"],
            Self::Del => &["CNI_CONTAINERID", "CNI_IFNAME"],
            Self::Gc => &["CNI_PATH"],
            Self::Status => &[],
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Add => "ADD",
            Self::Del => "DEL",
            Self::Check => "CHECK",
            Self::Status => "STATUS",
            Self::Gc => "GC",
        })
    }
}

impl Variables {
    /// The names that are looked at.
    pub const NAMES: [&'static str; 8] = [
        "CNI_COMMAND",
        "CNI_CONTAINERID",
        "CNI_NETNS",
        "CNI_IFNAME",
        "CNI_ARGS",
        "CNI_PATH",
        "CNI_CONF_DIR",
        "CNI_NETNS_OVERRIDE",
    ];

    /// Keeps what is looked at; empty counts as missing.
    pub fn of(all: impl IntoIterator<Item = (String, String)>) -> Self {
        let wanted = |(name, value): &(String, String)| Self::NAMES.contains(&name.as_str()) && !value.is_empty();
        Self(all.into_iter().filter(wanted).collect())
    }

    /// The value of one.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

impl Request {
    /// Reads a request. Errors come in the order in which CNI's own library finds them: variables, configuration,
    /// version.
    pub fn read(variables: &Variables, input: &[u8]) -> Result<Self, Failure> {
        let environment = |msg: String| Failure::new(Code::Environment, msg);
        let command = variables.get("CNI_COMMAND").ok_or_else(|| environment("CNI_COMMAND is not set".to_owned()))?;
        let verb = Verb::named(command).ok_or_else(|| {
            environment(format!("CNI_COMMAND {command:?} is none of ADD, DEL, CHECK, STATUS, GC and VERSION"))
        })?;
        let missing: Vec<&str> = verb.required().iter().copied().filter(|name| variables.get(name).is_none()).collect();
        if !missing.is_empty() {
            return Err(environment(format!("{verb} needs {}", missing.join(", "))));
        }
        let attachment = match verb {
            Verb::Add | Verb::Del | Verb::Check => Some(Attachment::read(variables)?),
            Verb::Status | Verb::Gc => None,
        };
        let config = Config::read(input)?;
        if config.version < verb.since() {
            let msg = format!("{verb} is part of CNI since {}; the configuration is {}", verb.since(), config.version);
            return Err(Failure::new(Code::Version, msg));
        }
        if verb == Verb::Check && config.previous.is_none() {
            return Err(Failure::new(Code::Config, "CHECK needs the result of ADD in prevResult"));
        }
        let config_dir = config.config_dir.clone();
        let config_dir = config_dir.or_else(|| variables.get("CNI_CONF_DIR").map(ToOwned::to_owned));
        Ok(Self {
            verb,
            attachment,
            path: variables.get("CNI_PATH").map(paths).unwrap_or_default(),
            config_dir: config_dir.unwrap_or_else(|| crate::DEFAULT_CONFIG_DIR.to_owned()),
            own_netns_allowed: matches!(variables.get("CNI_NETNS_OVERRIDE"), Some("1" | "true" | "True" | "TRUE")),
            config,
        })
    }
}

impl Attachment {
    fn read(variables: &Variables) -> Result<Self, Failure> {
        let environment = |msg: String| Err(Failure::new(Code::Environment, msg));
        let container = variables.get("CNI_CONTAINERID").unwrap_or_default();
        // The name of a file is made of it.
        if !is_name(container) || container.len() > 200 {
            return environment(format!(
                "CNI_CONTAINERID {container:?}: up to 200 letters, digits, '_', '.' and '-', the first a letter or digit"
            ));
        }
        let ifname = variables.get("CNI_IFNAME").unwrap_or_default();
        let bad = |c: char| c == '/' || c == ':' || c.is_whitespace() || c.is_control();
        if ifname.len() > 15 || matches!(ifname, "." | "..") || ifname.chars().any(bad) {
            return environment(format!(
                "CNI_IFNAME {ifname:?}: up to 15 bytes without '/', ':' and spaces, and not '.' or '..'"
            ));
        }
        Ok(Self {
            container: container.to_owned(),
            netns: variables.get("CNI_NETNS").map(ToOwned::to_owned),
            ifname: ifname.to_owned(),
            pod: PodArguments::read(variables.get("CNI_ARGS").unwrap_or_default()),
        })
    }
}

fn paths(text: &str) -> Vec<String> {
    text.split(':').filter(|folder| !folder.is_empty()).map(ToOwned::to_owned).collect()
}
