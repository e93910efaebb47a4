//! How a link says in the kernel itself who asked for it.

use serde::{Deserialize, Serialize};

use crate::{Source, origin::text};

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

    /// The alias of a link that these asked for. A text too long for the kernel ends in `…`; the
    /// whole origin is in the ownership record.
    pub fn ours<'a>(owners: impl IntoIterator<Item = &'a Source>, description: Option<&str>) -> Self {
        Self::marked(&text::spell(owners), description)
    }

    /// The same with another description.
    #[must_use]
    pub fn described(&self, description: Option<&str>) -> Option<Self> {
        match self.source() {
            Some(source) => Some(Self::marked(source, description)),
            None => description.map(Self::raw),
        }
    }

    fn marked(source: &str, description: Option<&str>) -> Self {
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

    /// Everybody who asked for the link, when it is ours.
    pub fn owners(&self) -> Vec<Source> {
        self.source().map(text::read).unwrap_or_default()
    }

    /// Who asked for the link, as the kernel has it, when it is ours.
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
        let alias = Alias::ours([&"site.yaml".into()], Some("uplink of rack 4"));
        assert!(alias.is_ours());
        assert_eq!(alias.source(), Some("site.yaml"));
        assert_eq!(alias.description(), Some("uplink of rack 4"));
        let foreign = Alias::raw("to the core");
        assert!(!foreign.is_ours());
        assert_eq!(foreign.description(), Some("to the core"));
    }

    #[test]
    fn a_long_alias_fits_the_kernel_and_says_that_it_was_cut() {
        let alias = Alias::ours([&"ä".repeat(300).as_str().into()], None);
        assert!(alias.as_str().len() <= Alias::MAX);
        assert!(alias.as_str().ends_with('…'));
    }
}
