//! The store against a model that keeps every revision in memory.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use netloom_store::{
    Change, Clock, Expect, Key, Object, Options, Range, ReadError, Revision, Store, Watch, WatchError, WriteError,
    restore,
};
use proptest::{collection::vec, prelude::*, sample::Index};

use crate::scratch::{Scratch, wait};

type Objects = BTreeMap<Key, Object>;

/// What happens to the store.
#[derive(Debug, Clone)]
enum Act {
    Write(Vec<(usize, Condition, Option<u8>)>),
    List { range: usize, at: Index, limit: usize },
    Watch { range: usize, from: Index },
    Follow { watch: Index, steps: usize },
    Compact(Index),
    Reopen,
}

/// What a write expects, in terms of what is there.
#[derive(Debug, Clone, Copy)]
enum Condition {
    Any,
    Absent,
    Present,
    AsItIs,
    Outdated,
}

fn act() -> impl Strategy<Value = Act> {
    let condition = prop_oneof![
        4 => Just(Condition::Any), 1 => Just(Condition::Absent), 1 => Just(Condition::Present),
        2 => Just(Condition::AsItIs), 1 => Just(Condition::Outdated),
    ];
    let change = (0..KEYS, condition, proptest::option::weighted(0.7, any::<u8>()));
    prop_oneof![
        8 => vec(change, 1..4).prop_map(Act::Write),
        4 => (0..RANGES, any::<Index>(), 0..4_usize).prop_map(|(range, at, limit)| Act::List { range, at, limit }),
        2 => (0..RANGES, any::<Index>()).prop_map(|(range, from)| Act::Watch { range, from }),
        4 => (any::<Index>(), 0..8_usize).prop_map(|(watch, steps)| Act::Follow { watch, steps }),
        1 => any::<Index>().prop_map(Act::Compact),
        1 => Just(Act::Reopen),
    ]
}

/// How many events the history keeps, once they are old enough.
const WINDOW: usize = 12;
const KEYS: usize = 8;
const RANGES: usize = 6;

fn key(number: usize) -> Key {
    let (resource, namespace) = [("/pods", "a"), ("/pods", "b"), ("/nodes", "")][number % 3];
    Key::new(resource, namespace, &format!("n{}", number / 3))
}

fn range(number: usize) -> Range {
    match number {
        0 => Range::everything(),
        1 => Range::resource("/pods"),
        2 => Range::resource("/pods").in_namespace("b"),
        3 => Range::resource("/pods").named("n1"),
        4 => Range::object(&key(0)),
        _ => Range::resource("/nodes"),
    }
}

/// A clock that is two seconds on whenever it is asked, so that every event but the last is old.
fn ticking() -> Clock {
    static SECONDS: AtomicU64 = AtomicU64::new(0);
    Clock::new(|| Duration::from_secs(SECONDS.fetch_add(2, Ordering::Relaxed)))
}

/// A store, and all that is known of it.
struct Test {
    scratch: Scratch,
    store: Option<Store>,
    /// The objects at every revision.
    past: Vec<Objects>,
    /// Which object each revision changed.
    changed: Vec<Key>,
    oldest: usize,
    watches: Vec<(Watch, usize, usize)>,
}

impl Test {
    fn new() -> Self {
        let mut test = Self {
            scratch: Scratch::in_memory(),
            store: None,
            past: vec![Objects::new()],
            changed: Vec::new(),
            oldest: 0,
            watches: Vec::new(),
        };
        test.reopen();
        test
    }

    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    fn newest(&self) -> usize {
        self.past.len() - 1
    }

    fn reopen(&mut self) {
        self.store = None;
        let options = Options {
            window: Duration::from_secs(1),
            window_events: WINDOW as u64,
            queue_events: 2,
            recent_events: 3,
            clock: ticking(),
            ..Options::default()
        };
        let store = Store::open(&self.scratch.store(), options).unwrap();
        assert_eq!(store.revision(), Revision(self.newest() as u64));
        for (watch, range_number, seen) in &mut self.watches {
            // A client takes its watch up again where it was.
            if *seen >= self.oldest {
                *watch = store.watch(range(*range_number), Revision(*seen as u64)).unwrap();
            }
        }
        let oldest = self.oldest;
        self.watches.retain(|(_, _, seen)| *seen >= oldest);
        self.store = Some(store);
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Write(changes) => self.write(&changes),
            Act::List { range, at, limit } => self.list(range, at.index(self.newest() + 2), limit),
            Act::Watch { range, from } => self.watch(range, from.index(self.newest() + 1)),
            Act::Follow { watch, steps } if !self.watches.is_empty() => {
                self.follow(watch.index(self.watches.len()), steps);
            }
            Act::Follow { .. } => {}
            Act::Compact(to) => {
                let to = to.index(self.newest() + 1);
                self.oldest = self.oldest.max(to);
                let oldest = wait(self.store().compact(Revision(to as u64))).unwrap();
                assert_eq!(oldest, Revision(self.oldest as u64));
            }
            Act::Reopen => self.reopen(),
        }
    }

    fn write(&mut self, writes: &[(usize, Condition, Option<u8>)]) {
        let now = self.past.last().unwrap();
        let mut changes = Vec::new();
        let mut fits = true;
        for (number, condition, value) in writes {
            let current = now.get(&key(*number)).map(|object| object.revision);
            let expect = match (condition, current) {
                (Condition::Any, _) => Expect::Any,
                (Condition::Absent, _) | (Condition::AsItIs, None) => Expect::Absent,
                (Condition::Present, _) => Expect::Present,
                (Condition::AsItIs, Some(revision)) => Expect::Revision(revision),
                (Condition::Outdated, _) => Expect::Revision(Revision(current.map_or(1, |revision| revision.0 - 1))),
            };
            fits &= match expect {
                Expect::Any => true,
                Expect::Absent => current.is_none(),
                Expect::Present => current.is_some(),
                Expect::Revision(revision) => current == Some(revision),
            };
            let operation = value.map_or(netloom_store::Operation::Delete, |value| {
                netloom_store::Operation::Put(vec![value; usize::from(value)].into())
            });
            changes.push(Change { key: key(*number), expect, operation });
        }
        let mut keys: Vec<_> = writes.iter().map(|(number, ..)| number).collect();
        keys.sort_unstable();
        let twice = keys.windows(2).any(|pair| pair[0] == pair[1]);
        let written = self.store().write_blocking(changes.clone());
        match written {
            Err(WriteError::Duplicate { .. }) => assert!(twice),
            Err(WriteError::Conflict { .. }) => assert!(!fits && !twice),
            Err(error) => panic!("{error}"),
            Ok(written) => {
                assert!(fits && !twice);
                let revisions: Vec<_> = changes.into_iter().map(|change| self.apply(change)).collect();
                assert_eq!(written.revisions, revisions);
                self.drop_history(revisions.iter().flatten().count());
            }
        }
    }

    fn apply(&mut self, change: Change) -> Option<Revision> {
        let mut objects = self.past.last().unwrap().clone();
        let revision = Revision(self.past.len() as u64);
        match change.operation {
            netloom_store::Operation::Put(bytes) => {
                let created = objects.get(&change.key).map_or(revision, |object| object.created);
                objects.insert(change.key.clone(), Object { revision, created, bytes });
            }
            netloom_store::Operation::Delete => {
                objects.remove(&change.key)?;
            }
            netloom_store::Operation::Check => return None,
        }
        self.past.push(objects);
        self.changed.push(change.key);
        Some(revision)
    }

    /// The history that must be kept is; what may go is dropped with each write.
    fn drop_history(&mut self, written: usize) {
        let oldest = usize::try_from(self.store().stats().unwrap().oldest.0).unwrap();
        assert!(oldest >= self.oldest && oldest <= self.oldest.max(self.newest().saturating_sub(WINDOW)));
        assert!(written == 0 || self.newest() - oldest <= WINDOW);
        self.oldest = oldest;
    }

    fn list(&self, range_number: usize, at: usize, limit: usize) {
        let range = range(range_number);
        let revision = Revision(at as u64);
        let first = self.store().list(&range, Some(revision), None, (limit > 0).then_some(limit));
        if at > self.newest() {
            assert!(matches!(first, Err(ReadError::Future { .. })));
            return;
        }
        if at < self.oldest {
            assert_eq!(first, Err(ReadError::Compacted { oldest: Revision(self.oldest as u64) }));
            return;
        }
        let expected: Vec<_> = self.past[at]
            .iter()
            .filter(|(key, _)| range.contains(key))
            .map(|(key, object)| (key.clone(), object.clone()))
            .collect();
        let mut page = first.unwrap();
        let mut items = Vec::new();
        loop {
            items.append(&mut page.items);
            assert_eq!(page.revision, revision);
            assert_eq!(page.more, items.len() < expected.len());
            if let Some(remaining) = page.remaining {
                assert_eq!(remaining, (expected.len() - items.len()) as u64);
            }
            if !page.more {
                break;
            }
            let last = items.last().map(|(key, _)| key.clone());
            page = self.store().list(&range, Some(revision), last.as_ref(), Some(limit)).unwrap();
        }
        assert_eq!(items, expected);
        for (key, object) in self.past.last().unwrap() {
            assert_eq!(self.store().get(key).unwrap().as_ref(), Some(object));
        }
    }

    /// Without history nothing is left but the objects, and a backup holds just these.
    fn check_end(&mut self) {
        let newest = self.newest();
        self.oldest = newest;
        wait(self.store().compact(Revision(newest as u64))).unwrap();
        assert_eq!(self.store().stats().unwrap().history_bytes, 0);
        self.reopen();
        self.list(0, newest, 3);
        let (backup, restored) = (self.scratch.file("backup"), self.scratch.file("restored"));
        self.store().backup(&backup).unwrap();
        restore(&backup, &restored).unwrap();
        let everything = |store: &Store| store.list(&Range::everything(), None, None, None).unwrap().items;
        let restored = Store::open(&restored, Options::default()).unwrap();
        assert_eq!(everything(&restored), everything(self.store()));
        assert_eq!(restored.resources().unwrap(), self.store().resources().unwrap());
    }

    fn watch(&mut self, range_number: usize, from: usize) {
        match self.store().watch(range(range_number), Revision(from as u64)) {
            Ok(watch) => {
                assert!(from >= self.oldest);
                self.watches.push((watch, range_number, from));
            }
            Err(error) => {
                assert_eq!(error, ReadError::Compacted { oldest: Revision(self.oldest as u64) });
                assert!(from < self.oldest);
            }
        }
    }

    /// Takes some events from a watch and compares each with the past.
    fn follow(&mut self, number: usize, steps: usize) {
        let (watch, range_number, seen) = &mut self.watches[number];
        let range = range(*range_number);
        for _ in 0..steps {
            let next = (*seen..self.changed.len()).find(|index| range.contains(&self.changed[*index]));
            let Some(index) = next else {
                let ended = wait(async { tokio::time::timeout(Duration::from_millis(2), watch.next()).await });
                match ended {
                    // Nobody can tell that nothing of the range was in the history that is gone.
                    Ok(ended) => {
                        assert!(ended.is_err() && *seen < self.oldest, "{ended:?}");
                        self.watches.swap_remove(number);
                    }
                    Err(_) => assert_eq!(watch.progress(), Revision(self.changed.len() as u64)),
                }
                return;
            };
            assert!(watch.progress() <= Revision(index as u64));
            match wait(watch.next()) {
                Ok(event) => {
                    let key = &self.changed[index];
                    assert_eq!((event.revision, &event.key), (Revision(index as u64 + 1), key));
                    assert_eq!(event.object(), self.past[index + 1].get(key));
                    assert_eq!(event.previous(), self.past[index].get(key));
                    *seen = index + 1;
                }
                Err(error) => {
                    assert_eq!(error, WatchError::Lagged { oldest: Revision(self.oldest as u64) });
                    assert!(*seen < self.oldest);
                    self.watches.swap_remove(number);
                    return;
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_does_what_the_model_does(acts in vec(act(), 1..60)) {
        let mut test = Test::new();
        for act in acts {
            test.act(act);
        }
        for number in (0..test.watches.len()).rev() {
            test.follow(number, usize::MAX);
        }
        test.check_end();
    }
}
