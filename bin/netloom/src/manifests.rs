//! Objects in files: YAML streams and JSON, single files, folders and standard input.
//!
//! Reads and splits; whether an object keeps its schema is not decided here.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use netloom_schema::decode::{DecodeError, Limits, line_of, yaml_documents};
use serde_json::Value;

use crate::{
    failure::{Exit, Failure},
    input,
};

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
    /// The text of the whole file.
    text: Arc<[u8]>,
}

/// A part of a file that is no object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flaw {
    /// The file, as it was given.
    pub(crate) file: String,
    /// The line; 0 for the file as a whole.
    pub(crate) line: usize,
    /// What is wrong with it, and what to do.
    pub(crate) message: String,
}

impl std::fmt::Display for Flaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.message),
            line => write!(f, "{}:{line}: {}", self.file, self.message),
        }
    }
}

/// What some files have.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// The objects, in the order of the arguments; folders in the order of their names.
    pub(crate) manifests: Vec<Manifest>,
    /// What is no object.
    pub(crate) flaws: Vec<Flaw>,
}

impl Manifest {
    /// The line of a field, or of the nearest one above it that is written there.
    pub(crate) fn line_of(&self, path: &str) -> usize {
        line_of(&self.text, self.line, path).unwrap_or(self.line)
    }

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

/// The objects of all files; the first thing that is none ends it, and so does the first one that says something twice:
/// nobody can tell which of the two is meant.
pub(crate) fn read(paths: &[PathBuf]) -> Result<Vec<Manifest>, Failure> {
    let Contents { manifests, flaws } = contents(paths)?;
    if let Some(flaw) = flaws.first() {
        return Err(Failure::refused(flaw));
    }
    if let Some((manifest, duplicate)) = manifests.iter().find_map(|one| one.duplicates.first().map(|why| (one, why))) {
        let Manifest { file, line, .. } = manifest;
        return Err(Failure::refused(format_args!("{file}:{line}: {}: {duplicate}", manifest.title())));
    }
    Ok(manifests)
}

/// Everything that the files have. There is something in them, or they are not the files that were meant.
pub(crate) fn contents(paths: &[PathBuf]) -> Result<Contents, Failure> {
    let mut contents = Contents::default();
    for path in paths {
        for file in files(path)? {
            of(&file, &mut contents)?;
        }
    }
    if contents.manifests.is_empty() && contents.flaws.is_empty() && !paths.is_empty() {
        let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        return Err(Failure::refused(format_args!(
            "there is no object in {}; in folders, files that end in .yaml, .yml or .json are read",
            names.join(", ")
        )));
    }
    Ok(contents)
}

/// The files that a path stands for.
fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let unreadable = |error: io::Error| Failure::usage(format_args!("cannot read {}: {error}", path.display()));
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

fn of(file: &Path, contents: &mut Contents) -> Result<(), Failure> {
    // A document of a host that cannot be read is refused; here a file is what the command line names.
    let input = input::load(file).map_err(|failure| Failure { exit: Exit::Usage, ..failure })?;
    let shown = if file == Path::new("-") { input.source } else { file.display().to_string() };
    let text: Arc<[u8]> = input.bytes.into();
    let documents = match yaml_documents(&text, Limits::default()) {
        Ok(documents) => documents,
        Err(error) => {
            contents.flaws.push(unreadable(shown, &error));
            return Ok(());
        }
    };
    for document in documents {
        let (line, duplicates) = (document.line, document.decoded.duplicates);
        for object in split(document.decoded.value) {
            if object.is_null() {
                continue;
            }
            let manifest =
                Manifest { file: shown.clone(), line, object, duplicates: duplicates.clone(), text: text.clone() };
            if manifest.text("/kind").is_empty() || manifest.text("/apiVersion").is_empty() {
                contents.flaws.push(Flaw { file: shown.clone(), line, message: no_object(&manifest.object, &shown) });
            } else {
                contents.manifests.push(manifest);
            }
        }
    }
    Ok(())
}

/// A file that is not even YAML.
fn unreadable(file: String, error: &DecodeError) -> Flaw {
    match error {
        DecodeError::Yaml { line, message } => Flaw { file, line: *line, message: format!("not YAML: {message}") },
        DecodeError::NotUtf8 { .. }
        | DecodeError::Json { .. }
        | DecodeError::TooDeep { .. }
        | DecodeError::TooMany { .. }
        | DecodeError::Empty => Flaw { file, line: 0, message: error.to_string() },
    }
}

/// Why something is no object, and what else it may be.
fn no_object(value: &Value, file: &str) -> String {
    let document = ["interfaces", "routes", "route-rules", "dns-resolver", "hostname"];
    if document.iter().any(|key| value.get(key).is_some()) {
        return format!(
            "not a Kubernetes object but a document for one host; `netloom state diff {file}` shows what it would do"
        );
    }
    "not a Kubernetes object: apiVersion or kind is missing".to_owned()
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
