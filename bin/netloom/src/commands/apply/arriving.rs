//! Waiting until nodes have what policies ask for, with how far that is shown to the user.

use std::{collections::BTreeMap, time::Duration};

use futures_util::TryStreamExt as _;
use kube::core::WatchEvent;
use netloom_api::pipeline::{NetworkConfigRevision, NetworkConfigRevisionPart, network_config_revision::FrozenObject};
use serde_json::Value;
use tokio::time::timeout;

use crate::{
    arrival::{self, Arrival, Frozen},
    cluster::{Cluster, Served, answer},
    cuts::Cuts,
    failure::Failure,
    output::Output,
};

const FABRIC: &str = "network.t-caas.telekom.com/v1alpha1";
const REVISION: &str = "NetworkConfigRevision";
const PART: &str = "NetworkConfigRevisionPart";
/// What becomes of a wait that was given up.
pub(super) const STAYS: &str = "What was applied stays, and is worked on";
const STATES: (&str, &str) = ("nmstate.io/v1", "NodeNetworkState");

/// How the wait for nodes ended, where it did not fail.
enum End {
    Everywhere,
    /// Who waits may not read what tells how far nodes are.
    Forbidden,
}

/// Waits until nodes have these policies, each with its title; one that no revision brings to nodes is only mentioned.
pub(super) async fn until_everywhere(
    cluster: &Cluster,
    policies: &[(String, Value)],
    limit: Duration,
) -> Result<(), Failure> {
    if policies.is_empty() {
        return Ok(());
    }
    let output = Output::new(false);
    let look = async || Ok((cluster.served(FABRIC, REVISION).await?, cluster.all_readable(STATES.0, STATES.1).await?));
    let cuts = Cuts::new(output);
    let seen = timeout(limit, cuts.go_on(look)).await.unwrap_or_else(|_| {
        let (limit, why) = (limit.as_secs(), cuts.ending().map(|why| format!("; {why}")).unwrap_or_default());
        Err(Failure::failed(format_args!("how far nodes are could not be asked in {limit} seconds{why}. {STAYS}")))
    });
    let (kind, states) = seen?;
    cuts.heard();
    let Some(kind) = kind else {
        output.note(&format!("the server has no kind {REVISION}, so nodes are not waited for"));
        return Ok(());
    };
    let Some(states) = states else { return unseen(policies, output, STATES.1) };
    let (mut wanted, mut titles) = (Vec::new(), Vec::new());
    for (title, policy) in policies {
        match arrival::awaited(policy, &states) {
            Some(frozen) => {
                wanted.push(frozen);
                titles.push(title.as_str());
            }
            None => output.note(&format!("{title}: nothing of it is rolled out to nodes; they are not waited for")),
        }
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let mut printed = Printed { output, cuts: &cuts, last: None, goes_on: true };
    match timeout(limit, cuts.go_on(async || watch(cluster, &kind, &wanted, &mut printed).await)).await {
        Ok(Ok(End::Everywhere)) => Ok(()),
        Ok(Ok(End::Forbidden)) => unseen(policies, output, REVISION),
        Ok(Err(failure)) => Err(failure),
        Err(_) => Err(Failure::failed(format_args!(
            "not every node has {} after {} seconds; {}",
            titles.join(", "),
            limit.as_secs(),
            printed.ending()
        ))),
    }
}

/// Ends with what the policies themselves say: who may only write them cannot see how far nodes are.
fn unseen(policies: &[(String, Value)], output: Output, kind: &str) -> Result<(), Failure> {
    if let Some((title, policy)) = policies.iter().find(|(_, policy)| arrival::is_refused_by_nodes(policy)) {
        return Err(Failure::failed(format_args!("{title}: {}", arrival::message(policy))));
    }
    output.note(&format!("objects of kind {kind} may not be read with this identity, so nodes are not waited for"));
    Ok(())
}

async fn watch(cluster: &Cluster, kind: &Served, wanted: &[Frozen], printed: &mut Printed<'_>) -> Result<End, Failure> {
    loop {
        // All of them first: which one is the newest cannot be reported before.
        let Some(all) = cluster.all_readable(FABRIC, &kind.kind).await? else { return Ok(End::Forbidden) };
        let mut revisions: BTreeMap<String, NetworkConfigRevision> = all.iter().filter_map(read).collect();
        let mut parts = Parts::default();
        if !parts.complete(cluster, &mut revisions).await? {
            return Ok(End::Forbidden);
        }
        if printed.hear(arrival::of(wanted, revisions.values()))? {
            return Ok(End::Everywhere);
        }
        // The server ends every watch at some time.
        let Some(events) = cluster.watch_all(kind).await? else { return Ok(End::Forbidden) };
        let mut events = Box::pin(events);
        while let Some(event) = events.try_next().await.map_err(|error| cluster.refusal("watch", &error))? {
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => revisions.extend(read(&object)),
                WatchEvent::Deleted(object) => drop(read(&object).and_then(|(name, _)| revisions.remove(&name))),
                WatchEvent::Bookmark(_) => {}
                WatchEvent::Error(status) => return Err(answer(&status)),
            }
            if !parts.complete(cluster, &mut revisions).await? {
                return Ok(End::Forbidden);
            }
            if printed.hear(arrival::of(wanted, revisions.values()))? {
                return Ok(End::Everywhere);
            }
        }
    }
}

/// A revision under its name; one that cannot be read is of a version that is not this one's.
fn read(object: &Value) -> Option<(String, NetworkConfigRevision)> {
    let revision: NetworkConfigRevision = serde_json::from_value(object.clone()).ok()?;
    Some((revision.metadata.name.clone()?, revision))
}

/// What parts of revisions hold, by part.
#[derive(Default)]
struct Parts(BTreeMap<String, Vec<FrozenObject>>);

impl Parts {
    /// Puts what its parts hold into each revision; false where parts may not be read.
    async fn complete(
        &mut self,
        cluster: &Cluster,
        revisions: &mut BTreeMap<String, NetworkConfigRevision>,
    ) -> Result<bool, Failure> {
        let open = |revision: &NetworkConfigRevision| revision.spec.parts.iter().any(|part| !self.0.contains_key(part));
        if revisions.values().any(open) {
            let Some(all) = cluster.all_readable(FABRIC, PART).await? else { return Ok(false) };
            let read =
                all.into_iter().filter_map(|part| serde_json::from_value::<NetworkConfigRevisionPart>(part).ok());
            self.0 = read.filter_map(|part| Some((part.metadata.name?, part.spec.objects))).collect();
        }
        for spec in revisions.values_mut().map(|revision| &mut revision.spec) {
            let taken = std::mem::take(&mut spec.parts);
            // What stands in the revision goes before a part, and a later part before an earlier one.
            for object in taken.iter().rev().filter_map(|part| self.0.get(part)).flatten() {
                if !spec.objects.iter().any(|one| one.key() == object.key()) {
                    spec.objects.push(object.clone());
                }
            }
        }
        Ok(true)
    }
}

/// What was reported last.
struct Printed<'a> {
    output: Output,
    cuts: &'a Cuts,
    last: Option<String>,
    /// Whether nodes still come to have it by what was reported last.
    goes_on: bool,
}

impl Printed<'_> {
    /// Tells what is new; whether every node that can take it has it.
    fn hear(&mut self, arrival: Arrival) -> Result<bool, Failure> {
        self.cuts.heard();
        let (words, done) = match arrival {
            Arrival::NotFrozen => {
                self.goes_on = self.last.is_none();
                return Ok(false);
            }
            Arrival::UnderWay(words) => {
                self.goes_on = true;
                (words, false)
            }
            Arrival::SetAside(words) => {
                self.goes_on = false;
                (words, false)
            }
            Arrival::Everywhere(words) => (words, true),
            Arrival::Failed(why) => return Err(Failure::failed(why)),
        };
        if self.last.as_ref() != Some(&words) {
            self.output.note(&words);
            self.last = Some(words);
        }
        Ok(done)
    }

    /// What there is to say when it took too long.
    fn ending(&self) -> String {
        if let Some(unheard) = self.cuts.ending() {
            let last =
                self.last.as_ref().map(|last| format!(", and what was heard last is {last}")).unwrap_or_default();
            return format!("{unheard}{last}. {STAYS}");
        }
        match &self.last {
            None => "no revision has it as it was applied; is a controller running, or was it changed or deleted \
                     meanwhile?"
                .to_owned(),
            Some(last) if self.goes_on => format!("{last}. {STAYS}"),
            Some(last) => format!(
                "what was heard last is {last}. No revision brings it to nodes now: it may have been changed or deleted \
                 meanwhile, or a RolloutPolicy pins its nodes to another revision"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_that_took_too_long_says_whether_it_goes_on() {
        let cuts = Cuts::new(Output::new(true));
        let mut printed = Printed { output: Output::new(true), cuts: &cuts, last: None, goes_on: true };
        let mut after = |arrival| {
            assert_eq!(printed.hear(arrival), Ok(false));
            printed.ending()
        };
        assert!(after(Arrival::NotFrozen).contains("is a controller running"));
        let rolling = "r: Rolling. What was applied stays, and is worked on";
        assert_eq!(after(Arrival::UnderWay("r: Rolling".to_owned())), rolling);
        for gone in [Arrival::NotFrozen, Arrival::SetAside("r: Superseded".to_owned())] {
            let ending = after(gone);
            assert!(ending.contains(" r: ") && ending.contains("changed or deleted meanwhile"), "{ending}");
        }
        assert_eq!(after(Arrival::UnderWay("r: Rolling".to_owned())), rolling);
    }

    #[tokio::test]
    async fn a_wait_that_ends_in_a_cut_guesses_nothing() {
        let cuts = Cuts::new(Output::new(true));
        let mut printed = Printed { output: Output::new(true), cuts: &cuts, last: None, goes_on: true };
        let mut answers = vec![Failure::usage("no"), Failure::passing("no way")];
        assert!(cuts.go_on(async || Err::<(), _>(answers.pop().expect("one more"))).await.is_err());
        assert_eq!(printed.ending(), format!("nothing was heard at the end: no way. {STAYS}"));
        assert_eq!(printed.hear(Arrival::NotFrozen), Ok(false));
        assert!(printed.ending().contains("is a controller running"));
    }
}
