//! Who asked for something, and how a link says so in the kernel itself.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

/// The document or object, and the place in it, that asked for something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// The document's name, or kind, namespace and name of an object.
    pub source: Arc<str>,
    /// The path of the field, such as `interfaces[3]`.
    pub path: Arc<str>,
    /// The line in the document, from 1; 0 when the source has no lines.
    pub line: u32,
    /// Further objects that have a part in it, in words: those that a document was merged from, and those that ask for
    /// no more than it does. The source is the same with and without them, and so is what a link says of itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<Arc<str>>,
}

impl Origin {
    /// A place in a source.
    pub fn new(source: Arc<str>, path: impl Into<Arc<str>>, line: u32) -> Self {
        Self { source, path: path.into(), line, with: None }
    }

    /// Two places that ask for one thing together.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let here = self.alone();
        let both = Self { source: format!("{here} and {}", other.source).into(), ..other.clone() };
        both.beside(self.with.as_deref())
    }

    /// The same place, in which others have a part too.
    #[must_use]
    pub fn beside<T: AsRef<str>>(mut self, others: impl IntoIterator<Item = T>) -> Self {
        for other in others {
            let other = other.as_ref();
            let with = self.with.as_ref().map_or_else(|| other.to_owned(), |known| format!("{known}, {other}"));
            self.with = Some(with.into());
        }
        self
    }

    /// The same place, whoever else has a part in it.
    #[must_use]
    pub fn alone(&self) -> Self {
        Self { with: None, ..self.clone() }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if !self.path.is_empty() {
            write!(f, " ({})", self.path)?;
        }
        if let Some(with) = &self.with {
            write!(f, " with {with}")?;
        }
        Ok(())
    }
}

/// A link's alias: the text that `ip link` shows under it.
///
/// On a link that netloom made it reads `netloom SOURCE` or `netloom SOURCE | DESCRIPTION`; any
/// other text is somebody else's and only a description.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Alias(Box<str>);

impl Alias {
    /// The longest alias that the kernel keeps, in bytes.
    pub const MAX: usize = 255;
    const MARK: &'static str = "netloom ";
    const BAR: &'static str = " | ";

    /// The alias of a link that `source` asked for. A text too long for the kernel ends in `…`; the
    /// whole source is in the ownership record.
    pub fn ours(source: &str, description: Option<&str>) -> Self {
        let mut text = format!("{}{source}", Self::MARK);
        if let Some(description) = description {
            text.push_str(Self::BAR);
            text.push_str(description);
        }
        Self::raw(&text.replace(['\n', '\r', '\0'], " "))
    }

    /// Any text, as the kernel reported it or a person wrote it.
    pub fn raw(text: &str) -> Self {
        if text.len() <= Self::MAX {
            return Self(text.into());
        }
        let mut end = Self::MAX - '…'.len_utf8();
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Self(format!("{}…", &text[..end]).into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether netloom made the link that carries this.
    pub fn is_ours(&self) -> bool {
        self.0.starts_with(Self::MARK)
    }

    /// Who asked for the link, when it is ours.
    pub fn source(&self) -> Option<&str> {
        let rest = self.0.strip_prefix(Self::MARK)?;
        Some(rest.split_once(Self::BAR).map_or(rest, |(source, _)| source))
    }

    /// What a person wrote about the link.
    pub fn description(&self) -> Option<&str> {
        if self.is_ours() { self.0.split_once(Self::BAR).map(|(_, text)| text) } else { Some(&self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_of_ours_tells_source_and_description_apart() {
        let alias = Alias::ours("site.yaml", Some("uplink of rack 4"));
        assert!(alias.is_ours());
        assert_eq!(alias.source(), Some("site.yaml"));
        assert_eq!(alias.description(), Some("uplink of rack 4"));
        let foreign = Alias::raw("to the core");
        assert!(!foreign.is_ours());
        assert_eq!(foreign.description(), Some("to the core"));
    }

    #[test]
    fn a_long_alias_fits_the_kernel_and_says_that_it_was_cut() {
        let alias = Alias::ours(&"ä".repeat(300), None);
        assert!(alias.as_str().len() <= Alias::MAX);
        assert!(alias.as_str().ends_with('…'));
    }
}
