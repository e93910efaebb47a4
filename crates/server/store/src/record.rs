//! The tables of the file and how their records look.
//!
//! ```text
//! versions  key, then the revision counted down ► kind, created at, value
//! log       revision                            ► time in ms, key
//! counts    resource, namespace                 ► number of objects
//! meta      "format", "state"                   ► what the file is; revision, floor, history bytes
//! ```
//!
//! A value is stored once, under its key and revision. The newest version of an object sorts before
//! its older ones; a deletion is a version without a value. What the log tells of revision `r` is
//! therefore: the version `r` of its key, and before that the next one behind it.
//!
//! `floor` is the oldest revision at which the store can be read: every version that some newer one
//! at or below the floor replaced is gone, and so are the records of the log up to the floor.

use bytes::Bytes;
use redb::TableDefinition;

use crate::{Key, Object, Revision, error::Trouble};

/// Every version of every object that can still be read.
pub(crate) const VERSIONS: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("versions");
/// What happened since the floor.
pub(crate) const LOG: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("log");
/// How many objects there are.
pub(crate) const COUNTS: TableDefinition<'static, &[u8], u64> = TableDefinition::new("counts");
/// What the file is and where it stands.
pub(crate) const META: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("meta");

/// The name of the record in [`META`] that says what the file is.
pub(crate) const FORMAT: &str = "format";
/// The name of the record in [`META`] that holds the [`State`].
pub(crate) const STATE: &str = "state";
/// What a store says of itself.
pub(crate) const STORE_FORMAT: &str = "netloom store 1";
/// What a backup says of itself.
pub(crate) const BACKUP_FORMAT: &str = "netloom backup 1";

const REVISION_BYTES: usize = 8;
const HEADER_BYTES: usize = 1 + REVISION_BYTES;
const GONE: u8 = 0;
const LIVE: u8 = 1;

/// Where a store stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct State {
    /// The newest revision.
    pub(crate) revision: u64,
    /// The oldest revision at which the store can be read.
    pub(crate) floor: u64,
    /// How many bytes versions take that are there for the history only.
    pub(crate) history: u64,
}

impl State {
    /// The record of it.
    pub(crate) fn encode(self) -> Vec<u8> {
        [self.revision, self.floor, self.history].iter().flat_map(|number| number.to_be_bytes()).collect()
    }

    /// Reads the record.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Trouble> {
        let wrong = || Trouble::record("the record of the newest revision is malformed");
        let (revision, rest) = number(bytes).ok_or_else(wrong)?;
        let (floor, rest) = number(rest).ok_or_else(wrong)?;
        let (history, rest) = number(rest).ok_or_else(wrong)?;
        if !rest.is_empty() || floor > revision {
            return Err(wrong());
        }
        Ok(Self { revision, floor, history })
    }
}

/// The key of one version in [`VERSIONS`].
pub(crate) fn version_key(prefix: &[u8], revision: u64) -> Vec<u8> {
    [prefix, &(!revision).to_be_bytes()].concat()
}

/// Parts the key of a version into the object's prefix and the revision.
pub(crate) fn split_version_key(key: &[u8]) -> Result<(&[u8], u64), Trouble> {
    key.split_last_chunk::<REVISION_BYTES>()
        .filter(|(prefix, _)| prefix.last() == Some(&0))
        .map(|(prefix, revision)| (prefix, !u64::from_be_bytes(*revision)))
        .ok_or_else(|| Trouble::record("a version has no key"))
}

/// The key that an object's prefix stands for.
pub(crate) fn key_of(prefix: &[u8]) -> Result<Key, Trouble> {
    Key::from_prefix(prefix).ok_or_else(|| Trouble::record("the key of an object is malformed"))
}

/// The record of a version with a value.
pub(crate) fn encode_live(created: u64, value: &[u8]) -> Vec<u8> {
    let mut record = Vec::with_capacity(HEADER_BYTES + value.len());
    record.push(LIVE);
    record.extend(created.to_be_bytes());
    record.extend(value);
    record
}

/// The record of a deletion.
pub(crate) fn encode_gone() -> Vec<u8> {
    let mut record = vec![GONE];
    record.extend([0; REVISION_BYTES]);
    record
}

/// Whether the record of a version is one of an object that exists.
pub(crate) fn is_live(record: &[u8]) -> Result<bool, Trouble> {
    match record.first() {
        Some(&LIVE) if record.len() >= HEADER_BYTES => Ok(true),
        Some(&GONE) if record.len() == HEADER_BYTES => Ok(false),
        _ => Err(Trouble::record("a version of an object is malformed")),
    }
}

/// Reads the record of a version; nothing if it is that of a deletion.
pub(crate) fn decode_version(revision: u64, record: &[u8]) -> Result<Option<Object>, Trouble> {
    if !is_live(record)? {
        return Ok(None);
    }
    let (created, value) =
        number(&record[1..]).ok_or_else(|| Trouble::record("a version of an object is malformed"))?;
    Ok(Some(Object { revision: Revision(revision), created: Revision(created), bytes: Bytes::copy_from_slice(value) }))
}

/// The record of the log for a change of the object with this prefix.
pub(crate) fn encode_log(milliseconds: u64, prefix: &[u8]) -> Vec<u8> {
    [&milliseconds.to_be_bytes(), prefix].concat()
}

/// Reads a record of the log: when, and the prefix of the object.
pub(crate) fn decode_log(record: &[u8]) -> Result<(u64, &[u8]), Trouble> {
    number(record).ok_or_else(|| Trouble::record("a record of the log is malformed"))
}

/// The key in [`COUNTS`] for the objects beside this one.
pub(crate) fn count_key(prefix: &[u8]) -> Result<&[u8], Trouble> {
    let rest = prefix.strip_suffix(&[0]).unwrap_or(prefix);
    let end = rest.iter().rposition(|byte| *byte == 0);
    end.map(|end| &prefix[..=end]).ok_or_else(|| Trouble::record("the key of an object is malformed"))
}

fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    bytes.split_first_chunk::<REVISION_BYTES>().map(|(number, rest)| (u64::from_be_bytes(*number), rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn records_come_back(revision: u64, floor: u64, history: u64, value: Vec<u8>, created: u64, time: u64) {
            let state = State { revision, floor: floor.min(revision), history };
            prop_assert_eq!(State::decode(&state.encode()).unwrap(), state);
            let object = decode_version(revision, &encode_live(created, &value)).unwrap().unwrap();
            prop_assert_eq!((object.revision.0, object.created.0, &object.bytes[..]), (revision, created, &value[..]));
            let prefix = Key::new("/pods", "a", "b").prefix();
            let key = version_key(&prefix, revision);
            prop_assert_eq!(split_version_key(&key).unwrap(), (&prefix[..], revision));
            let record = encode_log(time, &prefix);
            prop_assert_eq!(decode_log(&record).unwrap(), (time, &prefix[..]));
        }

        #[test]
        fn arbitrary_records_never_panic(bytes: Vec<u8>) {
            State::decode(&bytes).ok();
            decode_version(1, &bytes).ok();
            decode_log(&bytes).ok();
            split_version_key(&bytes).ok();
            count_key(&bytes).ok();
        }

        #[test]
        fn newer_versions_sort_first(older: u64, newer: u64) {
            prop_assume!(older < newer);
            prop_assert!(version_key(b"a\0", newer) < version_key(b"a\0", older));
        }
    }

    #[test]
    fn a_deletion_has_no_value() {
        assert_eq!(decode_version(7, &encode_gone()).unwrap(), None);
        assert_eq!(count_key(&Key::new("/pods", "a", "b").prefix()).unwrap(), b"/pods\0a\0");
        assert_eq!(count_key(&Key::new("/nodes", "", "b").prefix()).unwrap(), b"/nodes\0\0");
    }
}
