//! The operator configuration out of a file, as the `ConfigMap` that says the same.

use std::path::Path;

use netloom_api::fabric::operator::OperatorConfig;
use serde_json::Value;

use crate::{failure::Failure, input};

/// Reads a file; what is wrong with it is named with its place.
pub(crate) fn read(file: &Path) -> Result<Value, Failure> {
    let input = input::load(file)?;
    let cannot = |why: &dyn std::fmt::Display| Failure::refused(format_args!("{}: {why}", input.source));
    let text = std::str::from_utf8(&input.bytes).map_err(|why| cannot(&why))?;
    OperatorConfig::parse(text).map_err(|why| cannot(&why))?;
    Ok(OperatorConfig::config_map(text))
}
