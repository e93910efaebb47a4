//! A place in a document that is being read: typed access that reports what it does not like.
//!
//! Every method returns `None` both for "not there" and for "refused": a refusal is already noted
//! in [`Notes`], and a document with a refusal is never used.

use std::{cell::RefCell, fmt, str::FromStr};

use netloom_types::spelling::nearest;
use netloom_yaml::{Data, Entry, Node};

use crate::{
    errors::{DocumentError, Refusal, reason},
    tree::found,
};

/// The refusals so far.
#[derive(Debug, Default)]
pub(crate) struct Notes(RefCell<Vec<Refusal>>);

impl Notes {
    pub(crate) fn into_refusals(self) -> Vec<Refusal> {
        self.0.into_inner()
    }
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}

#[derive(Clone, Copy)]
struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Key(key) if self.parent.is_none_or(|p| matches!(p.step, Step::Root)) => f.write_str(key),
            Step::Key(key) => write!(f, ".{key}"),
            Step::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// One value and where it stands.
#[derive(Clone, Copy)]
pub(crate) struct Spot<'a> {
    notes: &'a Notes,
    pub(crate) node: &'a Node,
    /// That of its key, if it has one.
    line: u32,
    path: Path<'a>,
}

impl<'a> Spot<'a> {
    pub(crate) fn root(notes: &'a Notes, node: &'a Node) -> Self {
        Self { notes, node, line: node.line, path: Path { parent: None, step: Step::Root } }
    }

    /// Notes a refusal of this value.
    pub(crate) fn refuse(&self, reason: &'static str, message: impl Into<String>) {
        self.refuse_at(self.path, self.line, reason, message.into());
    }

    /// Notes a refusal of one key below.
    pub(crate) fn refuse_key(&self, key: &str, reason: &'static str, message: impl Into<String>) {
        let path = Path { parent: Some(&self.path), step: Step::Key(key) };
        self.refuse_at(path, self.line, reason, message.into());
    }

    fn refuse_at(&self, path: Path<'_>, line: u32, reason: &'static str, message: String) {
        let mut notes = self.notes.0.borrow_mut();
        if notes.len() < DocumentError::MOST {
            notes.push(Refusal { path: path.to_string(), line, reason, message });
        }
    }

    fn wrong(&self, wanted: &str) {
        self.refuse(reason::WRONG_TYPE, format!("{} found; must be {wanted}", found(self.node)));
    }

    fn invalid(&self, why: impl fmt::Display) {
        self.refuse(reason::INVALID_VALUE, format!("{}: {why}", found(self.node)));
    }

    /// The keys of a block.
    pub(crate) fn fields(&'a self) -> Option<Fields<'a>> {
        match &self.node.data {
            Data::Map(entries) => Some(Fields {
                spot: self,
                entries,
                taken: RefCell::new(vec![false; entries.len()]),
                asked: RefCell::default(),
            }),
            Data::Null => {
                Some(Fields { spot: self, entries: &[], taken: RefCell::default(), asked: RefCell::default() })
            }
            Data::Scalar { .. } | Data::List(_) => {
                self.wrong("a block of keys and values");
                None
            }
        }
    }

    /// The items of a list.
    pub(crate) fn items(&'a self) -> Option<impl Iterator<Item = Spot<'a>>> {
        let items: &[Node] = match &self.node.data {
            Data::List(items) => items,
            Data::Null => &[],
            Data::Scalar { .. } | Data::Map(_) => {
                self.wrong("a list");
                return None;
            }
        };
        let at = |(index, node): (usize, &'a Node)| Spot {
            notes: self.notes,
            node,
            line: node.line,
            path: Path { parent: Some(&self.path), step: Step::Index(index) },
        };
        Some(items.iter().enumerate().map(at))
    }

    /// The text of a scalar, without a word when it is none.
    pub(crate) fn scalar(&self) -> Option<&'a str> {
        match &self.node.data {
            Data::Scalar { text, .. } => Some(text),
            Data::Null | Data::List(_) | Data::Map(_) => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&'a str> {
        let text = self.scalar();
        if text.is_none() {
            self.wrong("a text");
        }
        text
    }

    pub(crate) fn bool(&self) -> Option<bool> {
        let value = self.scalar().and_then(bool_word);
        if value.is_none() {
            self.wrong("true or false");
        }
        value
    }

    /// A whole number between two others, both included.
    pub(crate) fn int<T: TryFrom<i128>>(&self, min: i128, max: i128) -> Option<T> {
        let Some(number) = self.scalar().and_then(number) else {
            self.wrong("a whole number");
            return None;
        };
        let value = T::try_from(number).ok().filter(|_| (min..=max).contains(&number));
        if value.is_none() {
            self.invalid(format_args!("must be between {min} and {max}"));
        }
        value
    }

    /// A text that a type can be made of.
    pub(crate) fn parse<T: FromStr<Err: fmt::Display>>(&self, what: &str) -> Option<T> {
        match self.text()?.parse() {
            Ok(value) => Some(value),
            Err(error) => {
                self.invalid(format_args!("is no {what} ({error})"));
                None
            }
        }
    }

    /// One of some words.
    pub(crate) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        let text = self.text()?;
        let found = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)).map(|(_, value)| *value);
        if found.is_none() {
            let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            self.invalid(format_args!("must be one of {}", known.join(", ")));
        }
        found
    }
}

/// The spellings of one key; the first one is printed.
pub(crate) type Keys = &'static [&'static str];

/// The keys of one block; what is left when [`Fields::finish`] is called is refused.
pub(crate) struct Fields<'a> {
    pub(crate) spot: &'a Spot<'a>,
    entries: &'a [Entry],
    taken: RefCell<Vec<bool>>,
    /// What somebody would have taken, for guessing what a person meant.
    asked: RefCell<Vec<Keys>>,
}

impl<'a> Fields<'a> {
    /// The value under any of these spellings of one key; an explicit nothing counts as not there.
    pub(crate) fn take(&self, keys: Keys) -> Option<Spot<'a>> {
        self.asked.borrow_mut().push(keys);
        let mut first: Option<&'a Entry> = None;
        for (i, entry) in self.entries.iter().enumerate() {
            if !keys.contains(&&*entry.key) {
                continue;
            }
            self.taken.borrow_mut()[i] = true;
            match first {
                Some(first) if first.value.data != entry.value.data => self.at(entry).refuse(
                    reason::CONTRADICTION,
                    format!(
                        "{} here and {} under {}, which is the same property: keep one",
                        found(&entry.value),
                        found(&first.value),
                        first.key
                    ),
                ),
                _ => first = Some(entry),
            }
        }
        first.filter(|entry| entry.value.data != Data::Null).map(|entry| self.at(entry))
    }

    /// The value under a key that has one spelling.
    pub(crate) fn take_named(&self, key: &str) -> Option<Spot<'a>> {
        let at = self.entries.iter().position(|entry| &*entry.key == key)?;
        self.taken.borrow_mut()[at] = true;
        Some(self.at(&self.entries[at])).filter(|spot| spot.node.data != Data::Null)
    }

    /// Whether the block has any of these keys.
    pub(crate) fn has(&self, keys: Keys) -> bool {
        self.entries.iter().any(|entry| keys.contains(&&*entry.key))
    }

    /// Every key that nobody took yet, as a block with free keys has them.
    pub(crate) fn rest(&self) -> Vec<(&'a str, Spot<'a>)> {
        let free = |i: &usize| !self.taken.borrow()[*i];
        let left: Vec<usize> = (0..self.entries.len()).filter(free).collect();
        left.into_iter().filter_map(|i| Some((&*self.entries[i].key, self.take_named(&self.entries[i].key)?))).collect()
    }

    fn at(&self, entry: &'a Entry) -> Spot<'a> {
        let path = Path { parent: Some(&self.spot.path), step: Step::Key(&entry.key) };
        Spot { notes: self.spot.notes, node: &entry.value, line: entry.line, path }
    }

    pub(crate) fn text(&self, keys: Keys) -> Option<String> {
        Some(self.take(keys)?.text()?.to_owned())
    }

    pub(crate) fn bool(&self, keys: Keys) -> Option<bool> {
        self.take(keys)?.bool()
    }

    pub(crate) fn int<T: TryFrom<i128>>(&self, keys: Keys, min: i128, max: i128) -> Option<T> {
        self.take(keys)?.int(min, max)
    }

    pub(crate) fn u32(&self, keys: Keys) -> Option<u32> {
        self.int(keys, 0, u32::MAX.into())
    }

    pub(crate) fn parse<T: FromStr<Err: fmt::Display>>(&self, keys: Keys, what: &str) -> Option<T> {
        self.take(keys)?.parse(what)
    }

    /// A value that must be there.
    pub(crate) fn required(&self, keys: Keys) -> Option<Spot<'a>> {
        let found = self.take(keys);
        if found.is_none() {
            self.spot.refuse(reason::MISSING_KEY, format!("the key {} is missing", keys[0]));
        }
        found
    }

    /// Refuses every key that nobody took.
    pub(crate) fn finish(self) {
        let known: Vec<&str> = self.asked.borrow().iter().flat_map(|keys| keys.iter().copied()).collect();
        let taken = self.taken.borrow();
        for (entry, _) in self.entries.iter().zip(taken.iter()).filter(|(_, taken)| !**taken) {
            let hint = match nearest(&entry.key, known.iter().copied()) {
                Some(near) => format!("; did you mean {near}?"),
                None if &*entry.key == "<<" => "; merge keys are not supported: write the values out".to_owned(),
                None => "; docs/node-state.md has all keys".to_owned(),
            };
            self.at(entry).refuse(reason::UNKNOWN_KEY, format!("unknown key{hint}"));
        }
    }
}

/// Every spelling of yes and no that people write.
pub(crate) fn bool_word(text: &str) -> Option<bool> {
    let is = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    if is(&["true", "yes", "on", "1"]) {
        Some(true)
    } else if is(&["false", "no", "off", "0"]) {
        Some(false)
    } else {
        None
    }
}

/// A whole number, decimal, hexadecimal or octal.
pub(crate) fn number(text: &str) -> Option<i128> {
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return i128::from_str_radix(hex, 16).ok().filter(|_| !hex.starts_with(['+', '-']));
    }
    if let Some(octal) = text.strip_prefix("0o") {
        return i128::from_str_radix(octal, 8).ok().filter(|_| !octal.starts_with(['+', '-']));
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_all_their_spellings() {
        assert_eq!(number("0x10"), Some(16));
        assert_eq!(number("-1"), Some(-1));
        assert_eq!(number("0o17"), Some(15));
        assert_eq!(number("0x-1"), None);
        assert_eq!(number("ten"), None);
    }
}
