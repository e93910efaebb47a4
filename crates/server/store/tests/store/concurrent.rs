//! Many at once: no update is lost, and nobody reads anything older than what was acknowledged.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};

use netloom_store::{Change, Key, Range, Revision, Store, WriteError};

use crate::scratch::{Scratch, open, pod, put, wait};

const COUNTERS: usize = 3;
const WRITERS: u64 = 4;
const INCREMENTS: u64 = 60;

fn counter(number: usize) -> Key {
    pod("counters", &number.to_string())
}

fn read(store: &Store, number: usize) -> (Revision, u64) {
    let object = store.get(&counter(number)).unwrap().unwrap();
    (object.revision, std::str::from_utf8(&object.bytes).unwrap().parse().unwrap())
}

/// Adds one to a counter, trying again whenever somebody else was quicker.
fn increment(store: &Store, number: usize) -> Revision {
    loop {
        let (revision, value) = read(store, number);
        match store.write_blocking(vec![Change::update(counter(number), revision, (value + 1).to_string())]) {
            Ok(written) => return written.last().unwrap(),
            Err(WriteError::Conflict { actual: Some(actual), .. }) => assert!(actual > revision),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn no_update_is_lost_and_no_read_is_older_than_what_was_acknowledged() {
    let scratch = Scratch::in_memory();
    let store = open(&scratch.store());
    for number in 0..COUNTERS {
        put(&store, &counter(number), "0");
    }
    let start = store.revision();
    let acknowledged: Vec<_> = (0..COUNTERS).map(|_| AtomicU64::new(0)).collect();
    let done = AtomicBool::new(false);
    let reads: u64 = thread::scope(|scope| {
        let readers: Vec<_> = (0..2).map(|_| scope.spawn(|| read_on(&store, &acknowledged, &done))).collect();
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (store, acknowledged) = (&store, &acknowledged);
                scope.spawn(move || {
                    for step in 0..INCREMENTS {
                        let number = usize::try_from(writer + step).unwrap() % COUNTERS;
                        let revision = increment(store, number);
                        acknowledged[number].fetch_max(revision.0, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::SeqCst);
        readers.into_iter().map(|reader| reader.join().unwrap()).sum()
    });
    assert!(reads > 0);
    let sum: u64 = (0..COUNTERS).map(|number| read(&store, number).1).sum();
    assert_eq!(sum, WRITERS * INCREMENTS);
    // Each event adds one to what its counter was.
    let mut watch = store.watch(Range::everything(), start).unwrap();
    wait(async {
        for _ in 0..WRITERS * INCREMENTS {
            let event = watch.next().await.unwrap();
            let number = |object: Option<&netloom_store::Object>| {
                std::str::from_utf8(&object.unwrap().bytes).unwrap().parse::<u64>().unwrap()
            };
            assert_eq!(number(event.object()), number(event.previous()) + 1);
        }
    });
    assert_eq!(store.revision().0, start.0 + WRITERS * INCREMENTS);
}

/// Reads until the writers are done: one object, and all of them at once.
fn read_on(store: &Store, acknowledged: &[AtomicU64], done: &AtomicBool) -> u64 {
    let mut reads = 0;
    let mut newest = Revision(0);
    while !done.load(Ordering::SeqCst) {
        let known: Vec<_> = acknowledged.iter().map(|revision| revision.load(Ordering::SeqCst)).collect();
        let number = usize::try_from(reads).unwrap() % COUNTERS;
        assert!(read(store, number).0.0 >= known[number]);
        let page = store.list(&Range::resource("/pods"), None, None, None).unwrap();
        assert!(page.revision >= newest, "a later list is older");
        newest = page.revision;
        for ((_, object), known) in page.items.iter().zip(&known) {
            assert!(object.revision.0 >= *known && object.revision <= page.revision);
        }
        reads += 1;
    }
    reads
}
