//! One file for each verb, each with a `run` that takes the verb's arguments and nothing global.

#[cfg(feature = "agent")]
pub(crate) mod agent;
#[cfg(feature = "cluster")]
pub(crate) mod apply;
pub(crate) mod commit;
#[cfg(feature = "cluster")]
pub(crate) mod compile;
#[cfg(feature = "cluster")]
pub(crate) mod controller;
#[cfg(feature = "cluster")]
pub(crate) mod delete;
pub(crate) mod diff;
#[cfg(feature = "cluster")]
pub(crate) mod domain;
pub(crate) mod explain;
pub(crate) mod format;
pub(crate) mod generate;
#[cfg(feature = "cluster")]
pub(crate) mod get;
pub(crate) mod guard;
#[cfg(feature = "cluster")]
pub(crate) mod kubeconfig;
#[cfg(feature = "cluster")]
pub(crate) mod plan;
pub(crate) mod revert;
pub(crate) mod rollback;
#[cfg(feature = "cluster")]
pub(crate) mod rollout;
#[cfg(feature = "cluster")]
pub(crate) mod server;
pub(crate) mod set;
pub(crate) mod show;
#[cfg(feature = "cluster")]
pub(crate) mod tap;
#[cfg(feature = "cluster")]
pub(crate) mod up;
#[cfg(feature = "cluster")]
pub(crate) mod validate;
pub(crate) mod version;
pub(crate) mod watch;

use netloom_nmstate::Document;

use crate::{args::Format, text};

/// A document in one of the formats; as a table there is no better form than YAML.
fn printed(document: &Document, format: Format) -> String {
    match format {
        Format::Yaml | Format::Table => document.to_yaml(),
        Format::Json => document.to_json(),
    }
}

/// A result in one of the formats; people read it on standard error instead.
fn result(value: &serde_json::Value, format: Option<Format>) -> Option<String> {
    match format {
        Some(Format::Json) => Some(text::json(value)),
        Some(Format::Yaml) => Some(netloom_yaml::print(value)),
        Some(Format::Table) | None => None,
    }
}
