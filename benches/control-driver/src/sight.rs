//! The objects as they change: watches of several kinds, and waiting until they say something.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use bench_client::{Access, Failure};
use serde_json::Value;
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    task::JoinSet,
    time::timeout,
};

/// How long anything may take before it is given up.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// What is watched, as it was last heard of, by kind and name.
pub struct Sight {
    objects: BTreeMap<(String, String), Value>,
    events: UnboundedReceiver<(Instant, Value)>,
    /// Ends the watches with this.
    _watches: JoinSet<()>,
}

impl Sight {
    /// Watches all objects of these paths, over one connection.
    pub async fn of(access: &Access, paths: &[&str]) -> Result<Self, Failure> {
        let mut client = access.connect().await?;
        let (sender, events) = unbounded_channel();
        let mut watches = JoinSet::new();
        for path in paths {
            let (mut watch, sender) = (client.watch(path).await?, sender.clone());
            watches.spawn(async move {
                // Before it is read: what the driver does with an event is no part of what is measured.
                while let Ok(event) = watch.next().await {
                    if sender.send((Instant::now(), event)).is_err() {
                        return;
                    }
                }
            });
        }
        Ok(Self { objects: BTreeMap::new(), events, _watches: watches })
    }

    /// Waits until the objects are as wanted; when that was heard.
    pub async fn until(&mut self, what: &str, so: impl Fn(&Self) -> bool) -> Result<Instant, Failure> {
        let mut heard = Instant::now();
        let wait = async {
            while !so(self) {
                let (at, event) = self.events.recv().await.ok_or("all watches have ended")?;
                self.take(event);
                heard = at;
            }
            Ok::<(), Failure>(())
        };
        match timeout(TIME_LIMIT, wait).await {
            Ok(done) => done.map(|()| heard),
            Err(_) => Err(format!("not so within {TIME_LIMIT:?}: {what}; {}", self.reported().join("; ")).into()),
        }
    }

    /// An object as it was last heard of.
    pub fn get(&self, kind: &str, name: &str) -> Option<&Value> {
        self.objects.get(&(kind.to_owned(), name.to_owned()))
    }

    /// All objects of a kind.
    pub fn all(&self, kind: &'static str) -> impl Iterator<Item = &Value> {
        self.objects.iter().filter(move |((one, _), _)| one == kind).map(|(_, object)| object)
    }

    /// What the objects say, for people.
    fn reported(&self) -> Vec<String> {
        let reported = |((kind, name), object): (&(String, String), &Value)| {
            let words = [&object["note"], &object["status"]["conditions"]].map(Value::to_string);
            format!("{kind} {name}: {}", words.join(" "))
        };
        self.objects.iter().map(reported).collect()
    }

    fn take(&mut self, event: Value) {
        let object = &event["object"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let key = (text(&object["kind"]), text(&object["metadata"]["name"]));
        if event["type"] == "DELETED" {
            self.objects.remove(&key);
        } else {
            self.objects.insert(key, object.clone());
        }
    }
}
