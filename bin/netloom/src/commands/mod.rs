//! One file for each verb, each with a `run` that takes the verb's arguments and nothing global.

pub(crate) mod apply;
pub(crate) mod commit;
pub(crate) mod compile;
pub(crate) mod controller;
pub(crate) mod delete;
pub(crate) mod diff;
pub(crate) mod explain;
pub(crate) mod format;
pub(crate) mod generate;
pub(crate) mod get;
pub(crate) mod guard;
pub(crate) mod kubeconfig;
pub(crate) mod revert;
pub(crate) mod rollback;
pub(crate) mod server;
pub(crate) mod set;
pub(crate) mod show;
pub(crate) mod validate;
pub(crate) mod version;
pub(crate) mod watch;

use netloom_nmyaml::Document;

use crate::{
    args::Format,
    failure::{Exit, Failure},
    text,
};

/// Runs a verb that talks to a cluster. One thread is enough for one request after the other.
fn asynchronously(verb: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::usage(format_args!("cannot start: {error}")))?;
    runtime.block_on(verb)
}

/// An object of a cluster as data.
fn object_text(object: &serde_json::Value, format: Format) -> String {
    match format {
        Format::Yaml | Format::Table => netloom_api::yaml::text(object),
        Format::Json => text::json(object),
    }
}

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
        Some(Format::Yaml) => Some(text::yaml(value)),
        Some(Format::Table) | None => None,
    }
}
