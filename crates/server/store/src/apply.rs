//! Changing the tables: applying batches and dropping what falls out of the history.
//!
//! All of it happens inside a write transaction of the caller and touches nothing else.

use std::{collections::HashSet, time::Duration};

use redb::{ReadableTable as _, Table, WriteTransaction};

use crate::{
    Change, Event, EventKind, Object, Operation, Options, Revision, WriteError, Written,
    error::Trouble,
    read::{newest, state_of, version_from},
    record::{
        COUNTS, LOG, META, STATE, State, VERSIONS, count_key, decode_log, decode_version, encode_gone, encode_live,
        encode_log, is_live, version_key,
    },
};

/// The largest value. API objects are at most 3 MiB as a request; what is beyond this is a mistake.
const VALUE_LIMIT: usize = 8 << 20;
/// The longest key. Kubernetes names have up to 253 bytes each.
const KEY_LIMIT: usize = 4 << 10;

/// The tables of a store, open for writing.
pub(crate) struct Tables<'t> {
    versions: Table<'t, &'static [u8], &'static [u8]>,
    log: Table<'t, u64, &'static [u8]>,
    counts: Table<'t, &'static [u8], u64>,
    meta: Table<'t, &'static str, &'static [u8]>,
    /// Where the store stands with what was applied so far.
    state: State,
}

/// A change together with what it found.
struct Prepared {
    change: Change,
    prefix: Vec<u8>,
    current: Option<Object>,
}

impl<'t> Tables<'t> {
    /// Opens the tables; the store stands at `state`.
    pub(crate) fn open(transaction: &'t WriteTransaction, state: State) -> Result<Self, Trouble> {
        let meta = transaction.open_table(META)?;
        // Going on from anywhere else would give revisions out twice.
        if state_of(&meta)? != state {
            return Err(Trouble::record("it is not where this process has left it"));
        }
        Ok(Self {
            versions: transaction.open_table(VERSIONS)?,
            log: transaction.open_table(LOG)?,
            counts: transaction.open_table(COUNTS)?,
            meta,
            state,
        })
    }

    /// Writes down where the store stands now.
    pub(crate) fn finish(mut self) -> Result<State, Trouble> {
        self.meta.insert(STATE, self.state.encode().as_slice())?;
        Ok(self.state)
    }

    /// Applies a batch, all of it or nothing, and adds what happened to `events`.
    pub(crate) fn apply(
        &mut self,
        changes: Vec<Change>,
        now: Duration,
        events: &mut Vec<Event>,
    ) -> Result<Result<Written, WriteError>, Trouble> {
        if let Err(refused) = check_sizes(&changes) {
            return Ok(Err(refused));
        }
        let mut prepared = Vec::with_capacity(changes.len());
        for change in changes {
            let prefix = change.key.prefix();
            let current = match newest(&self.versions, &prefix)? {
                Some((revision, record)) => decode_version(revision, record.value())?,
                None => None,
            };
            let actual = current.as_ref().map(|object| object.revision);
            if !change.expect.holds(actual) {
                return Ok(Err(WriteError::Conflict { key: change.key, expected: change.expect, actual }));
            }
            prepared.push(Prepared { change, prefix, current });
        }
        let milliseconds = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        let mut revisions = Vec::with_capacity(prepared.len());
        for one in prepared {
            let event = self.change(one, milliseconds)?;
            revisions.push(event.as_ref().map(|event| event.revision));
            events.extend(event);
        }
        Ok(Ok(Written { revisions }))
    }

    fn change(&mut self, prepared: Prepared, milliseconds: u64) -> Result<Option<Event>, Trouble> {
        let Prepared { change: Change { key, operation, .. }, prefix, current } = prepared;
        let next = self.state.revision + 1;
        let (kind, record) = match (operation, current) {
            (Operation::Check, _) | (Operation::Delete, None) => return Ok(None),
            (Operation::Put(bytes), previous) => {
                let created = previous.as_ref().map_or(Revision(next), |previous| previous.created);
                let record = encode_live(created.0, &bytes);
                let object = Object { revision: Revision(next), created, bytes };
                (EventKind::Put { object, previous }, record)
            }
            (Operation::Delete, Some(previous)) => (EventKind::Delete { previous }, encode_gone()),
        };
        let event = Event { revision: Revision(next), key, kind };
        self.versions.insert(version_key(&prefix, next).as_slice(), record.as_slice())?;
        self.log.insert(next, encode_log(milliseconds, &prefix).as_slice())?;
        self.state.revision = next;
        match (event.object(), event.previous()) {
            (Some(_), None) => self.count(&prefix, 1)?,
            (None, Some(_)) => {
                self.state.history += size(&prefix, &record);
                self.count(&prefix, -1)?;
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
        if let Some(previous) = event.previous() {
            self.state.history += size(&prefix, &encode_live(previous.created.0, &[])) + previous.bytes.len() as u64;
        }
        Ok(Some(event))
    }

    /// Drops up to `budget` events that need not be kept any longer.
    pub(crate) fn compact(&mut self, options: &Options, now: Duration, budget: usize) -> Result<usize, Trouble> {
        for dropped in 0..budget {
            if !self.oldest_is_due(options, now)? {
                return Ok(dropped);
            }
            self.drop_oldest()?;
        }
        Ok(budget)
    }

    /// Drops up to `budget` events up to and including a revision.
    pub(crate) fn compact_to(&mut self, floor: u64, budget: usize) -> Result<usize, Trouble> {
        let wanted = floor.min(self.state.revision).saturating_sub(self.state.floor);
        let dropped = budget.min(usize::try_from(wanted).unwrap_or(usize::MAX));
        for _ in 0..dropped {
            self.drop_oldest()?;
        }
        Ok(dropped)
    }

    fn oldest_is_due(&self, options: &Options, now: Duration) -> Result<bool, Trouble> {
        let events = self.state.revision - self.state.floor;
        if events == 0 {
            return Ok(false);
        }
        if self.state.history > options.window_bytes {
            return Ok(true);
        }
        if events <= options.window_events {
            return Ok(false);
        }
        let Some((_, record)) = self.log.first()? else { return Ok(false) };
        let (milliseconds, _) = decode_log(record.value())?;
        Ok(now.saturating_sub(Duration::from_millis(milliseconds)) > options.window)
    }

    /// Raises the floor by one: what the event there replaced can no longer be asked for.
    fn drop_oldest(&mut self) -> Result<(), Trouble> {
        let revision = self.state.floor + 1;
        let missing = || Trouble::record("a revision is missing in the log");
        let prefix = {
            let record = self.log.remove(revision)?.ok_or_else(missing)?;
            decode_log(record.value())?.1.to_vec()
        };
        let replaced = version_from(&self.versions, &prefix, revision - 1)?.map(|(replaced, _)| replaced);
        if let Some(replaced) = replaced {
            self.drop_version(&prefix, replaced)?;
        }
        let gone = match version_from(&self.versions, &prefix, revision)? {
            Some((found, record)) if found == revision => !is_live(record.value())?,
            _ => return Err(Trouble::record("the log names a version that is not there")),
        };
        if gone {
            self.drop_version(&prefix, revision)?;
        }
        self.state.floor = revision;
        Ok(())
    }

    fn drop_version(&mut self, prefix: &[u8], revision: u64) -> Result<(), Trouble> {
        if let Some(record) = self.versions.remove(version_key(prefix, revision).as_slice())? {
            self.state.history = self.state.history.saturating_sub(size(prefix, record.value()));
        }
        Ok(())
    }

    fn count(&mut self, prefix: &[u8], change: i64) -> Result<(), Trouble> {
        let place = count_key(prefix)?;
        let before = self.counts.get(place)?.map_or(0, |count| count.value());
        match before.saturating_add_signed(change) {
            0 => self.counts.remove(place)?.map(drop),
            after => self.counts.insert(place, after)?.map(drop),
        };
        Ok(())
    }
}

fn check_sizes(changes: &[Change]) -> Result<(), WriteError> {
    let mut seen = HashSet::with_capacity(changes.len());
    for Change { key, operation, .. } in changes {
        let name = key.resource().len() + key.namespace().len() + key.name().len();
        if name > KEY_LIMIT {
            return Err(WriteError::TooLarge {
                what: "the name of an object".to_owned(),
                bytes: name,
                limit: KEY_LIMIT,
            });
        }
        if let Operation::Put(value) = operation
            && value.len() > VALUE_LIMIT
        {
            return Err(WriteError::TooLarge { what: key.to_string(), bytes: value.len(), limit: VALUE_LIMIT });
        }
        if *operation != Operation::Check && !seen.insert(key) {
            return Err(WriteError::Duplicate { key: key.clone() });
        }
    }
    Ok(())
}

/// How many bytes a version takes, without what the tree adds.
fn size(prefix: &[u8], record: &[u8]) -> u64 {
    (version_key(prefix, 0).len() + record.len()) as u64
}
