//! Fields that an apply may not change because others manage them, and how that is reported.

use super::entries::{Operation, Owner};
use crate::fields::{Path, path_text};
use netloom_schema::go_text;
use std::fmt;

/// One field somebody else manages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The name of the manager.
    pub manager: String,
    /// The path of the field, such as `.spec.replicas`.
    pub field: String,
    /// The words for it, such as `conflict with "kubectl" using v1`.
    pub message: String,
}

/// Everything that stands in the way of an apply, in the order of managers; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflicts {
    /// The manager as messages show it, with each of the fields in question.
    found: Vec<(String, String, Path)>,
}

impl Conflicts {
    pub(super) fn new<'a>(found: impl Iterator<Item = (&'a Owner, Vec<Path>)>) -> Self {
        let found = found.flat_map(|(owner, paths)| {
            let shown = shown(owner);
            paths.into_iter().map(move |path| (owner.manager.clone(), shown.clone(), path))
        });
        Self { found: found.collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The conflicts whose field does not pass.
    pub(super) fn without(&self, passes: impl Fn(&Path) -> bool) -> Self {
        Self { found: self.found.iter().filter(|(_, _, path)| !passes(path)).cloned().collect() }
    }

    /// The causes of the answer, each with the reason `FieldManagerConflict`.
    pub fn causes(&self) -> Vec<Conflict> {
        let causes = self.found.iter().map(|(manager, shown, path)| Conflict {
            manager: manager.clone(),
            field: path_text(path),
            message: format!("conflict with {shown}"),
        });
        causes.collect()
    }
}

/// A manager as messages name it: who updates is also known by version, who applies is not.
fn shown(owner: &Owner) -> String {
    let mut text = go_text::quote(&owner.manager);
    if !owner.subresource.is_empty() {
        text.push_str(" with subresource ");
        text.push_str(&go_text::quote(&owner.subresource));
    }
    match owner.operation {
        Operation::Apply => {}
        Operation::Update => {
            text.push_str(" using ");
            text.push_str(&owner.api_version);
        }
    }
    text
}

/// The message of the answer.
impl fmt::Display for Conflicts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [(_, shown, path)] = self.found.as_slice() {
            return write!(out, "Apply failed with 1 conflict: conflict with {shown}: {}", path_text(path));
        }
        write!(out, "Apply failed with {} conflicts: ", self.found.len())?;
        let mut last: Option<&String> = None;
        for (position, (_, shown, path)) in self.found.iter().enumerate() {
            let newline = if position > 0 { "\n" } else { "" };
            if last == Some(shown) {
                write!(out, "\n- {}", path_text(path))?;
            } else {
                write!(out, "{newline}conflicts with {shown}:\n- {}", path_text(path))?;
                last = Some(shown);
            }
        }
        Ok(())
    }
}
