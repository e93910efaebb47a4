//! `netloom version`

use serde_json::json;

use crate::{
    args::{Format, VersionArgs},
    failure::{Exit, Failure},
    output, text,
};

pub(crate) fn run(args: &VersionArgs) -> Result<Exit, Failure> {
    let VersionArgs { format } = args;
    let version = env!("CARGO_PKG_VERSION");
    let printed = match format.or(Format::Table) {
        Format::Table => format!("netloom {version}\n"),
        Format::Yaml => format!("version: {version}\n"),
        Format::Json => text::json(&json!({ "version": version })),
    };
    output::data(&printed)?;
    Ok(Exit::Done)
}
