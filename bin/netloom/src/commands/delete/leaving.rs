//! Objects that were deleted and are still there, because something has to be done first: what holds them, and waiting until
//! they are gone.

use std::time::Duration;

use futures_util::TryStreamExt as _;
use kube::core::WatchEvent;
use netloom_controller_core::UPLINK_FINALIZER;
use serde_json::Value;
use tokio::time::timeout;

use super::Target;
use crate::{
    cluster::{Cluster, answer},
    cuts::Cuts,
    failure::Failure,
    output::Output,
    readiness,
};

/// An object on its way out.
pub(super) struct Leaving<'a> {
    target: &'a Target,
    /// Another one of the same name is not the one that goes.
    uid: Value,
}

/// What holds an object that was deleted, in words that follow; none for one that is gone, of which the answer to the
/// request is no object.
pub(super) fn what_holds(object: &Value) -> Option<String> {
    let metadata = object["metadata"].as_object().filter(|metadata| metadata.contains_key("deletionTimestamp"))?;
    let finalizers: Vec<&str> =
        metadata.get("finalizers").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let held = if finalizers.is_empty() { String::new() } else { format!("; held by {}", finalizers.join(", ")) };
    let nodes = object["status"]["nodeStatus"].as_object().filter(|nodes| !nodes.is_empty());
    let nodes = match nodes {
        Some(nodes) => format!("; nodes that still have it: {}", nodes.len()),
        None if finalizers.contains(&UPLINK_FINALIZER) => "; its VlanStatus objects say which nodes have it".to_owned(),
        None => String::new(),
    };
    Some(held + &nodes)
}

impl<'a> Leaving<'a> {
    pub(super) fn new(target: &'a Target, object: &Value) -> Self {
        Self { target, uid: object["metadata"]["uid"].clone() }
    }

    /// Waits until it is gone, with every change of what it says shown to the user.
    pub(super) async fn until_gone(&self, cluster: &Cluster, limit: Duration, output: Output) -> Result<(), Failure> {
        let cuts = Cuts::new(output);
        let mut printed = Printed { title: &self.target.title, output, message: String::new(), held: String::new() };
        let waited = timeout(limit, cuts.go_on(async || self.watch(cluster, &cuts, &mut printed).await)).await;
        waited.unwrap_or_else(|_| {
            let (title, seconds, held) = (&self.target.title, limit.as_secs(), &printed.held);
            let unheard = cuts.ending().map(|why| format!("; {why}")).unwrap_or_default();
            Err(Failure::failed(format_args!(
                "{title} is not gone after {seconds} seconds{held}{unheard}. It goes as soon as nothing holds it"
            )))
        })?;
        output.note(&format!("{} deleted", self.target.title));
        Ok(())
    }

    async fn watch(&self, cluster: &Cluster, cuts: &Cuts, printed: &mut Printed<'_>) -> Result<(), Failure> {
        let Target { kind, namespace, name, .. } = self.target;
        loop {
            // A watch says nothing of what was gone before it began.
            if cluster.is_missing(kind, Some(namespace), name).await? {
                return Ok(());
            }
            // The server ends every watch at some time.
            let mut events = Box::pin(cluster.watch(kind, Some(namespace), name).await?);
            while let Some(event) = events.try_next().await.map_err(|error| cluster.refusal("watch", &error))? {
                cuts.heard();
                match event {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                        if object["metadata"]["uid"] != self.uid {
                            return Ok(());
                        }
                        printed.hear(&object);
                    }
                    WatchEvent::Deleted(_) => return Ok(()),
                    WatchEvent::Bookmark(_) => {}
                    WatchEvent::Error(status) => return Err(answer(&status)),
                }
            }
        }
    }
}

/// What was shown to the user.
struct Printed<'a> {
    title: &'a str,
    output: Output,
    message: String,
    held: String,
}

impl Printed<'_> {
    fn hear(&mut self, object: &Value) {
        self.held = what_holds(object).unwrap_or_default();
        let message = readiness::message(object);
        if !message.is_empty() && message != self.message {
            self.output.note(&format!("{}: {message}", self.title));
            message.clone_into(&mut self.message);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_holds_an_object_is_named() {
        let gone = json!({"kind": "Status", "status": "Success", "details": {"uid": "1"}});
        assert_eq!(what_holds(&gone), None);
        let mut held = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
        assert_eq!(what_holds(&held).as_deref(), Some(""), "it has some time to end");
        held["metadata"]["finalizers"] = json!(["netloom.dev/host-network", "example.org/other"]);
        held["status"] = json!({"nodeStatus": {"n1": {}, "n2": {}}});
        assert_eq!(
            what_holds(&held).as_deref(),
            Some("; held by netloom.dev/host-network, example.org/other; nodes that still have it: 2")
        );
        let uplink = json!({"metadata": {"deletionTimestamp": "", "finalizers": [UPLINK_FINALIZER]}});
        assert_eq!(
            what_holds(&uplink).as_deref(),
            Some("; held by netloom.dev/uplink; its VlanStatus objects say which nodes have it")
        );
    }
}
