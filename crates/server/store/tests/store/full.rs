//! A disk that is really full: a small file system in a mount namespace of its own.

use std::{env, path::Path, process::Command};

use netloom_store::{BackupError, Change, Options, Range, Store, WriteError};

use crate::scratch::{Scratch, open, pod, put};

const FOLDER: &str = "NETLOOM_STORE_TEST_FOLDER";

#[test]
fn a_full_disk_is_reported_in_words_and_recovers_when_there_is_room() {
    let scratch = Scratch::new();
    let run = |script: &str| {
        Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"])
            .arg(scratch.file(""))
            .arg(env::current_exe().unwrap())
            .env(FOLDER, scratch.file(""))
            .output()
    };
    let mount = "mount -t tmpfs -o size=4m none \"$1\"";
    if !run(mount).is_ok_and(|output| output.status.success()) {
        assert!(env::var_os("CI").is_none(), "this machine does not let a test mount a file system");
        eprintln!("not run: this machine does not let a test mount a file system");
        return;
    }
    let output = run(&format!("{mount} && exec \"$2\" full::child --exact --nocapture")).unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && printed.contains("recovered"),
        "{printed}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// What runs in the small file system. On its own it does nothing.
#[test]
fn child() {
    let Some(folder) = env::var_os(FOLDER) else { return };
    let folder = Path::new(&folder);
    let (file, filler) = (folder.join("store.redb"), folder.join("filler"));
    std::fs::write(&filler, vec![1; 1 << 20]).unwrap();
    let store = open(&file);
    let (written, refused) = fill(&store);
    assert!(matches!(refused, WriteError::Full { .. }), "{refused}");
    assert!(refused.to_string().starts_with("the disk is full ("), "{refused}");
    check(&store, written);
    let backup = store.backup(&folder.join("backup")).unwrap_err();
    assert!(matches!(backup, BackupError::Write { .. }), "{backup}");
    assert!(!folder.join("backup").exists() && !folder.join("backup.new").exists());
    // Even a process that starts on the full disk can read.
    let revision = store.revision();
    drop(store);
    let store = Store::open(&file, Options::default()).unwrap();
    assert_eq!(store.revision(), revision);
    check(&store, written);
    // Closing has freed a page or two, but no more.
    let (written, refused) = fill(&store);
    assert!(matches!(refused, WriteError::Full { .. }), "{refused}");
    let revision = store.revision();
    std::fs::remove_file(&filler).unwrap();
    assert_eq!(put(&store, &pod("a", "more"), "there is room again").0, revision.0 + 1);
    check(&store, written);
    drop(store);
    check(&open(&file), written);
    println!("recovered");
}

/// Writes until there is no room, and returns how many objects were acknowledged.
fn fill(store: &Store) -> (usize, WriteError) {
    for number in 0.. {
        let change = Change::create(pod("full", &format!("{number:04}")), vec![b'x'; 40_000]);
        match store.write_blocking(vec![change]) {
            // The second time they are there already, so the first one that is missing is meant.
            Ok(_) | Err(WriteError::Conflict { .. }) => {}
            Err(refused) => return (number, refused),
        }
    }
    unreachable!("a disk has an end")
}

fn check(store: &Store, written: usize) {
    let page = store.list(&Range::resource("/pods").in_namespace("full"), None, None, None).unwrap();
    assert_eq!(page.items.len(), written);
    assert!(page.items.iter().all(|(_, object)| object.bytes.len() == 40_000));
}
