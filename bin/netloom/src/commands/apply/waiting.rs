//! Waiting until an object is in place, with every change of what it says told to the person in front.

use std::{collections::BTreeMap, time::Duration};

use futures_util::TryStreamExt as _;
use kube::core::WatchEvent;
use serde_json::Value;
use tokio::time::timeout;

use super::{arriving::STAYS, cuts::Cuts};
use crate::{
    arrival,
    cluster::{Cluster, Served, answer},
    failure::Failure,
    output::Output,
    readiness::{self, Said},
};

/// An object that is waited for.
pub(super) struct Awaited<'a> {
    pub(super) kind: &'a Served,
    pub(super) namespace: Option<&'a str>,
    pub(super) name: &'a str,
    pub(super) title: String,
}

impl Awaited<'_> {
    /// Waits until it is in place, or until nodes have refused it, which who waits for nodes tells; when that takes too
    /// long, says what it said last. Gives the object as it was last seen, where it says how far it is.
    pub(super) async fn until_done(&self, cluster: &Cluster, limit: Duration) -> Result<Option<Value>, Failure> {
        let output = Output::new(false);
        if !readiness::speaks(&self.kind.group, &self.kind.kind) {
            output.note(&format!("{}: objects of this kind do not say how far they are; not waited for", self.title));
            return Ok(None);
        }
        let cuts = Cuts::new(output);
        let mut told = Told { title: &self.title, output, cuts: &cuts, lines: BTreeMap::new() };
        let waited = timeout(limit, cuts.go_on(async || self.watch(cluster, &mut told).await)).await;
        waited.unwrap_or_else(|_| {
            let last = told.lines.get("").map_or("nothing", String::as_str);
            let ending = cuts.ending().unwrap_or_else(|| format!("it says: {last}"));
            let (title, seconds) = (&self.title, limit.as_secs());
            Err(Failure::failed(format_args!("{title} is not in place after {seconds} seconds; {ending}. {STAYS}")))
        })
    }

    async fn watch(&self, cluster: &Cluster, told: &mut Told<'_>) -> Result<Option<Value>, Failure> {
        loop {
            // A watch says nothing of what was gone before it began.
            if cluster.is_missing(self.kind, self.namespace, self.name).await? {
                return Err(self.deleted());
            }
            // The server ends every watch at some time.
            let mut events = Box::pin(cluster.watch(self.kind, self.namespace, self.name).await?);
            while let Some(event) = events.try_next().await.map_err(|error| cluster.refusal("watch", &error))? {
                match event {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                        if told.hear(&readiness::said(&object)) || arrival::is_refused_by_nodes(&object) {
                            return Ok(Some(object));
                        }
                    }
                    WatchEvent::Deleted(_) => return Err(self.deleted()),
                    WatchEvent::Bookmark(_) => {}
                    WatchEvent::Error(status) => return Err(answer(&status)),
                }
            }
        }
    }

    fn deleted(&self) -> Failure {
        Failure::failed(format_args!("{} was deleted meanwhile", self.title))
    }
}

/// What was told to the person in front, by whom it is about.
struct Told<'a> {
    title: &'a str,
    output: Output,
    cuts: &'a Cuts,
    lines: BTreeMap<String, String>,
}

impl Told<'_> {
    /// Tells what is new; whether the object is in place.
    fn hear(&mut self, said: &Said) -> bool {
        self.cuts.heard();
        for (who, what) in &said.lines {
            if self.lines.insert(who.clone(), what.clone()).as_ref() != Some(what) {
                let who = if who.is_empty() { String::new() } else { format!(", {who}") };
                self.output.note(&format!("{}{who}: {what}", self.title));
            }
        }
        said.done
    }
}
