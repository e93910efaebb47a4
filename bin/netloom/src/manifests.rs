//! Objects in files: YAML streams and JSON, single files, folders and standard input.
//!
//! Reads and splits; whether an object keeps its schema is not decided here.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use netloom_schema::decode::{Limits, yaml_documents};
use serde_json::Value;

use crate::{failure::Failure, input};

/// An object and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Manifest {
    /// The file, as it was given.
    pub(crate) file: String,
    /// The line where its document starts.
    pub(crate) line: usize,
    /// The object.
    pub(crate) object: Value,
    /// Keys that it has twice, in words.
    pub(crate) duplicates: Vec<String>,
}

impl Manifest {
    /// A text of the object.
    pub(crate) fn text(&self, pointer: &str) -> &str {
        self.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// What people call the object.
    pub(crate) fn title(&self) -> String {
        let name = match (self.text("/metadata/namespace"), self.text("/metadata/name")) {
            ("", name) => name.to_owned(),
            (namespace, name) => format!("{namespace}/{name}"),
        };
        format!("{} {name:?}", self.text("/kind"))
    }
}

/// The objects of all files, in the order of the arguments; folders in the order of their names.
pub(crate) fn read(paths: &[PathBuf]) -> Result<Vec<Manifest>, Failure> {
    let mut manifests = Vec::new();
    for path in paths {
        for file in files(path)? {
            manifests.extend(of(&file)?);
        }
    }
    Ok(manifests)
}

/// The files that a path stands for.
fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let unreadable = |error: io::Error| Failure::refused(format_args!("cannot read {}: {error}", path.display()));
    let mut entries = fs::read_dir(path)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>())
        .map_err(unreadable)?;
    entries.sort();
    let mut found = Vec::new();
    for entry in entries {
        let manifest =
            entry.extension().is_some_and(|ending| ["yaml", "yml", "json"].iter().any(|known| ending == *known));
        if entry.is_dir() {
            found.extend(files(&entry)?);
        } else if manifest {
            found.push(entry);
        }
    }
    Ok(found)
}

fn of(file: &Path) -> Result<Vec<Manifest>, Failure> {
    let input = input::load(file)?;
    let shown = if file == Path::new("-") { input.source } else { file.display().to_string() };
    let documents = yaml_documents(&input.bytes, Limits::default())
        .map_err(|error| Failure::refused(format_args!("{shown}: {error}")))?;
    let mut manifests = Vec::new();
    for document in documents {
        let (line, duplicates) = (document.line, document.decoded.duplicates);
        for object in split(document.decoded.value) {
            if object.is_null() {
                continue;
            }
            let manifest = Manifest { file: shown.clone(), line, object, duplicates: duplicates.clone() };
            if manifest.text("/kind").is_empty() || manifest.text("/apiVersion").is_empty() {
                return Err(Failure::refused(format_args!(
                    "{shown}:{line}: not a Kubernetes object: apiVersion or kind is missing"
                )));
            }
            manifests.push(manifest);
        }
    }
    Ok(manifests)
}

/// The items of a `List`, or the object itself.
fn split(object: Value) -> Vec<Value> {
    match object {
        Value::Object(mut fields) if fields.get("kind").is_some_and(|kind| kind == "List") => {
            match fields.remove("items") {
                Some(Value::Array(items)) => items.into_iter().flat_map(split).collect(),
                _ => Vec::new(),
            }
        }
        object => vec![object],
    }
}
