//! Death at every moment: a process killed after any number of steps, again while it undoes, and a
//! journal cut at any byte. In the end the host is as it was, or as desired.

use std::cell::RefCell;

use crate::bench::{Scratch, Tiny, change, desired, killed, owned, process, request};
use netloom_journal::{NoProbes, Outcome, Recovery, Store};
use netloom_model::{Ownership, SettingKey};

/// How many steps the change has.
const STEPS: usize = 4;

fn begin(store: &Store, host: &RefCell<Tiny>, confirm: bool) -> Option<Outcome> {
    let prepared = change(&Tiny::new().seen);
    let desired = desired();
    let mut request = request(&desired);
    request.confirm = confirm;
    killed(store, host, |transaction| transaction.run(&prepared, &request, &mut NoProbes).unwrap())
}

fn settled(store: &Store, host: &RefCell<Tiny>) {
    assert!(!store.dir().join("journal").exists());
    assert!(store.failed().unwrap().is_empty());
    let again = process(store, host, "boot-1", |transaction| transaction.recover()).unwrap();
    assert_eq!(again, Recovery::Nothing);
}

#[test]
fn killed_after_every_step() {
    for die_at in 0..STEPS {
        let (scratch, host) = (Scratch::new(), RefCell::new(Tiny::new()));
        let store = scratch.store();
        host.borrow_mut().die_at = Some(die_at);
        assert_eq!(begin(&store, &host, true), None, "it dies before step {die_at}");
        assert!(store.pending().unwrap().is_some());

        host.borrow_mut().count_again();
        process(&store, &host, "boot-1", |transaction| transaction.recover()).unwrap();
        assert_eq!(host.borrow().seen, Tiny::new().seen, "killed before step {die_at}");
        assert_eq!(store.ownership().unwrap(), Ownership::default());
        settled(&store, &host);
    }
}

#[test]
fn killed_after_every_step_and_again_and_again_while_undoing() {
    for die_at in 0..STEPS {
        for first in 0..=die_at {
            for second in 0..=die_at {
                let (scratch, host) = (Scratch::new(), RefCell::new(Tiny::new()));
                let store = scratch.store();
                host.borrow_mut().die_at = Some(die_at);
                begin(&store, &host, true);
                for again in [first, second] {
                    host.borrow_mut().count_again().die_at = Some(again);
                    assert!(killed(&store, &host, |transaction| transaction.recover().unwrap()).is_none());
                }
                host.borrow_mut().count_again();
                process(&store, &host, "boot-1", |transaction| transaction.recover()).unwrap();
                assert_eq!(host.borrow().seen, Tiny::new().seen, "killed at {die_at}, {first}, {second}");
                settled(&store, &host);
            }
        }
    }
}

/// A journal of a change that went this far, and the host that goes with it.
fn journal_after(die_at: Option<usize>) -> (Vec<u8>, Tiny) {
    let (scratch, host) = (Scratch::new(), RefCell::new(Tiny::new()));
    let store = scratch.store();
    host.borrow_mut().die_at = die_at;
    begin(&store, &host, false);
    let bytes = std::fs::read(store.dir().join("journal")).unwrap();
    let mut host = host.into_inner();
    host.count_again();
    (bytes, host)
}

/// The length up to and including the first record, which is on disk before the first step.
fn first_record(bytes: &[u8]) -> usize {
    let ends: Vec<usize> = bytes.iter().enumerate().filter(|&(_, &b)| b == b'\n').map(|(at, _)| at + 1).collect();
    ends[1]
}

#[test]
fn power_lost_with_the_journal_cut_at_every_byte() {
    let start = Tiny::new().seen;
    for die_at in [Some(2), None] {
        let (bytes, after) = journal_after(die_at);
        for cut in 0..=bytes.len() {
            let (scratch, host) = (Scratch::new(), RefCell::new(Tiny::new()));
            let store = scratch.store();
            std::fs::write(store.dir().join("journal"), &bytes[..cut]).unwrap();
            if cut >= first_record(&bytes) {
                // Files stay, what the kernel held is gone with the power.
                let files = [SettingKey::Resolver, SettingKey::HostnameConfig].map(|key| after.seen.settings.get(key));
                for file in files.into_iter().flatten() {
                    host.borrow_mut().seen.host.settings.set(file.into_owned());
                }
            }
            let recovery = process(&store, &host, "boot-2", |transaction| transaction.recover()).unwrap();
            let expected = if cut < first_record(&bytes) { "Dropped" } else { "Rebooted" };
            assert!(format!("{recovery:?}").starts_with(expected), "cut at {cut}: {recovery:?}");
            assert_eq!(host.borrow().seen, start, "cut at {cut}");
            settled(&store, &host);
        }
    }
}

#[test]
fn a_journal_cut_at_every_byte_on_a_running_machine() {
    let start = Tiny::new().seen;
    let (bytes, after) = journal_after(None);
    let ends: Vec<usize> = bytes.iter().enumerate().filter(|&(_, &b)| b == b'\n').map(|(at, _)| at + 1).collect();
    for cut in 0..bytes.len() {
        let (scratch, host) = (Scratch::new(), RefCell::new(Tiny::new()));
        let store = scratch.store();
        std::fs::write(store.dir().join("journal"), &bytes[..cut]).unwrap();
        // A step goes out only behind the record that says so: header, beginning, then one for each.
        let sent = ends.iter().filter(|&&end| end <= cut).count().saturating_sub(2);
        if sent == STEPS {
            host.borrow_mut().seen = after.seen.clone();
        } else {
            let mut host = host.borrow_mut();
            let steps = change(&start).planned.plan.steps;
            let steps: Vec<_> = steps.into_iter().take(sent).map(|planned| planned.step).collect();
            netloom_model::Engine::execute(&mut *host, &steps).unwrap();
        }
        process(&store, &host, "boot-1", |transaction| transaction.recover()).unwrap();
        assert_eq!(host.borrow().seen, start, "cut at {cut}");
        settled(&store, &host);
    }
}

#[test]
fn a_confirmed_change_stays_whenever_the_record_of_it_was_interrupted() {
    let (bytes, after) = journal_after(None);
    for boot in ["boot-1", "boot-2"] {
        let (scratch, host) = (Scratch::new(), RefCell::new(Tiny::new()));
        let store = scratch.store();
        host.borrow_mut().seen = after.seen.clone();
        std::fs::write(store.dir().join("journal"), &bytes).unwrap();
        // A folder in its place makes the record fail after the change was confirmed.
        std::fs::create_dir(store.dir().join("ownership.json.new")).unwrap();
        let error = process(&store, &host, "boot-1", |transaction| transaction.commit()).unwrap_err();
        assert_eq!(error.reason(), "OwnershipUnrecorded");
        std::fs::remove_dir(store.dir().join("ownership.json.new")).unwrap();

        let recovery = process(&store, &host, boot, |transaction| transaction.recover()).unwrap();
        assert!(matches!(recovery, Recovery::Finished(_)));
        assert_eq!(host.borrow().seen, after.seen);
        assert_eq!(store.ownership().unwrap(), owned());
        settled(&store, &host);
    }
}
