//! Reading: objects, lists at any revision of the history, and the history itself.
//!
//! Everything here works on one read transaction, so all of it is true at the same revision.

use std::ops::Bound;

use redb::{Database, ReadTransaction, ReadableDatabase as _, ReadableTable};

use crate::{
    Event, EventKind, Key, Object, Page, Range, ReadError, ResourceCount, Revision,
    error::Trouble,
    key::past,
    record::{
        COUNTS, LOG, META, STATE, State, VERSIONS, decode_log, decode_version, is_live, key_of, split_version_key,
        version_key,
    },
};

/// How many outdated versions of one object are stepped over before the next object is looked for
/// in the tree. Stepping is cheaper for a few, looking is cheaper for many.
const STEPS: u32 = 8;

/// The revision of a version, and its record.
type Version<'a> = (u64, redb::AccessGuard<'a, &'static [u8]>);

/// A table with keys and values of plain bytes.
pub(crate) trait Versions: ReadableTable<&'static [u8], &'static [u8]> {}
impl<T: ReadableTable<&'static [u8], &'static [u8]>> Versions for T {}

/// Part of the history.
#[derive(Debug)]
pub(crate) struct Chapter {
    /// The events of the range, in order.
    pub(crate) events: Vec<Event>,
    /// Up to which revision, inclusive, these are all.
    pub(crate) until: u64,
}

/// How much of the history is read at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Portion {
    /// How many events of the range.
    pub(crate) events: usize,
    /// How many events altogether.
    pub(crate) scanned: usize,
    /// How many bytes of values.
    pub(crate) bytes: usize,
}

/// The store as it was at one moment.
pub(crate) struct View {
    transaction: ReadTransaction,
    /// Where it stood.
    pub(crate) state: State,
}

impl View {
    /// The store as it is now.
    pub(crate) fn of(database: &Database) -> Result<Self, Trouble> {
        let transaction = database.begin_read()?;
        let state = state_of(&transaction.open_table(META)?)?;
        Ok(Self { transaction, state })
    }

    /// One object.
    pub(crate) fn get(&self, key: &Key) -> Result<Option<Object>, Trouble> {
        let versions = self.transaction.open_table(VERSIONS)?;
        match newest(&versions, &key.prefix())? {
            Some((revision, record)) => decode_version(revision, record.value()),
            None => Ok(None),
        }
    }

    /// The objects of a range at a revision, from behind a key on, until there are so many or their
    /// values have so many bytes.
    pub(crate) fn list(
        &self,
        range: &Range,
        at: Option<Revision>,
        after: Option<&Key>,
        (objects, bytes): (usize, usize),
    ) -> Result<Page, ReadError> {
        let revision = self.revision_at(at)?;
        let (mut start, end) = range.bounds();
        if let Some(after) = after {
            // A token may name a key before the range; the range still begins where it begins.
            start = start.max(past(&after.prefix()).unwrap_or_default());
        }
        let versions = self.transaction.open_table(VERSIONS).map_err(Trouble::from)?;
        let mut items = Vec::new();
        let (mut more, mut held) = (false, 0);
        scan(&versions, (start, end), revision, |prefix, object_revision, record| {
            if items.len() >= objects || held >= bytes {
                // Whether there is more is only known once one more of the range is seen.
                more = !range.is_filtered() || range.contains(&key_of(prefix)?);
                return Ok(!more);
            }
            let key = key_of(prefix)?;
            if range.contains(&key)
                && let Some(object) = decode_version(object_revision, record)?
            {
                held += object.bytes.len();
                items.push((key, object));
            }
            Ok(true)
        })?;
        let counted = revision == self.state.revision && after.is_none() && !range.is_filtered();
        let remaining = match counted {
            true => Some(self.count(range)?.saturating_sub(items.len() as u64)),
            false if !more => Some(0),
            false => None,
        };
        Ok(Page { revision: Revision(revision), items, more, remaining })
    }

    /// The events of a range behind `after` and up to `until`, the first portion of them.
    pub(crate) fn history(
        &self,
        range: &Range,
        after: u64,
        until: u64,
        portion: Portion,
    ) -> Result<Chapter, ReadError> {
        if after < self.state.floor {
            return Err(ReadError::Compacted { oldest: Revision(self.state.floor) });
        }
        let until = until.min(self.state.revision);
        let log = self.transaction.open_table(LOG).map_err(Trouble::from)?;
        let versions = self.transaction.open_table(VERSIONS).map_err(Trouble::from)?;
        let mut chapter = Chapter { events: Vec::new(), until: after };
        let (mut bytes, mut scanned) = (0, 0);
        let records = log.range((Bound::Excluded(after), Bound::Included(until))).map_err(Trouble::from)?;
        for record in records.take(portion.scanned) {
            if chapter.events.len() >= portion.events || bytes >= portion.bytes {
                return Ok(chapter);
            }
            let (revision, record) = record.map_err(Trouble::from)?;
            let (_, prefix) = decode_log(record.value())?;
            let key = key_of(prefix)?;
            if range.contains(&key) {
                let event = event_at(&versions, key, prefix, revision.value())?;
                bytes += event.weight();
                chapter.events.push(event);
            }
            chapter.until = revision.value();
            scanned += 1;
        }
        if scanned < portion.scanned {
            chapter.until = until;
        }
        Ok(chapter)
    }

    /// The event of one revision.
    pub(crate) fn event(&self, revision: u64) -> Result<Event, ReadError> {
        if revision <= self.state.floor {
            return Err(ReadError::Compacted { oldest: Revision(self.state.floor) });
        }
        let log = self.transaction.open_table(LOG).map_err(Trouble::from)?;
        let versions = self.transaction.open_table(VERSIONS).map_err(Trouble::from)?;
        let record = log.get(revision).map_err(Trouble::from)?;
        let record = record.ok_or_else(|| Trouble::record("a revision is missing in the log"))?;
        let (_, prefix) = decode_log(record.value())?;
        Ok(event_at(&versions, key_of(prefix)?, prefix, revision)?)
    }

    /// Calls `visit` with the prefix, revision and record of every object there is.
    pub(crate) fn each(&self, visit: impl FnMut(&[u8], u64, &[u8]) -> Result<bool, Trouble>) -> Result<(), Trouble> {
        let versions = self.transaction.open_table(VERSIONS)?;
        scan(&versions, Range::everything().bounds(), self.state.revision, visit)
    }

    /// How many objects there are of each resource.
    pub(crate) fn resources(&self) -> Result<Vec<ResourceCount>, Trouble> {
        let counts = self.transaction.open_table(COUNTS)?;
        let mut resources: Vec<ResourceCount> = Vec::new();
        for record in counts.iter()? {
            let (place, objects) = record?;
            // A place is a key without a name, so an empty name makes it one.
            let key = key_of(&[place.value(), &[0]].concat())?;
            match resources.last_mut().filter(|last| last.resource == key.resource()) {
                Some(last) => last.objects += objects.value(),
                None => resources.push(ResourceCount { resource: key.resource().to_owned(), objects: objects.value() }),
            }
        }
        Ok(resources)
    }

    fn revision_at(&self, at: Option<Revision>) -> Result<u64, ReadError> {
        let State { revision, floor, .. } = self.state;
        match at {
            None => Ok(revision),
            Some(at) if at.0 < floor => Err(ReadError::Compacted { oldest: Revision(floor) }),
            Some(at) if at.0 > revision => Err(ReadError::Future { asked: at, current: Revision(revision) }),
            Some(at) => Ok(at.0),
        }
    }

    /// How many objects a range without a name holds.
    fn count(&self, range: &Range) -> Result<u64, Trouble> {
        let counts = self.transaction.open_table(COUNTS)?;
        let (start, end) = range.bounds();
        let mut sum = 0;
        for record in counts.range::<&[u8]>(between(&start, &end))? {
            sum += record?.1.value();
        }
        Ok(sum)
    }
}

/// Where a store stands.
pub(crate) fn state_of(meta: &impl ReadableTable<&'static str, &'static [u8]>) -> Result<State, Trouble> {
    let state = meta.get(STATE)?.ok_or_else(|| Trouble::record("there is no newest revision"))?;
    State::decode(state.value())
}

/// The newest version of an object, and its revision.
pub(crate) fn newest<'a>(versions: &'a impl Versions, prefix: &[u8]) -> Result<Option<Version<'a>>, Trouble> {
    version_from(versions, prefix, u64::MAX)
}

/// The newest version of an object that is not newer than `at`, and its revision.
pub(crate) fn version_from<'a>(
    versions: &'a impl Versions,
    prefix: &[u8],
    at: u64,
) -> Result<Option<Version<'a>>, Trouble> {
    let start = version_key(prefix, at);
    let Some(found) = versions.range::<&[u8]>(start.as_slice()..)?.next() else { return Ok(None) };
    let (key, record) = found?;
    let (of, revision) = split_version_key(key.value())?;
    Ok((of == prefix).then_some((revision, record)))
}

/// Calls `visit` with prefix, revision and record of every object that existed at a revision, until
/// it says that it has enough.
fn scan(
    versions: &impl Versions,
    (start, end): (Vec<u8>, Bound<Vec<u8>>),
    at: u64,
    mut visit: impl FnMut(&[u8], u64, &[u8]) -> Result<bool, Trouble>,
) -> Result<(), Trouble> {
    let mut rest = versions.range::<&[u8]>(between(&start, &end))?;
    // The object whose version is settled: what follows of it is older.
    let mut settled: Vec<u8> = Vec::new();
    let mut steps = 0;
    while let Some(found) = rest.next() {
        let (key, record) = found?;
        let (prefix, revision) = split_version_key(key.value())?;
        let outdated = prefix == settled;
        if outdated || revision > at {
            steps += 1;
            if steps > STEPS {
                steps = 0;
                let next = if outdated { past(prefix).unwrap_or_default() } else { version_key(prefix, at) };
                rest = versions.range::<&[u8]>(between(&next, &end))?;
            }
            continue;
        }
        steps = 0;
        settled.clear();
        settled.extend_from_slice(prefix);
        if is_live(record.value())? && !visit(prefix, revision, record.value())? {
            return Ok(());
        }
    }
    Ok(())
}

/// What happened to an object at a revision.
fn event_at(versions: &impl Versions, key: Key, prefix: &[u8], revision: u64) -> Result<Event, Trouble> {
    let missing = || Trouble::record("the log names a version that is not there");
    let object = match version_from(versions, prefix, revision)? {
        Some((found, record)) if found == revision => decode_version(revision, record.value())?,
        _ => return Err(missing()),
    };
    let previous = match version_from(versions, prefix, revision - 1)? {
        Some((revision, record)) => decode_version(revision, record.value())?,
        None => None,
    };
    let kind = match (object, previous) {
        (Some(object), previous) => EventKind::Put { object, previous },
        (None, Some(previous)) => EventKind::Delete { previous },
        (None, None) => return Err(missing()),
    };
    Ok(Event { revision: Revision(revision), key, kind })
}

fn between<'a>(start: &'a [u8], end: &'a Bound<Vec<u8>>) -> (Bound<&'a [u8]>, Bound<&'a [u8]>) {
    (Bound::Included(start), end.as_ref().map(Vec::as_slice))
}
