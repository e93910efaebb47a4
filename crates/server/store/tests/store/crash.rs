//! Killing the process under load: what was acknowledged is there, what is there is whole, and a
//! watch goes on where it was.
//!
//! A child process writes from several threads and tells on its standard output what was acknowledged
//! and what its watch saw. It is killed at a random moment; what it has reported stays in the pipe. The
//! next child goes on with the same file. One life of a child is one history;
//! `NETLOOM_STORE_HISTORIES` says how many there are.

use std::{
    collections::BTreeMap,
    env,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use netloom_store::{Change, Expect, Key, Options, Range, Revision, Store};

use crate::scratch::{Scratch, pod, wait};

const FILE: &str = "NETLOOM_STORE_TEST_FILE";
const RESUME: &str = "NETLOOM_STORE_TEST_RESUME";
const SEED: &str = "NETLOOM_STORE_TEST_SEED";
/// How many children use one file after the other.
const LIVES: u64 = 20;
const WRITERS: u64 = 4;

fn options() -> Options {
    // Short, so that history is dropped under load, but longer than what one child writes.
    Options { window: Duration::ZERO, window_events: 4000, queue_events: 8, recent_events: 16, ..Options::default() }
}

#[test]
fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    let histories = env::var("NETLOOM_STORE_HISTORIES").map_or(100_u64, |number| number.parse().unwrap());
    let lineages = histories.div_ceil(LIVES);
    let next = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let lineage = next.fetch_add(1, Ordering::Relaxed);
                    if lineage >= lineages {
                        break;
                    }
                    follow(lineage, LIVES.min(histories - lineage * LIVES));
                }
            });
        }
    });
}

/// What is known of a store from what its children reported and from its history.
#[derive(Default)]
struct Known {
    objects: BTreeMap<Key, (Revision, Vec<u8>)>,
    revision: Revision,
    seen: u64,
}

fn follow(lineage: u64, lives: u64) {
    let scratch = Scratch::in_memory();
    let mut known = Known::default();
    for life in 0..lives {
        let seed = lineage * 1_000 + life + 1;
        let reported = live(&scratch.store(), known.seen, seed);
        known.check(&scratch.store(), &reported, &format!("seed {seed}"));
    }
}

/// Starts a child, kills it at a random moment, and returns what it reported.
fn live(file: &Path, resume: u64, seed: u64) -> Vec<String> {
    let mut random = Random(seed);
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["crash::child", "--exact", "--nocapture", "--test-threads=1"])
        .env(FILE, file)
        .env(RESUME, resume.to_string())
        .env(SEED, seed.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = lines_of(&mut child);
    // Some die while they open the store, most under load.
    let time_limit = if random.below(10) == 0 { 0 } else { 1 + random.below(300) };
    let mut reported = Vec::new();
    while (reported.len() as u64) < time_limit {
        reported.push(lines.recv_timeout(Duration::from_mins(1)).expect("the child writes"));
    }
    let moment = Duration::from_micros(random.below(3_000));
    reported.extend(lines.recv_timeout(moment));
    child.kill().unwrap();
    child.wait().unwrap();
    reported.extend(lines);
    reported
}

fn lines_of(child: &mut Child) -> mpsc::Receiver<String> {
    let output = BufReader::new(child.stdout.take().unwrap());
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            // What the test harness says is not for us.
            if ["wrote ", "saw "].iter().any(|word| line.starts_with(word)) && sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

impl Known {
    fn check(&mut self, file: &Path, reported: &[String], what: &str) {
        let store = Store::open(file, options()).unwrap_or_else(|error| panic!("{what}: {error}"));
        let before = self.revision;
        assert!(store.revision() >= before, "{what}: the revision went back");
        let events = events(&store, before);
        let mut by_revision = BTreeMap::new();
        for (expected, event) in (before.0 + 1..).zip(&events) {
            assert_eq!(event.revision.0, expected, "{what}: a revision is missing or reported twice");
            let bytes = event.object().map(|object| object.bytes.to_vec());
            by_revision.insert(expected, (event.key.clone(), bytes.clone()));
            match bytes {
                Some(bytes) => self.objects.insert(event.key.clone(), (event.revision, bytes)),
                None => self.objects.remove(&event.key),
            };
        }
        self.revision = store.revision();
        assert_eq!(events.len() as u64, self.revision.0 - before.0, "{what}: the history has gaps");
        let listed = store.list(&Range::everything(), None, None, None).unwrap();
        let listed: BTreeMap<_, _> =
            listed.items.into_iter().map(|(key, object)| (key, (object.revision, object.bytes.to_vec()))).collect();
        assert!(listed == self.objects, "{what}: the objects are not what the history says");
        self.check_reported(reported, &by_revision, what);
        check_batches(&by_revision, what);
    }

    fn check_reported(&mut self, reported: &[String], events: &BTreeMap<u64, (Key, Option<Vec<u8>>)>, what: &str) {
        for line in reported {
            let words: Vec<_> = line.split(' ').collect();
            match words[..] {
                ["saw", revision] => {
                    let revision: u64 = revision.parse().unwrap();
                    assert_eq!(revision, self.seen + 1, "{what}: the watch lost or repeated an event");
                    assert!(revision <= self.revision.0, "{what}: the watch saw what is not there");
                    self.seen = revision;
                }
                ["wrote", revision, name, value] => {
                    let found = events.get(&revision.parse().unwrap());
                    let (key, bytes) = found.unwrap_or_else(|| panic!("{what}: lost: {line}"));
                    let found = bytes.as_deref().map_or("gone", |bytes| first_word(bytes));
                    assert_eq!((key.name(), found), (name, value), "{what}: {line}");
                }
                // The last line may be cut.
                _ => {}
            }
        }
    }
}

/// Every event behind a revision, read by a watch as a client would.
fn events(store: &Store, from: Revision) -> Vec<std::sync::Arc<netloom_store::Event>> {
    let mut watch = store.watch(Range::everything(), from).unwrap();
    let count = store.revision().0 - from.0;
    wait(async {
        let mut events = Vec::new();
        for _ in 0..count {
            events.push(watch.next().await.unwrap());
        }
        events
    })
}

/// The three members of a batch follow each other, or none of them is there.
fn check_batches(events: &BTreeMap<u64, (Key, Option<Vec<u8>>)>, what: &str) {
    let mut members: BTreeMap<String, u64> = BTreeMap::new();
    for (_, bytes) in events.values() {
        if let Some(word) = bytes.as_deref().map(first_word).filter(|word| word.starts_with("batch")) {
            *members.entry(word.to_owned()).or_default() += 1;
        }
    }
    for (batch, count) in members {
        assert_eq!(count, 3, "{what}: half of {batch}");
    }
}

fn first_word(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap().split(' ').next().unwrap()
}

/// The one that is killed. On its own it does nothing.
#[test]
fn child() {
    let Some(file) = env::var_os(FILE) else { return };
    let number = |name: &str| env::var(name).unwrap().parse::<u64>().unwrap();
    let (resume, seed) = (number(RESUME), number(SEED));
    // The harness has begun a line of its own.
    tell("\n");
    let store = Store::open(Path::new(&file), options()).unwrap();
    let mut watch = store.watch(Range::everything(), Revision(resume)).unwrap();
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let store = store.clone();
            scope.spawn(move || write_for_ever(&store, writer, seed));
        }
        wait(async {
            loop {
                let event = watch.next().await.unwrap();
                tell(&format!("saw {}\n", event.revision));
            }
        });
    });
}

fn write_for_ever(store: &Store, writer: u64, seed: u64) {
    let mut random = Random(seed * 16 + writer);
    for round in 0_u64.. {
        let name = |random: &mut Random| format!("{writer}-{}", random.below(12));
        // Every value begins with a word of its own; what follows makes pages of different sizes.
        let value = |kind: &str, random: &mut Random| {
            let length = usize::try_from(random.below(if round % 20 == 0 { 30_000 } else { 600 })).unwrap();
            format!("{kind}-{seed}-{writer}-{round} {}", "x".repeat(length))
        };
        let changes = match random.below(6) {
            0 => vec![Change::delete(pod("a", &name(&mut random)), Expect::Any)],
            1 => {
                let word = value("batch", &mut random);
                let key = |place: usize| Key::new("/batches", "", &format!("{writer}-{place}"));
                (0..3).map(|place| Change::put(key(place), word.clone())).collect()
            }
            _ => vec![Change::put(pod("a", &name(&mut random)), value("put", &mut random))],
        };
        let written = store.write_blocking(changes.clone()).unwrap();
        for (change, revision) in changes.iter().zip(written.revisions) {
            let Some(revision) = revision else { continue };
            let word = match &change.operation {
                netloom_store::Operation::Put(bytes) => first_word(bytes).to_owned(),
                netloom_store::Operation::Delete | netloom_store::Operation::Check => "gone".to_owned(),
            };
            tell(&format!("wrote {revision} {} {word}\n", change.key.name()));
        }
    }
}

fn tell(line: &str) {
    let mut output = std::io::stdout().lock();
    // Nobody may be listening any more, just before the end.
    output.write_all(line.as_bytes()).and_then(|()| output.flush()).ok();
}

/// A small generator, so that a failure can be run again by its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }
}
