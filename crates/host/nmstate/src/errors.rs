//! Why a document was not taken, and what a person should know although it was.
//!
//! Every refusal names the document, the place in it, the line, what was found there and what to do.
//! Invariant: a [`DocumentError`] holds at least one refusal.

use std::fmt::{self, Display as _};

use netloom_model::Source;

/// Stable names of the rules that a document can break.
pub mod reason {
    /// The bytes are not UTF-8 text.
    pub const NOT_UTF8: &str = "NotUtf8";
    /// The document is larger than we read.
    pub const TOO_LARGE: &str = "TooLarge";
    /// The text is neither YAML nor JSON.
    pub const NOT_YAML: &str = "NotYaml";
    /// Blocks are nested deeper than any document needs.
    pub const TOO_DEEP: &str = "TooDeep";
    /// More values than we read, aliases counted as often as they are used.
    pub const TOO_MANY_VALUES: &str = "TooManyValues";
    /// More than one document in one text.
    pub const SEVERAL_DOCUMENTS: &str = "SeveralDocuments";
    /// One key twice in one block.
    pub const DUPLICATE_KEY: &str = "DuplicateKey";
    /// One thing twice in one list.
    pub const DUPLICATE: &str = "Duplicate";
    /// A key that is not part of the format.
    pub const UNKNOWN_KEY: &str = "UnknownKey";
    /// A value of another type than the key takes.
    pub const WRONG_TYPE: &str = "WrongType";
    /// A value that the key does not take.
    pub const INVALID_VALUE: &str = "InvalidValue";
    /// A key that must be there is not.
    pub const MISSING_KEY: &str = "MissingKey";
    /// Two statements that cannot both hold.
    pub const CONTRADICTION: &str = "Contradiction";
    /// Part of the format that netloom keeps and does not change, or does not do at all.
    pub const NOT_SUPPORTED: &str = "NotSupported";
    /// A link that neither exists nor is asked for.
    pub const LINK_NOT_FOUND: &str = "LinkNotFound";
    /// A link of that name exists and is of another kind.
    pub const KIND_MISMATCH: &str = "KindMismatch";
    /// Links that would stand on themselves.
    pub const CYCLE: &str = "Cycle";
    /// A link on, or in, one that shall go.
    pub const ABSENT_PARENT: &str = "AbsentParent";
    /// Something that only a running agent can do.
    pub const NEEDS_AGENT: &str = "NeedsAgent";
}

/// The answer for who gives an object of a cluster where a document was expected.
pub(crate) const OBJECT: &str = "this is a Kubernetes object, not a document for one host; `netloom validate -f FILE` \
                                 checks it, `netloom apply -f FILE` writes it to a cluster";

/// One rule that a document breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The place, such as `interfaces[3].vlan.id`; empty for the document as a whole.
    pub path: String,
    /// The line, from 1; 0 when no line is meant.
    pub line: u32,
    /// The stable name of the rule.
    pub reason: &'static str,
    /// What was found, why it is not taken, and what to do.
    pub message: String,
}

/// Everything that a document was refused for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentError {
    document: Source,
    refusals: Vec<Refusal>,
}

impl DocumentError {
    /// Most people fix a few lines and try again; a page of the same message helps nobody.
    pub(crate) const MOST: usize = 100;

    pub(crate) fn new(document: Source, mut refusals: Vec<Refusal>) -> Self {
        debug_assert!(!refusals.is_empty(), "an error without a refusal");
        refusals.sort_by_key(|r| r.line);
        refusals.truncate(Self::MOST);
        Self { document, refusals }
    }

    /// The name of the document.
    pub fn document(&self) -> &Source {
        &self.document
    }

    /// The broken rules, in the order of the document.
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    /// The stable name of the first broken rule.
    pub fn reason(&self) -> &'static str {
        self.refusals.first().map_or(reason::INVALID_VALUE, |r| r.reason)
    }
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, refusal) in self.refusals.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write_place(f, &self.document, refusal.line, &refusal.path)?;
            f.write_str(&refusal.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for DocumentError {}

/// Something that stops nothing and that a person should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The name of the document.
    pub document: Source,
    /// The place in it.
    pub path: String,
    /// The line, from 1; 0 when no line is meant.
    pub line: u32,
    /// What was found and what was done about it.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_place(f, &self.document, self.line, &self.path)?;
        f.write_str(&self.message)
    }
}

/// A message about the entry of a link, which is named also for people who do not count entries.
pub(crate) fn about(link: Option<&str>, message: String) -> String {
    /// What a link may be called besides letters and digits, as far as names are distinguished in a sentence.
    const INSIDE: [char; 5] = ['-', '_', '.', '@', ':'];
    let Some(link) = link else { return message };
    let mut words = message.split(|c: char| !c.is_alphanumeric() && !INSIDE.contains(&c));
    let named = words.any(|word| word == link || word.trim_end_matches(['.', ':']) == link);
    if named { message } else { format!("link {link}: {message}") }
}

fn write_place(f: &mut fmt::Formatter<'_>, document: &Source, line: u32, path: &str) -> fmt::Result {
    document.fmt(f)?;
    if line > 0 {
        write!(f, ":{line}")?;
    }
    f.write_str(": ")?;
    if !path.is_empty() {
        write!(f, "{path}: ")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::about;

    #[test]
    fn a_message_names_the_link_of_its_entry_once() {
        for (link, message, reported) in [
            (None, "no such key", "no such key"),
            (Some("eth1"), "no such key", "link eth1: no such key"),
            (Some("eth1"), "eth10 has none", "link eth1: eth10 has none"),
            (Some("eth1"), "eth1: has none", "eth1: has none"),
            (Some("eth1.7"), "there is no base for eth1.7.", "there is no base for eth1.7."),
            (Some("eth1"), "there is no base for eth1.7", "link eth1: there is no base for eth1.7"),
            (Some("eth1"), "\"eth1\" is new", "\"eth1\" is new"),
        ] {
            assert_eq!(about(link, message.to_owned()), reported);
        }
    }
}
