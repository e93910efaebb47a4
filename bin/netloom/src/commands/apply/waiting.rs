//! Waiting until an object is in place, with every change of what it says shown to the user.

use std::{collections::BTreeMap, mem::discriminant, time::Duration};

use futures_util::{StreamExt, TryStreamExt as _, stream::select_all};
use kube::core::WatchEvent;
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use super::arriving::STAYS;
use crate::{
    arrival,
    cluster::{Cluster, Events, Served, answer},
    cuts::Cuts,
    failure::Failure,
    output::Output,
    readiness::{self, ObjectProgress, Outlook, uplinks},
};

/// How long a failure must stand, or that there is nobody to wait for: what was applied together with it, or a node that
/// tries once more, may just be changing that.
const STANDS: Duration = Duration::from_secs(5);
/// What becomes of a wait for what nobody is at.
const IDLE: &str = "What was applied stays, and is in place only once that has changed";

const HOST_NETWORKS: &str = "network.harvesterhci.io/v1beta1";
/// What tells how a node is connected.
const STATUS: &str = "VlanStatus";

/// An object that is waited for.
pub(super) struct Awaited<'a> {
    pub(super) kind: &'a Served,
    pub(super) namespace: Option<&'a str>,
    pub(super) name: &'a str,
    pub(super) title: String,
    /// Whether it is an uplink, of which other objects tell.
    pub(super) is_uplink: bool,
}

impl Awaited<'_> {
    /// Waits until it is in place, or until nodes have refused it; of policies who waits for nodes tells that. When that
    /// takes too long, says what it reported last. Gives the object as it was last seen, where it says how far it is.
    pub(super) async fn until_done(&self, cluster: &Cluster, limit: Duration) -> Result<Option<Value>, Failure> {
        let output = Output::new(false);
        if !self.is_uplink && !readiness::speaks(&self.kind.group, &self.kind.kind) {
            let (title, plural) = (&self.title, &self.kind.plural);
            output.note(&format!("{title}: not waited for; `netloom get {plural}` shows what such objects say"));
            return Ok(None);
        }
        let cuts = Cuts::new(output);
        let mut printed = Printed::new(&self.title, output, &cuts);
        let waited = timeout(limit, cuts.go_on(async || self.watch(cluster, &mut printed).await)).await;
        waited.unwrap_or_else(|_| {
            let (title, seconds, ending) = (&self.title, limit.as_secs(), printed.ending());
            Err(Failure::failed(format_args!("{title} is not in place after {seconds} seconds; {ending}")))
        })
    }

    async fn watch(&self, cluster: &Cluster, printed: &mut Printed<'_>) -> Result<Option<Value>, Failure> {
        loop {
            // A watch says nothing of what was gone before it began.
            if cluster.is_missing(self.kind, self.namespace, self.name).await? {
                return Err(self.deleted());
            }
            let (mut seen, tellers) = self.tellers(cluster).await?;
            if self.is_uplink && tellers.is_none() {
                let why = format!("objects of kind {STATUS} may not be read with this identity, or are not served");
                printed.output.note(&format!("{}: {why}, so nodes are not waited for", self.title));
                return Ok(None);
            }
            // The server ends every watch at some time.
            let mut events = self.events(cluster, tellers.as_ref()).await?;
            loop {
                match printed.next(cluster, &mut events).await? {
                    Heard::End => break,
                    Heard::Nothing => return printed.stood().map(|()| seen.one(&self.kind.kind, self.name).cloned()),
                    Heard::Event(WatchEvent::Added(object) | WatchEvent::Modified(object)) => seen.put(object),
                    Heard::Event(WatchEvent::Deleted(object)) if object["kind"] == self.kind.kind => {
                        return Err(self.deleted());
                    }
                    Heard::Event(WatchEvent::Deleted(object)) => seen.remove(&object),
                    Heard::Event(WatchEvent::Bookmark(_)) => continue,
                    Heard::Event(WatchEvent::Error(status)) => return Err(answer(&status)),
                }
                let Some(object) = seen.one(&self.kind.kind, self.name) else { continue };
                if printed.hear(self.reported(object, &seen))? || arrival::is_refused_by_nodes(object) {
                    return Ok(Some(object.clone()));
                }
            }
        }
    }

    fn reported(&self, object: &Value, seen: &Seen) -> ObjectProgress {
        if !self.is_uplink {
            return readiness::reported(object);
        }
        uplinks::reported(object, &seen.all(STATUS))
    }

    /// The objects that tell of this one where it does not do so itself, and their kind; none where they may not be read.
    async fn tellers(&self, cluster: &Cluster) -> Result<(Seen, Option<Served>), Failure> {
        let mut seen = Seen::default();
        let kind = if self.is_uplink { cluster.served(HOST_NETWORKS, STATUS).await? } else { None };
        let Some(kind) = kind else { return Ok((seen, None)) };
        let all = cluster.all_readable(HOST_NETWORKS, STATUS).await?;
        let kind = all.is_some().then_some(kind);
        all.into_iter().flatten().for_each(|object| seen.put(object));
        Ok((seen, kind))
    }

    /// What happens to this object and to those that tell of it.
    async fn events(&self, cluster: &Cluster, tellers: Option<&Served>) -> Result<impl Events + use<>, Failure> {
        let mut all = vec![cluster.watch(self.kind, self.namespace, self.name).await?.boxed()];
        if let Some(kind) = tellers {
            all.extend(cluster.watch_all(kind).await?.map(StreamExt::boxed));
        }
        Ok(select_all(all))
    }

    fn deleted(&self) -> Failure {
        Failure::failed(format_args!("{} was deleted meanwhile", self.title))
    }
}

/// Objects as they were heard of last, by kind and name.
#[derive(Default)]
struct Seen(BTreeMap<String, BTreeMap<String, Value>>);

impl Seen {
    fn put(&mut self, object: Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.0.entry(text(&object["kind"])).or_default().insert(text(&object["metadata"]["name"]), object);
    }

    fn remove(&mut self, object: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.0.entry(text(&object["kind"])).or_default().remove(&text(&object["metadata"]["name"]));
    }

    fn one(&self, kind: &str, name: &str) -> Option<&Value> {
        self.0.get(kind)?.get(name)
    }

    fn all(&self, kind: &str) -> Vec<&Value> {
        self.0.get(kind).into_iter().flat_map(BTreeMap::values).collect()
    }
}

/// What is heard of the server.
enum Heard {
    Event(WatchEvent<Value>),
    /// Nothing, until what was reported last counts.
    Nothing,
    End,
}

/// What was shown to the user.
struct Printed<'a> {
    title: &'a str,
    output: Output,
    cuts: &'a Cuts,
    /// By whom it is about.
    lines: BTreeMap<String, String>,
    outlook: Outlook,
    /// When that counts which must stand.
    counts_at: Option<Instant>,
}

impl<'a> Printed<'a> {
    fn new(title: &'a str, output: Output, cuts: &'a Cuts) -> Self {
        Self { title, output, cuts, lines: BTreeMap::new(), outlook: Outlook::UnderWay, counts_at: None }
    }

    /// What comes next.
    async fn next(&self, cluster: &Cluster, events: &mut impl Events) -> Result<Heard, Failure> {
        let next = events.try_next();
        let event = match self.counts_at {
            Some(at) => match timeout_at(at, next).await {
                Ok(event) => event,
                Err(_) => return Ok(Heard::Nothing),
            },
            None => next.await,
        };
        let event = event.map_err(|error| cluster.refusal("watch", &error))?;
        Ok(event.map_or(Heard::End, Heard::Event))
    }

    /// What was reported last has stood; whether that is a desired end.
    fn stood(&self) -> Result<(), Failure> {
        if self.outlook == Outlook::Settling { Ok(()) } else { Err(self.failure()) }
    }

    /// Tells what is new; whether the object is in place.
    fn hear(&mut self, reported: ObjectProgress) -> Result<bool, Failure> {
        self.cuts.heard();
        for (who, what) in &reported.lines {
            if self.lines.get(who) != Some(what) {
                let who = if who.is_empty() { String::new() } else { format!(", {who}") };
                self.output.note(&format!("{}{who}: {what}", self.title));
            }
        }
        self.lines = reported.lines.into_iter().collect();
        let again = discriminant(&self.outlook) == discriminant(&reported.outlook);
        self.outlook = reported.outlook;
        self.counts_at = match self.outlook {
            Outlook::UnderWay | Outlook::Idle => None,
            Outlook::Failed(_) | Outlook::Settling => {
                self.counts_at.filter(|_| again).or_else(|| Some(Instant::now() + STANDS))
            }
            Outlook::Leaving => return Err(self.failure()),
        };
        Ok(reported.done)
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
            Outlook::UnderWay | Outlook::Settling | Outlook::Idle => {
                Failure::failed(format_args!("{title}: {}", self.ending()))
            }
        }
    }

    /// What there is to say when it took too long.
    fn ending(&self) -> String {
        if let Some(unheard) = self.cuts.ending() {
            return format!("{unheard}. {STAYS}");
        }
        let stays = match self.outlook {
            Outlook::UnderWay | Outlook::Settling => STAYS,
            Outlook::Idle | Outlook::Failed(_) | Outlook::Leaving => IDLE,
        };
        format!("it says: {}. {stays}", self.last())
    }

    /// What is reported last of the object, and of nodes that are not ready.
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

    fn reported(outlook: Outlook, node: &str) -> ObjectProgress {
        let lines = [("", "not ready: Pending, 0 of 1 nodes are ready"), ("n1", node)];
        let lines = lines.map(|(who, what)| (who.to_owned(), what.to_owned())).to_vec();
        ObjectProgress { done: false, lines, outlook }
    }

    #[test]
    fn a_wait_that_took_too_long_says_whether_anybody_is_applying() {
        let cuts = Cuts::new(Output::new(true));
        let mut printed = Printed::new("it", Output::new(true), &cuts);
        assert_eq!(printed.ending(), format!("it says: nothing. {STAYS}"));
        assert_eq!(printed.hear(reported(Outlook::UnderWay, "ready")), Ok(false));
        assert_eq!(printed.ending(), format!("it says: not ready: Pending, 0 of 1 nodes are ready. {STAYS}"));
        assert_eq!(printed.hear(reported(Outlook::Idle, "not ready: NoStaticIP")), Ok(false));
        let idle = "it says: not ready: Pending, 0 of 1 nodes are ready; n1: not ready: NoStaticIP";
        assert_eq!(printed.ending(), format!("{idle}. {IDLE}"));
    }

    #[test]
    fn a_failure_counts_when_it_stands() {
        let cuts = Cuts::new(Output::new(true));
        let mut printed = Printed::new("it", Output::new(true), &cuts);
        let failed = || reported(Outlook::Failed("n1: no such link".to_owned()), "not ready: ApplyFailed");
        assert_eq!(printed.hear(failed()), Ok(false));
        let first = printed.counts_at.expect("it counts at some time");
        assert_eq!(printed.hear(failed()), Ok(false));
        assert_eq!(printed.counts_at, Some(first), "what is reported again is not put off");
        assert!(printed.failure().message.starts_with("it does not come to be in place, n1: no such link. "));
        assert_eq!(printed.hear(reported(Outlook::UnderWay, "ready")), Ok(false));
        assert_eq!(printed.counts_at, None, "somebody fixed it");
        assert_eq!(printed.hear(failed()), Ok(false));
        let failing = printed.counts_at;
        assert_eq!(printed.hear(reported(Outlook::Settling, "ready")), Ok(false));
        assert!(printed.counts_at > failing && printed.stood().is_ok(), "it is something else that must stand now");
        let leaving = printed.hear(reported(Outlook::Leaving, "ready")).unwrap_err();
        assert!(leaving.message.contains("is being deleted"), "{}", leaving.message);
    }
}
