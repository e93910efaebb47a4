//! What a single process sees: writes, conflicts, lists, pages, watches, backups.

use std::time::Duration;

use netloom_store::{
    BackupError, Change, Expect, Key, OpenError, Options, Range, ReadError, Revision, Store, WatchError, WriteError,
    restore,
};

use crate::scratch::{Scratch, is_silent, open, pod, put, still, take, wait};

fn names(page: &netloom_store::Page) -> Vec<&str> {
    page.items.iter().map(|(key, _)| key.name()).collect()
}

#[test]
fn what_is_written_is_read_also_after_a_restart() {
    let scratch = Scratch::new();
    let store = open(&scratch.store());
    assert_eq!(store.revision(), Revision(0));
    assert_eq!(put(&store, &pod("a", "x"), "1"), Revision(1));
    assert_eq!(put(&store, &pod("a", "x"), "2"), Revision(2));
    let object = store.get(&pod("a", "x")).unwrap().unwrap();
    assert_eq!((object.revision, object.created, &object.bytes[..]), (Revision(2), Revision(1), &b"2"[..]));
    drop(store);
    let store = open(&scratch.store());
    assert_eq!(store.revision(), Revision(2));
    assert_eq!(store.get(&pod("a", "x")).unwrap(), Some(object));
    assert_eq!(store.get(&pod("b", "x")).unwrap(), None);
}

#[test]
fn a_batch_is_written_as_a_whole_or_not_at_all() {
    let scratch = Scratch::new();
    let store = open(&scratch.store());
    let read = put(&store, &pod("a", "x"), "1");
    let refused = store
        .write_blocking(vec![Change::create(pod("a", "y"), "new"), Change::update(pod("a", "x"), Revision(77), "2")]);
    let conflict =
        WriteError::Conflict { key: pod("a", "x"), expected: Expect::Revision(Revision(77)), actual: Some(read) };
    assert_eq!(refused, Err(conflict));
    assert_eq!(refused.unwrap_err().to_string(), "pods a x is not as expected: it is at revision 1, but must be at 77");
    assert_eq!(store.get(&pod("a", "y")).unwrap(), None);
    let written = store
        .write_blocking(vec![
            Change::check(pod("a", "x"), Expect::Revision(read)),
            Change::create(pod("a", "y"), "new"),
            Change::delete(pod("a", "z"), Expect::Any),
            Change::update(pod("a", "x"), read, "2"),
        ])
        .unwrap();
    assert_eq!(written.revisions, [None, Some(Revision(2)), None, Some(Revision(3))]);
    let twice = store.write_blocking(vec![Change::put(pod("a", "x"), "3"), Change::put(pod("a", "x"), "4")]);
    assert_eq!(twice.unwrap_err().reason(), "DuplicateKey");
    let large = store.write_blocking(vec![Change::put(pod("a", "x"), vec![0; 9 << 20])]);
    assert_eq!(large.unwrap_err().reason(), "TooLarge");
    assert_eq!(store.revision(), Revision(3));
}

#[test]
fn pages_show_the_revision_of_the_first_one() {
    let scratch = Scratch::new();
    let store = open(&scratch.store());
    for name in ["a", "b", "c", "d", "e"] {
        put(&store, &pod("one", name), name);
    }
    put(&store, &pod("two", "f"), "f");
    put(&store, &Key::new("/nodes", "", "n"), "n");
    let range = Range::resource("/pods").in_namespace("one");
    let first = store.list(&range, None, None, Some(2)).unwrap();
    assert_eq!(
        (names(&first), first.more, first.remaining, first.revision),
        (vec!["a", "b"], true, Some(3), Revision(7))
    );
    store.write_blocking(vec![Change::delete(pod("one", "d"), Expect::Present)]).unwrap();
    put(&store, &pod("one", "c"), "changed");
    put(&store, &pod("one", "cc"), "new");
    let second = store.list(&range, Some(first.revision), Some(&first.items[1].0), Some(2)).unwrap();
    assert_eq!((names(&second), second.more), (vec!["c", "d"], true));
    assert_eq!(&second.items[0].1.bytes[..], b"c");
    let third = store.list(&range, Some(first.revision), Some(&second.items[1].0), Some(2)).unwrap();
    assert_eq!((names(&third), third.more, third.remaining), (vec!["e"], false, Some(0)));
    let now = store.list(&Range::resource("/pods"), None, None, None).unwrap();
    assert_eq!((names(&now), now.remaining), (vec!["a", "b", "c", "cc", "e", "f"], Some(0)));
    assert_eq!(names(&store.list(&Range::everything().named("n"), None, None, None).unwrap()), ["n"]);
    let future = store.list(&range, Some(Revision(99)), None, None);
    assert_eq!(future, Err(ReadError::Future { asked: Revision(99), current: Revision(10) }));
    let counts: Vec<_> = store.resources().unwrap().into_iter().map(|count| (count.resource, count.objects)).collect();
    assert_eq!(counts, [("/nodes".to_owned(), 1), ("/pods".to_owned(), 6)]);
}

#[test]
fn history_that_was_dropped_is_refused_with_the_oldest_revision() {
    let scratch = Scratch::new();
    let store = open(&scratch.store());
    for value in ["1", "2", "3", "4"] {
        put(&store, &pod("a", "x"), value);
    }
    store.write_blocking(vec![Change::delete(pod("a", "x"), Expect::Any)]).unwrap();
    put(&store, &pod("a", "x"), "6");
    assert_eq!(wait(store.compact(Revision(3))).unwrap(), Revision(3));
    let range = Range::resource("/pods");
    assert_eq!(store.list(&range, Some(Revision(2)), None, None), Err(ReadError::Compacted { oldest: Revision(3) }));
    let third = store.list(&range, Some(Revision(3)), None, None).unwrap();
    assert_eq!(&third.items[0].1.bytes[..], b"3");
    assert!(store.list(&range, Some(Revision(5)), None, None).unwrap().items.is_empty());
    assert!(matches!(store.watch(range.clone(), Revision(2)), Err(ReadError::Compacted { oldest: Revision(3) })));
    let mut watch = store.watch(range, Revision(3)).unwrap();
    assert_eq!(wait(take(&mut watch, 3)), ["4:x=4", "5:x=gone", "6:x=6"]);
    assert_eq!(wait(store.compact(Revision(1_000))).unwrap(), Revision(6));
    assert_eq!(store.stats().unwrap().history_bytes, 0);
}

#[test]
fn history_is_kept_for_a_time_and_a_number_of_events() {
    let scratch = Scratch::new();
    let options = |window: Duration, window_bytes: u64| Options {
        window,
        window_events: 5,
        window_bytes,
        clock: still(),
        ..Options::default()
    };
    let store = Store::open(&scratch.store(), options(Duration::from_mins(5), 1 << 30)).unwrap();
    for value in 0..20 {
        put(&store, &pod("a", "x"), &value.to_string());
    }
    // All of them are young.
    assert_eq!(store.stats().unwrap().oldest, Revision(0));
    drop(store);
    let later = netloom_store::Clock::new(|| Duration::from_secs(1_000_000) + Duration::from_mins(6));
    let store =
        Store::open(&scratch.store(), Options { clock: later, ..options(Duration::from_mins(5), 1 << 30) }).unwrap();
    put(&store, &pod("a", "x"), "old ones go");
    assert_eq!(store.stats().unwrap().oldest, Revision(16));
    drop(store);
    // Too many bytes weigh more than the number of events.
    let store = Store::open(&scratch.store(), options(Duration::from_mins(5), 0)).unwrap();
    put(&store, &pod("a", "x"), "no room");
    assert_eq!(store.stats().unwrap().oldest, Revision(22));
}

#[test]
fn a_watch_reads_history_then_lives() {
    let scratch = Scratch::new();
    let store = open(&scratch.store());
    for number in 0..200 {
        put(&store, &pod(if number % 2 == 0 { "even" } else { "odd" }, "x"), &number.to_string());
    }
    wait(async {
        let mut watch = store.watch(Range::resource("/pods").in_namespace("odd"), Revision(190)).unwrap();
        assert_eq!(take(&mut watch, 5).await, ["192:x=191", "194:x=193", "196:x=195", "198:x=197", "200:x=199"]);
        assert_eq!(watch.progress(), Revision(200));
        assert!(is_silent(&mut watch).await);
        store.write(vec![Change::put(pod("even", "x"), "other")]).await.unwrap();
        assert_eq!(watch.progress(), Revision(201));
        store.write(vec![Change::put(pod("odd", "x"), "live")]).await.unwrap();
        assert_eq!(watch.progress(), Revision(201));
        assert_eq!(take(&mut watch, 1).await, ["202:x=live"]);
        let mut future = store.watch(Range::everything(), Revision(204)).unwrap();
        for value in ["a", "b", "c"] {
            store.write(vec![Change::put(pod("odd", "x"), value)]).await.unwrap();
        }
        assert_eq!(take(&mut future, 1).await, ["205:x=c"]);
    });
}

#[test]
fn a_slow_watch_holds_up_nobody_and_catches_up_from_the_file() {
    let scratch = Scratch::new();
    let options = Options { queue_events: 4, recent_events: 2, ..Options::default() };
    let store = Store::open(&scratch.store(), options).unwrap();
    let mut slow = store.watch(Range::everything(), Revision(0)).unwrap();
    let mut lost = store.watch(Range::everything(), Revision(0)).unwrap();
    let expected: Vec<_> = (1..=20).map(|number| format!("{number}:x={number}")).collect();
    for number in 1..=20 {
        put(&store, &pod("a", "x"), &number.to_string());
    }
    wait(async {
        assert_eq!(take(&mut slow, 20).await, expected);
        assert!(is_silent(&mut slow).await);
        // Three more fit into the queue, but not into the memory of recent events.
        for number in 21..=23 {
            store.write(vec![Change::put(pod("a", "x"), number.to_string())]).await.unwrap();
        }
        assert_eq!(take(&mut slow, 3).await, ["21:x=21", "22:x=22", "23:x=23"]);
        assert_eq!(store.stats().unwrap().watches_behind, 2);
        store.compact(Revision(10)).await.unwrap();
        assert_eq!(lost.next().await, Err(WatchError::Lagged { oldest: Revision(10) }));
        assert_eq!(lost.next().await, Err(WatchError::Lagged { oldest: Revision(10) }));
    });
    assert_eq!(store.stats().unwrap().watches, 2);
    drop((slow, lost));
    assert_eq!(store.stats().unwrap().watches, 0);
}

#[test]
fn watches_and_readers_are_reported_when_the_store_closes() {
    let scratch = Scratch::new();
    let store = open(&scratch.store());
    let mut watch = store.watch(Range::everything(), Revision(0)).unwrap();
    put(&store, &pod("a", "x"), "1");
    drop(store);
    wait(async {
        assert_eq!(take(&mut watch, 1).await, ["1:x=1"]);
        assert_eq!(watch.next().await, Err(WatchError::Closed));
    });
    // The watch that is still there keeps neither the file nor its lock.
    open(&scratch.store());
}

#[test]
fn waiting_for_a_revision_ends_when_it_is_there() {
    let scratch = Scratch::new();
    let store = open(&scratch.store());
    wait(async {
        let (reached, written) =
            tokio::join!(store.reached(Revision(1)), store.write(vec![Change::put(pod("a", "x"), "1")]));
        assert_eq!((reached, written.unwrap().last()), (Ok(()), Some(Revision(1))));
    });
}

#[test]
fn many_writers_share_commits() {
    let scratch = Scratch::new();
    let store = open(&scratch.store());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..200 {
            let store = store.clone();
            tasks.spawn(async move {
                let written = store.write(vec![Change::create(pod("a", &number.to_string()), "x")]).await.unwrap();
                assert!(store.get(&pod("a", &number.to_string())).unwrap().is_some());
                written.last().unwrap()
            });
        }
        let mut revisions = tasks.join_all().await;
        revisions.sort_unstable();
        assert_eq!(revisions, (1..=200).map(Revision).collect::<Vec<_>>());
    });
    let stats = store.stats().unwrap();
    assert_eq!(stats.writes, 200);
    assert!(stats.commits < 100, "{stats:?}");
}

#[test]
fn a_second_process_is_refused() {
    let scratch = Scratch::new();
    let store = open(&scratch.store());
    let refused = Store::open(&scratch.store(), Options::default()).unwrap_err();
    assert!(matches!(refused, OpenError::InUse { .. }), "{refused}");
    drop(store);
    open(&scratch.store());
}

#[test]
fn a_backup_is_made_while_running_and_restored_without_going_back() {
    let scratch = Scratch::new();
    let (copy, restored) = (scratch.file("backup"), scratch.file("restored.redb"));
    let store = open(&scratch.store());
    for number in 0..300 {
        put(&store, &pod("a", &format!("{:03}", number % 100)), &number.to_string());
    }
    assert_eq!(store.backup(&copy).unwrap(), Revision(300));
    assert!(matches!(store.backup(&copy), Err(BackupError::Exists { .. })));
    put(&store, &pod("a", "later"), "lost");
    assert!(matches!(Store::open(&copy, Options::default()), Err(OpenError::Backup { revision: Revision(300), .. })));
    assert!(matches!(restore(&copy, &scratch.store()), Err(BackupError::Exists { .. })));
    let revision = restore(&copy, &restored).unwrap();
    assert!(revision > Revision(1_000_000_000));
    let again = open(&restored);
    let page = again.list(&Range::everything(), None, None, Some(10)).unwrap();
    assert_eq!((page.revision, page.remaining), (revision, Some(90)));
    assert_eq!(page.items[..10], store.list(&Range::everything(), None, None, Some(10)).unwrap().items[..]);
    // Whoever knew a revision of the lost store must read everything again.
    assert!(matches!(again.watch(Range::everything(), Revision(301)), Err(ReadError::Compacted { .. })));
    assert_eq!(put(&again, &pod("a", "x"), "1"), Revision(revision.0 + 1));
    drop(store);
    assert!(matches!(restore(&scratch.store(), &scratch.file("other")), Err(BackupError::NotABackup { .. })));
    assert!(!scratch.file("other").exists() && !scratch.file("other.new").exists());
}
