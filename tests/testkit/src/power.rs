//! Loss of power: the journal ends at any byte, and the kernel starts again.
//!
//! A record is on disk, or part of it is, or none of it. So the journal of a transaction that was cut
//! off is itself cut at every byte, and each time the next start must cope: no error, no journal left
//! behind, and every file as it was before the transaction or as it shall be after it, never between.

use std::{borrow::Cow, fs, path::Path, time::Duration};

use netloom_journal::{Incarnation, NoProbes, Request, Store, SystemClock, Transaction};
use netloom_model::{Engine, Host, Medium, Scope, SettingKey, Step};

use crate::{
    crash::{self, PowerCut},
    play::{self, Player, Stage, StateFolder},
    scenario::Round,
};

/// What was on disk when the power went.
#[derive(Debug, Clone)]
pub struct Cut {
    /// The journal.
    pub journal: Vec<u8>,
    /// The ownership record, when there was one.
    ownership: Option<Vec<u8>>,
    /// The host before the transaction.
    pub before: Host,
    /// The host when the power went.
    pub then: Host,
}

/// After which steps of a plan the power goes: after each, or with a long plan after the first, the
/// middle and the last, because every start reads the whole journal.
pub fn moments(steps: usize) -> Vec<usize> {
    const ALL: usize = 12;
    if steps <= ALL { (1..=steps).collect() } else { vec![1, steps / 2, steps] }
}

/// Sets the document of a round and cuts the power after `steps` of its steps.
pub fn cut_after<S: Stage>(player: &mut Player<'_, S>, round: &Round, steps: usize) -> Result<Cut, String> {
    let before = player.observe()?;
    let desired = play::desired_of_round(round, &before)?;
    let request = Request { confirm: false, ..play::request(round, &desired) };
    let mut host = PowerCut { host: player.stage, left: steps };
    let text = |error: netloom_journal::Error| error.to_string();
    let mut transaction =
        Transaction::take(&player.store, &mut host, &SystemClock, player.incarnation.clone(), Duration::ZERO)
            .map_err(text)?
            .with_batch(1);
    let prepared = transaction.prepare(&request).map_err(text)?;
    match transaction.run(&prepared, &request, &mut NoProbes) {
        Err(netloom_journal::Error::Lost { .. }) => {}
        other => return Err(format!("the power is gone, and yet: {other:?}")),
    }
    drop(transaction);
    let journal = crash::journal(player.store.dir()).ok_or("there is no journal")?;
    let ownership = fs::read(player.store.dir().join("ownership.json")).ok();
    Ok(Cut { journal, ownership, before: before.host, then: player.observe()?.host })
}

/// Starts again on a kernel that knows nothing, with the journal cut at every byte from `first` on.
/// Gives the number of starts.
pub fn start_again_everywhere(cut: &Cut, first: usize, fresh: &mut dyn Engine) -> Result<usize, String> {
    let folder = StateFolder::new();
    let store = folder.store()?;
    let empty = observe(fresh)?;
    for end in first..=cut.journal.len() {
        start_again(cut, end, &store, fresh, &empty).map_err(|why| format!("journal cut at byte {end}: {why}"))?;
    }
    Ok(cut.journal.len() + 1 - first)
}

/// Where the last step's record begins. All before it is the same for every moment of one plan, so
/// it is cut only once.
pub fn last_step(journal: &[u8]) -> usize {
    // The last line says that an undo was begun, which the lack of power ended at once.
    let ends: Vec<usize> = lines(journal).collect();
    ends.len().checked_sub(3).map_or(0, |at| ends[at])
}

/// Where the first record ends: from there on, steps were sent.
fn begun(journal: &[u8]) -> usize {
    lines(journal).nth(1).unwrap_or(journal.len())
}

fn lines(journal: &[u8]) -> impl Iterator<Item = usize> {
    journal.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1)
}

fn start_again(cut: &Cut, end: usize, store: &Store, fresh: &mut dyn Engine, empty: &Host) -> Result<(), String> {
    lay_down(store.dir(), &cut.journal[..end], cut.ownership.as_deref())?;
    // The first record is on disk before the first step: without it, no file was touched yet.
    let files = if end < begun(&cut.journal) { &cut.before } else { &cut.then };
    put_files(fresh, files)?;
    recover(store, fresh, "after the reboot")?;
    let now = observe(fresh)?;
    let mut wanted = empty.clone();
    wanted.settings = SettingKey::ALL
        .into_iter()
        .filter_map(|key| {
            let from = if key.medium() == Medium::File { &cut.before } else { &now };
            from.settings.get(key).map(Cow::into_owned)
        })
        .collect();
    play::same("the host after the reboot", &wanted, &now)?;
    let ownership = fs::read(store.dir().join("ownership.json")).ok();
    if ownership == cut.ownership { Ok(()) } else { Err("the ownership record is another one".to_owned()) }
}

/// Recovers in a store; afterwards nothing may be left of the transaction.
pub fn recover(store: &Store, host: &mut dyn Engine, incarnation: &str) -> Result<(), String> {
    let text = |error: netloom_journal::Error| error.to_string();
    let incarnation = Incarnation::named(incarnation);
    Transaction::take(store, host, &SystemClock, incarnation, Duration::ZERO).map_err(text)?.recover().map_err(text)?;
    match crash::journal(store.dir()) {
        None if store.failed().map_err(text)?.is_empty() => Ok(()),
        _ => Err("the journal is still there".to_owned()),
    }
}

fn lay_down(dir: &Path, journal: &[u8], ownership: Option<&[u8]>) -> Result<(), String> {
    let cannot = |error: std::io::Error| error.to_string();
    fs::write(dir.join("journal"), journal).map_err(cannot)?;
    match ownership {
        Some(ownership) => fs::write(dir.join("ownership.json"), ownership).map_err(cannot),
        None => Ok(()),
    }
}

/// Makes the files of a host say what another host's say.
fn put_files(host: &mut dyn Engine, as_in: &Host) -> Result<(), String> {
    let now = observe(host)?;
    let files = SettingKey::ALL.into_iter().filter(|key| key.medium() == Medium::File);
    let wanted = files.filter_map(|key| as_in.settings.get(key)).filter(|setting| !now.settings.shows(setting));
    let steps: Vec<Step> = wanted.map(|setting| Step::Set(setting.into_owned())).collect();
    for result in host.execute(&steps).map_err(|error| error.to_string())? {
        result.map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn observe(host: &mut dyn Engine) -> Result<Host, String> {
    host.observe(Scope::default()).map(|observed| observed.host).map_err(|error| error.to_string())
}
