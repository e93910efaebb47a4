//! Tests: what becomes of a store whose last commit was torn, or whose file was cut or changed.
//!
//! The disk is in memory and remembers every write, so a power cut is any mixture of what was written
//! since the last sync.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::{
    Change, Clock, Expect, Key, Options, Range, Store,
    file::{self, Disk, Format},
    read::View,
    record::{STORE_FORMAT, State},
    testing::{Deed, MemoryDisk},
};

const CACHE: usize = 1 << 20;

type Contents = BTreeMap<String, Vec<u8>>;

/// What a store on these bytes says; an error in words if it is refused.
fn contents(image: Vec<u8>) -> Result<(State, Contents), String> {
    let disk: Disk = MemoryDisk::new(image);
    file::check_beginning(&*disk, Path::new("store")).map_err(|error| error.to_string())?;
    let (database, format) = file::open_checked(&disk, CACHE).map_err(|trouble| trouble.to_string())?;
    let Format::Store(state) = format else { return Err(format!("{format:?}")) };
    let view = View::of(&database).map_err(|trouble| trouble.to_string())?;
    let page =
        view.list(&Range::everything(), None, None, (usize::MAX, usize::MAX)).map_err(|error| error.to_string())?;
    Ok((state, page.items.into_iter().map(|(key, object)| (key.to_string(), object.bytes.to_vec())).collect()))
}

fn key(number: usize) -> Key {
    Key::new("/pods", &format!("namespace-{}", number % 3), &format!("pod-{number}"))
}

fn value(number: usize, round: usize) -> Vec<u8> {
    format!("{{\"number\":{number},\"round\":{round}}}").repeat(1 + number % 40).into_bytes()
}

/// A store with some history, and the disk that it is on.
fn store() -> (Store, Arc<MemoryDisk>) {
    let disk = MemoryDisk::new(Vec::new());
    let lent: Disk = disk.clone();
    let database = file::open_database(&lent, CACHE).unwrap();
    file::initialise(&database, STORE_FORMAT, State::default()).unwrap();
    let options = Options { window_events: 40, window: std::time::Duration::ZERO, ..Options::default() };
    let store = Store::on(lent, database, State::default(), options).unwrap();
    for round in 0..3 {
        for number in 0..20 {
            store.write_blocking(vec![Change::put(key(number), value(number, round))]).unwrap();
        }
    }
    (store, disk)
}

/// The batch whose commit is torn: an insertion, a change and a deletion.
fn batch() -> Vec<Change> {
    vec![
        Change::create(key(50), value(50, 9)),
        Change::put(key(7), value(7, 9)),
        Change::delete(key(3), Expect::Present),
    ]
}

/// What a store reported before and after the last commit, and what that commit did to the disk.
struct Commit {
    before: (State, Contents),
    after: (State, Contents),
    image: Vec<u8>,
    deeds: Vec<Deed>,
}

fn commit() -> Commit {
    let (store, disk) = store();
    disk.take_deeds();
    let image = disk.image();
    store.write_blocking(batch()).unwrap();
    let deeds = disk.take_deeds();
    let before = contents(image.clone()).unwrap();
    let after = contents(disk.image()).unwrap();
    assert_eq!(after.0.revision, before.0.revision + 3);
    assert!(!after.1.contains_key(&key(3).to_string()) && after.1.contains_key(&key(50).to_string()));
    Commit { before, after, image, deeds }
}

/// Where every byte is tried and not only some: `1` in the last commit, as continuous integration does it, and
/// `all` in the whole file, which takes a quarter of an hour.
const EVERY_BYTE: &str = "NETLOOM_STORE_EVERY_BYTE";

/// How far apart the bytes are at which the last commit is cut. A cut inside a page is found by its checksum
/// wherever it is, so each page is tried at some places.
fn stride_in_commit(sample: usize) -> usize {
    if std::env::var_os(EVERY_BYTE).is_some() { 1 } else { sample }
}

/// The same for bytes of the whole file.
fn stride(sample: usize) -> usize {
    if std::env::var_os(EVERY_BYTE).is_some_and(|which| which == "all") { 1 } else { sample }
}

fn found(image: Vec<u8>, what: &str) -> Result<(State, Contents), String> {
    catch_unwind(AssertUnwindSafe(|| contents(image))).unwrap_or_else(|_| panic!("the store panics: {what}"))
}

#[test]
fn a_commit_that_is_cut_anywhere_happened_or_did_not() {
    let Commit { before, after, image, deeds } = commit();
    let (mut done, mut cuts) = (image, 0);
    for (number, deed) in deeds.iter().enumerate() {
        let is_header = matches!(deed, Deed::Write(0, _));
        for bytes in 0..deed.bytes() {
            // A byte that is as it was before makes no other image than the cut in front of it.
            if bytes > 0 && !deed.changes(&done, bytes - 1) {
                continue;
            }
            cuts += 1;
            // The header is what puts a commit in force: it is cut everywhere.
            if !is_header && cuts % stride_in_commit(61) != 0 {
                continue;
            }
            let mut torn = done.clone();
            deed.redo(&mut torn, bytes);
            let what = format!("write {number} of {}, cut after {bytes} bytes", deeds.len());
            let found = found(torn, &what).unwrap_or_else(|why| panic!("{what}: {why}"));
            assert!(found == before || found == after, "{what}: {found:?}");
        }
        deed.redo(&mut done, usize::MAX);
    }
    assert_eq!(contents(done), Ok(after));
    assert!(cuts > 1000, "only {cuts} cuts");
}

#[test]
fn a_power_cut_leaves_any_part_of_the_last_commit_and_the_store_is_whole() {
    let Commit { before, after, image, deeds } = commit();
    let (mut as_before, mut as_after) = (0, 0);
    for seed in 0..if stride(2) == 1 { 20_000 } else { 400_u64 } {
        let mut random = Random(seed);
        // What was written since the last sync may have reached the disk in any order and in part.
        let until = random.below(deeds.len() + 1);
        let synced = deeds[..until].iter().rposition(|deed| *deed == Deed::Sync).map_or(0, |last| last + 1);
        let mut torn = image.clone();
        deeds[..synced].iter().for_each(|deed| deed.redo(&mut torn, usize::MAX));
        for deed in &deeds[synced..until] {
            match random.below(4) {
                0 => {}
                // Disks write whole sectors.
                1 => deed.redo(&mut torn, random.below(deed.bytes() / 512 + 1) * 512),
                _ => deed.redo(&mut torn, usize::MAX),
            }
        }
        let what = format!("seed {seed}");
        let found = found(torn, &what).unwrap_or_else(|why| panic!("{what}: {why}"));
        as_before += usize::from(found == before);
        as_after += usize::from(found == after);
        assert!(found == before || found == after, "{what}: {found:?}");
    }
    assert!(as_before > 10 && as_after > 10, "{as_before} as before, {as_after} as after");
}

#[test]
fn a_file_that_was_cut_is_refused_in_words_or_whole() {
    for closed in [true, false] {
        let (store, disk) = store();
        let open = disk.image();
        drop(store);
        let image = if closed { disk.image() } else { open };
        let sound = contents(image.clone()).unwrap();
        let near_pages = (0..image.len()).filter(|length| (length + 1) % 4096 < 3);
        let lengths = (0..330).chain(near_pages).chain((330..image.len()).step_by(stride(4999)));
        for length in lengths {
            match found(image[..length].to_vec(), &format!("cut to {length}")) {
                Ok(found) => assert_eq!(found, sound, "cut to {length}"),
                Err(why) => assert!(why.len() > 10, "cut to {length}: {why}"),
            }
        }
    }
}

#[test]
fn a_changed_byte_is_found_before_anything_is_read() {
    let (store, disk) = store();
    let before = contents(disk.image()).unwrap();
    store.write_blocking(batch()).unwrap();
    let open = disk.image();
    let after = contents(open.clone()).unwrap();
    drop(store);
    let closed = disk.image();
    let mut refused = 0;
    for (image, closed) in [(closed, true), (open, false)] {
        let mut at = 0;
        while at < image.len() {
            let mut changed = image.clone();
            changed[at] ^= 1 << (at % 8);
            match found(changed, &format!("byte {at} changed")) {
                Err(why) => {
                    assert!(why.len() > 10, "byte {at}: {why}");
                    refused += 1;
                }
                // In a file that was not closed, damage to the last commit looks like a torn one.
                Ok(found) => assert!(found == after || (!closed && found == before), "byte {at}: {found:?}"),
            }
            at += if at < 320 { stride(3) } else { stride(487) };
        }
    }
    assert!(refused > 100, "{refused} refused");
}

#[test]
fn a_full_disk_refuses_writes_in_words_and_leaves_everything_readable() {
    let (store, disk) = store();
    let mut watch = store.watch(Range::everything(), store.revision()).unwrap();
    let known = store.list(&Range::everything(), None, None, None).unwrap();
    for room in [0, 1, 5_000, 20_000] {
        disk.leave_room(room);
        let refused = store.write_blocking(vec![Change::put(key(1), vec![b'x'; 100_000])]).unwrap_err();
        assert_eq!(refused.reason(), "DiskFull", "{room}: {refused}");
        // Opening again needs a few bytes as well; without them it is read alone, and not one is changed.
        let image = disk.image();
        assert_eq!(store.list(&Range::everything(), None, None, None).unwrap(), known, "{room}");
        let refused = store.write_blocking(vec![Change::put(key(1), vec![b'x'; 100_000])]).unwrap_err();
        assert_eq!(refused.reason(), "DiskFull", "{room}: {refused}");
        assert_eq!(store.list(&Range::everything(), None, None, None).unwrap(), known, "{room}");
        if room == 0 {
            assert!(disk.image() == image, "a disk without room was written to");
        }
        disk.leave_room(u64::MAX);
        let written = store.write_blocking(vec![Change::check(key(1), Expect::Present)]);
        assert_eq!(written.unwrap().last(), None);
        assert_eq!(store.list(&Range::everything(), None, None, None).unwrap(), known);
    }
    let next = store.write_blocking(vec![Change::put(key(1), "short")]).unwrap().last().unwrap();
    assert_eq!(next.0, known.revision.0 + 1);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(watch.next()).unwrap().revision, next);
    assert!(store.stats().unwrap().failures >= 4);
    drop(store);
    assert_eq!(contents(disk.image()).unwrap().0.revision, next.0);
}

#[test]
fn what_a_failed_sync_leaves_is_never_acknowledged_but_reported_to_watches() {
    let (store, disk) = store();
    let before = store.revision();
    let mut watch = store.watch(Range::everything(), before).unwrap();
    disk.leave_syncs(0);
    let refused = store.write_blocking(vec![Change::put(key(1), "unsure")]).unwrap_err();
    assert_eq!(refused.reason(), "OutcomeUnknown");
    // The disk still does not answer, so nothing is known; later the write turns out to be there.
    assert_eq!(store.get(&key(1)).unwrap_err().reason(), "StoreUnavailable");
    disk.leave_syncs(u64::MAX);
    let next = store.write_blocking(vec![Change::put(key(2), "sure")]).unwrap().last().unwrap();
    assert_eq!(next.0, before.0 + 2);
    assert_eq!(&store.get(&key(1)).unwrap().unwrap().bytes[..], b"unsure");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let seen = [runtime.block_on(watch.next()), runtime.block_on(watch.next())];
    assert_eq!(seen.map(|event| event.unwrap().key.clone()), [key(1), key(2)]);
}

#[test]
fn a_store_that_failed_is_read_again_without_a_write() {
    let disk = MemoryDisk::new(Vec::new());
    let lent: Disk = disk.clone();
    let database = file::open_database(&lent, CACHE).unwrap();
    file::initialise(&database, STORE_FORMAT, State::default()).unwrap();
    let time = Arc::new(AtomicU64::new(1));
    let reported = Arc::clone(&time);
    let clock = Clock::new(move || Duration::from_secs(reported.load(Ordering::Relaxed)));
    let store = Store::on(lent, database, State::default(), Options { clock, ..Options::default() }).unwrap();
    store.write_blocking(vec![Change::put(key(1), "kept")]).unwrap();
    disk.leave_syncs(0);
    store.write_blocking(vec![Change::put(key(2), "unsure")]).unwrap_err();
    assert_eq!(store.get(&key(1)).unwrap_err().reason(), "StoreUnavailable");
    disk.leave_syncs(u64::MAX);
    let reads = (0..20_000).find_map(|_| {
        time.fetch_add(1, Ordering::Relaxed);
        std::thread::park_timeout(Duration::from_millis(1));
        store.get(&key(1)).ok()
    });
    assert!(reads.is_some(), "nobody opens it again");
    assert_eq!(&store.get(&key(1)).unwrap().unwrap().bytes[..], b"kept");
}

/// A small generator, so that a failure can be run again by its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).expect("it is below the bound")
    }
}
