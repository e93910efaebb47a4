//! Files that are no sound store: each is refused in words that say what to do, and left alone.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use netloom_store::{BackupError, OpenError, Options, Store, restore};
use redb::{Database, TableDefinition};

use crate::scratch::{Scratch, open, pod, put};

fn refused(path: &Path) -> OpenError {
    Store::open(path, Options::default()).unwrap_err()
}

/// A database with a record in a table of the store's name.
fn database(path: &Path, table: &str, format: &str) {
    let database = Database::create(path).unwrap();
    let transaction = database.begin_write().unwrap();
    let definition: TableDefinition<'_, &str, &[u8]> = TableDefinition::new(table);
    transaction.open_table(definition).unwrap().insert("format", format.as_bytes()).unwrap();
    transaction.commit().unwrap();
}

#[test]
fn what_is_no_store_is_refused_and_left_alone() {
    let scratch = Scratch::new();
    let text = scratch.file("notes.txt");
    fs::write(&text, "remember the milk").unwrap();
    let why = refused(&text);
    assert!(matches!(why, OpenError::Foreign { .. }), "{why}");
    assert_eq!(
        why.to_string(),
        format!(
            "{} is not a store of this program (its first bytes are not those of a store): it was left as it is; \
             move it away or choose another data folder",
            text.display()
        )
    );
    assert_eq!(fs::read_to_string(&text).unwrap(), "remember the milk");
    let empty = scratch.file("empty");
    fs::write(&empty, "").unwrap();
    assert!(refused(&empty).to_string().contains("was cut short (it is empty)"));
    let foreign = scratch.file("foreign.redb");
    database(&foreign, "recipes", "cake");
    assert!(matches!(refused(&foreign), OpenError::Foreign { found, .. } if found == "a database of another program"));
    let newer = scratch.file("newer.redb");
    database(&newer, "meta", "netloom store 2");
    assert!(matches!(refused(&newer), OpenError::Newer { found, .. } if found == "netloom store 2"));
    assert!(matches!(refused(&scratch.file("")), OpenError::Io { what: "open", .. }));
    assert!(matches!(refused(&scratch.file("no/such/folder")), OpenError::Io { what: "create", .. }));
    let missing = Store::open(&scratch.file("missing"), Options { create: false, ..Options::default() });
    assert!(matches!(missing, Err(OpenError::Missing { .. })));
    for other in [&text, &foreign] {
        assert!(matches!(restore(other, &scratch.store()), Err(BackupError::NotABackup { .. })));
    }
    let left: Vec<_> = fs::read_dir(scratch.file("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 4, "{left:?}");
}

#[test]
fn a_damaged_store_is_refused_in_words() {
    let scratch = Scratch::new();
    let store = open(&scratch.store());
    for number in 0..200 {
        put(&store, &pod("a", &number.to_string()), &"some text ".repeat(40));
    }
    store.backup(&scratch.file("backup")).unwrap();
    drop(store);
    for file in [scratch.store(), scratch.file("backup")] {
        let sound = fs::read(&file).unwrap();
        let at = sound.windows(9).rposition(|bytes| bytes == b"some text").unwrap();
        let mut damaged = sound.clone();
        damaged[at] = b'S';
        fs::write(&file, &damaged).unwrap();
        let why = refused(&file);
        assert!(matches!(why, OpenError::Damaged { .. }), "{why}");
        assert!(why.to_string().ends_with("restore the latest backup into a new file"), "{why}");
        fs::write(&file, &sound[..sound.len() / 2]).unwrap();
        assert!(matches!(refused(&file), OpenError::Damaged { .. }));
        fs::write(&file, &sound[..100]).unwrap();
        assert!(matches!(refused(&file), OpenError::Truncated { .. }));
    }
    assert!(matches!(
        restore(&scratch.file("backup"), &scratch.file("restored")),
        Err(BackupError::Open(OpenError::Truncated { .. }))
    ));
    assert!(!scratch.file("restored").exists());
}

#[test]
fn only_the_owner_may_read_it() {
    let scratch = Scratch::new();
    let store = open(&scratch.store());
    store.backup(&scratch.file("backup")).unwrap();
    for file in [scratch.store(), scratch.file("backup")] {
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
