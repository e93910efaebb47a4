//! One change at a time for each namespace, each namespace for itself, and a deadline for both.

use std::time::Duration;

use netloom_journal::{
    Clock as _, Incarnation, NoProbes, Outcome as Became, Recovery, Request, Store, SystemClock, Transaction,
};
use netloom_model::{Engine as _, Scope};
use netloom_testkit::{
    play::{self, StateFolder},
    runner::{Ended, Outcome},
    space::{KernelStage, Space},
};

const DOCUMENT: &[u8] = b"interfaces: [{name: d0, type: dummy, mtu: 1400}]";

pub(crate) fn second_is_refused() -> Outcome {
    let (space, folder) = (Space::new()?, StateFolder::new());
    let store = Store::of_netns(folder.path(), space.name()).map_err(|error| error.to_string())?;
    let (mut first, mut second) = (space.stage()?, space.stage()?);
    let transaction = take(&store, &mut first)?;
    match Transaction::take(&store, &mut second, &SystemClock, life(), Duration::ZERO) {
        Err(error) if error.reason() == "AnotherChangeAtWork" => {
            let own = format!("process {}", std::process::id());
            if !error.to_string().contains(&own) {
                return Err(format!("the refusal does not say who is at work: {error}"));
            }
        }
        Err(error) => return Err(format!("refused for another reason: {error}")),
        Ok(_) => return Err("two changes at once".to_owned()),
    }
    drop(transaction);
    take(&store, &mut second)?;
    Ok(Ended::OK)
}

pub(crate) fn namespaces_are_apart() -> Outcome {
    let (red, blue, folder) = (Space::new()?, Space::new()?, StateFolder::new());
    let (mut red_stage, mut blue_stage) = (red.stage()?, blue.stage()?);
    let before = blue_stage.observe(Scope::default()).map_err(|error| error.to_string())?;
    let red_store = Store::of_netns(folder.path(), red.name()).map_err(|error| error.to_string())?;
    let blue_store = Store::of_netns(folder.path(), blue.name()).map_err(|error| error.to_string())?;
    // The other namespace's turn is taken all the while: it must not be in the way.
    let other = take(&blue_store, &mut blue_stage)?;
    let desired =
        play::desired("site.yaml", DOCUMENT, &red_stage.observe(Scope::default()).map_err(|e| e.to_string())?)?;
    let request = Request::new(&desired, "site.yaml");
    let mut transaction = take(&red_store, &mut red_stage)?;
    let prepared = transaction.prepare(&request).map_err(|error| error.to_string())?;
    let became = transaction.run(&prepared, &request, &mut NoProbes).map_err(|error| error.to_string())?;
    drop((transaction, other));
    if became != Became::Confirmed {
        return Err(format!("it ended otherwise: {became:?}"));
    }
    let after = blue_stage.observe(Scope::default()).map_err(|error| error.to_string())?;
    play::same("the other namespace", &before.host, &after.host)?;
    Ok(Ended::OK)
}

/// A change that nobody confirms is taken back by whoever comes next, once its time is over.
pub(crate) fn deadline() -> Outcome {
    let (space, folder) = (Space::new()?, StateFolder::new());
    let store = Store::of_netns(folder.path(), space.name()).map_err(|error| error.to_string())?;
    let mut stage = space.stage()?;
    let before = stage.observe(Scope::default()).map_err(|error| error.to_string())?;
    let desired = play::desired("site.yaml", DOCUMENT, &before)?;
    let timeout = Duration::from_secs(2);
    let request = Request { confirm: false, timeout, ..Request::new(&desired, "site.yaml") };
    let mut transaction = take(&store, &mut stage)?;
    let prepared = transaction.prepare(&request).map_err(|error| error.to_string())?;
    let became = transaction.run(&prepared, &request, &mut NoProbes).map_err(|error| error.to_string())?;
    drop(transaction);
    let Became::Open(summary) = became else { return Err(format!("it ended otherwise: {became:?}")) };
    match take(&store, &mut stage)?.recover().map_err(|error| error.to_string())? {
        Recovery::Open(_) => {}
        other => return Err(format!("before the deadline it must stay: {other:?}")),
    }
    netloom_journal::wait_for_deadline(&store, &SystemClock).map_err(|error| error.to_string())?;
    if SystemClock.now().boot < summary.deadline.boot {
        return Err("the wait ended too early".to_owned());
    }
    match take(&store, &mut stage)?.recover().map_err(|error| error.to_string())? {
        Recovery::RolledBack { .. } => {}
        other => return Err(format!("after the deadline it must go: {other:?}")),
    }
    let after = stage.observe(Scope::default()).map_err(|error| error.to_string())?;
    play::same("the host after the deadline", &before.host, &after.host)?;
    Ok(Ended::OK)
}

fn take<'a>(store: &'a Store, stage: &'a mut KernelStage) -> Result<Transaction<'a>, String> {
    Transaction::take(store, stage, &SystemClock, life(), Duration::ZERO).map_err(|error| error.to_string())
}

fn life() -> Incarnation {
    Incarnation::named("test")
}
