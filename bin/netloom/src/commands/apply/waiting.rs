//! Waiting until an object is in place, with every change of what it says told to the person in front.

use std::{collections::BTreeMap, time::Duration};

use futures_util::{Stream, TryStreamExt as _};
use kube::core::WatchEvent;
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use super::{arriving::STAYS, cuts::Cuts};
use crate::{
    arrival,
    cluster::{Cluster, Served, answer},
    failure::Failure,
    output::Output,
    readiness::{self, Outlook, Said},
};

/// How long a failure must stand: what was applied together with the object, or a node that tries once more, may just be
/// mending it.
const STANDS: Duration = Duration::from_secs(5);
/// What becomes of a wait for what nobody is at.
const IDLE: &str = "What was applied stays, and is in place only once that has changed";

/// An object that is waited for.
pub(super) struct Awaited<'a> {
    pub(super) kind: &'a Served,
    pub(super) namespace: Option<&'a str>,
    pub(super) name: &'a str,
    pub(super) title: String,
}

impl Awaited<'_> {
    /// Waits until it is in place, or until nodes have refused it; of policies who waits for nodes tells that. When that
    /// takes too long, says what it said last. Gives the object as it was last seen, where it says how far it is.
    pub(super) async fn until_done(&self, cluster: &Cluster, limit: Duration) -> Result<Option<Value>, Failure> {
        let output = Output::new(false);
        if !readiness::speaks(&self.kind.group, &self.kind.kind) {
            output.note(&format!("{}: objects of this kind do not say how far they are; not waited for", self.title));
            return Ok(None);
        }
        let cuts = Cuts::new(output);
        let mut told = Told::new(&self.title, output, &cuts);
        let waited = timeout(limit, cuts.go_on(async || self.watch(cluster, &mut told).await)).await;
        waited.unwrap_or_else(|_| {
            let (title, seconds, ending) = (&self.title, limit.as_secs(), told.ending());
            Err(Failure::failed(format_args!("{title} is not in place after {seconds} seconds; {ending}")))
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
            while let Some(event) = told.next(cluster, &mut events).await? {
                match event {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                        if told.hear(readiness::said(&object))? || arrival::is_refused_by_nodes(&object) {
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

/// What was told to the person in front.
struct Told<'a> {
    title: &'a str,
    output: Output,
    cuts: &'a Cuts,
    /// By whom it is about.
    lines: BTreeMap<String, String>,
    outlook: Outlook,
    /// When a failure counts that was heard.
    fails_at: Option<Instant>,
}

impl<'a> Told<'a> {
    fn new(title: &'a str, output: Output, cuts: &'a Cuts) -> Self {
        Self { title, output, cuts, lines: BTreeMap::new(), outlook: Outlook::UnderWay, fails_at: None }
    }

    /// The next event; a failure that nothing is heard about any more ends the wait.
    async fn next(
        &self,
        cluster: &Cluster,
        events: &mut (impl Stream<Item = Result<WatchEvent<Value>, kube::Error>> + Unpin),
    ) -> Result<Option<WatchEvent<Value>>, Failure> {
        let next = events.try_next();
        let event = match self.fails_at {
            Some(at) => timeout_at(at, next).await.map_err(|_| self.failure())?,
            None => next.await,
        };
        event.map_err(|error| cluster.refusal("watch", &error))
    }

    /// Tells what is new; whether the object is in place.
    fn hear(&mut self, said: Said) -> Result<bool, Failure> {
        self.cuts.heard();
        for (who, what) in &said.lines {
            if self.lines.get(who) != Some(what) {
                let who = if who.is_empty() { String::new() } else { format!(", {who}") };
                self.output.note(&format!("{}{who}: {what}", self.title));
            }
        }
        self.lines = said.lines.into_iter().collect();
        self.outlook = said.outlook;
        match self.outlook {
            Outlook::UnderWay | Outlook::Idle => self.fails_at = None,
            Outlook::Failed(_) => drop(self.fails_at.get_or_insert_with(|| Instant::now() + STANDS)),
            Outlook::Leaving => return Err(self.failure()),
        }
        Ok(said.done)
    }

    /// Why no waiting helps.
    fn failure(&self) -> Failure {
        let title = self.title;
        match &self.outlook {
            Outlook::Failed(why) => Failure::failed(format_args!(
                "{title} does not come to be in place, {why}. What was applied stays; change what is asked for and apply \
                 that"
            )),
            Outlook::Leaving => {
                Failure::failed(format_args!("{title} is being deleted; apply it again when it is gone"))
            }
            Outlook::UnderWay | Outlook::Idle => Failure::failed(format_args!("{title}: {}", self.ending())),
        }
    }

    /// What there is to say when it took too long.
    fn ending(&self) -> String {
        if let Some(unheard) = self.cuts.ending() {
            return format!("{unheard}. {STAYS}");
        }
        let stays = if self.outlook == Outlook::UnderWay { STAYS } else { IDLE };
        format!("it says: {}. {stays}", self.last())
    }

    /// What is said last of the object, and of nodes that are not ready.
    fn last(&self) -> String {
        let own = self.lines.get("").map_or("nothing", String::as_str);
        let nodes = self.lines.iter().filter(|(who, what)| !who.is_empty() && what.starts_with("not "));
        let nodes = nodes.map(|(who, what)| format!("; {who}: {what}"));
        [own.to_owned()].into_iter().chain(nodes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(outlook: Outlook, node: &str) -> Said {
        let lines = [("", "not ready: Pending, 0 of 1 nodes are ready"), ("n1", node)];
        let lines = lines.map(|(who, what)| (who.to_owned(), what.to_owned())).to_vec();
        Said { done: false, lines, outlook }
    }

    #[test]
    fn a_wait_that_took_too_long_says_whether_anybody_is_at_it() {
        let cuts = Cuts::new(Output::new(true));
        let mut told = Told::new("it", Output::new(true), &cuts);
        assert_eq!(told.ending(), format!("it says: nothing. {STAYS}"));
        assert_eq!(told.hear(said(Outlook::UnderWay, "ready")), Ok(false));
        assert_eq!(told.ending(), format!("it says: not ready: Pending, 0 of 1 nodes are ready. {STAYS}"));
        assert_eq!(told.hear(said(Outlook::Idle, "not ready: NoStaticIP")), Ok(false));
        let idle = "it says: not ready: Pending, 0 of 1 nodes are ready; n1: not ready: NoStaticIP";
        assert_eq!(told.ending(), format!("{idle}. {IDLE}"));
    }

    #[test]
    fn a_failure_counts_when_it_stands() {
        let cuts = Cuts::new(Output::new(true));
        let mut told = Told::new("it", Output::new(true), &cuts);
        let failed = || said(Outlook::Failed("n1: no such link".to_owned()), "not ready: ApplyFailed");
        assert_eq!(told.hear(failed()), Ok(false));
        let first = told.fails_at.expect("it counts at some time");
        assert_eq!(told.hear(failed()), Ok(false));
        assert_eq!(told.fails_at, Some(first), "what is said again is not put off");
        assert!(told.failure().message.starts_with("it does not come to be in place, n1: no such link. "));
        assert_eq!(told.hear(said(Outlook::UnderWay, "ready")), Ok(false));
        assert_eq!(told.fails_at, None, "somebody mended it");
        let leaving = told.hear(said(Outlook::Leaving, "ready")).unwrap_err();
        assert!(leaving.message.contains("is being deleted"), "{}", leaving.message);
    }
}
