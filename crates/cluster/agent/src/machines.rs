//! Virtual machines of the node: the lane that has libvirt, and the API around it.
//!
//! ```text
//! instances of the node --> Worker (a thread) --> statuses, events
//!                                 '--> whether libvirt answers, for the list of what the node has
//! ```
//!
//! What happens to domains is decided in `netloom-machine` and carried out in `netloom-hypervisor`. This follows the
//! instances that the controller has given the node, and carries out what the lane wants of the API. An agent that was not
//! asked to have machines starts nothing of this.

use std::{io, sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::{
    Api, Client,
    api::{DynamicObject, GroupVersionKind, PostParams},
};
use netloom_agent_core::{CompanionNews, Event, MANAGER};
use netloom_api::machine::INSTANCE;
use netloom_client::{Ended, Watch, Writer};
use netloom_hypervisor::{Options, Told, Word, Worker};
use netloom_machine::{API_VERSION, NODE_LABEL, lane::Key, lane::Want};
use netloom_object::{Action, Answer, Chain, Change, Ledger, ObjectKey, ObjectRef, Request, RequestId, Version};
use serde_json::{Value, json};
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinSet,
};

use crate::{clock::Clock, kinds::resource, options::Machines};

/// How long one request may take.
const TIME_LIMIT: Duration = Duration::from_secs(15);

/// What the lane of a node needs.
pub(crate) struct Lane {
    pub(crate) client: Client,
    pub(crate) node: String,
    pub(crate) machines: Machines,
    pub(crate) poll: Duration,
    pub(crate) clock: Clock,
}

impl Lane {
    /// Starts the thread, and gives what is to run beside it. Both end together.
    pub(crate) fn start(self, events: UnboundedSender<Event>) -> io::Result<impl Future<Output = ()> + Send + use<>> {
        let (tell, told) = unbounded_channel();
        let Machines { socket, domains, plugins, reached: _ } = self.machines.clone();
        let options = Options { node: self.node.clone(), socket, domains, plugins, poll: self.poll, clock: wall };
        let worker = Worker::start(options, move |word| drop(tell.send(word)))?;
        let writer = Writer {
            client: self.client.clone(),
            manager: MANAGER,
            time_limit: TIME_LIMIT,
            resource: |kind| Some(resource(kind)),
        };
        let (back, answers) = unbounded_channel();
        let shell = Shell {
            lane: self,
            worker,
            writer,
            events,
            seen: Ledger::default(),
            requests: 0,
            tasks: JoinSet::new(),
            back,
        };
        Ok(shell.run(told, answers))
    }
}

/// The time of conditions.
fn wall() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// What came of something that was asked of the API.
enum Back {
    Wrote(Key, Box<Ended>),
    Looked(Key, Option<Value>),
}

struct Shell {
    lane: Lane,
    worker: Worker,
    writer: Writer,
    events: UnboundedSender<Event>,
    /// The newest version of each instance that the thread was told of.
    seen: Ledger<()>,
    requests: u64,
    tasks: JoinSet<()>,
    back: UnboundedSender<Back>,
}

impl Shell {
    async fn run(mut self, mut told: UnboundedReceiver<Told>, mut answers: UnboundedReceiver<Back>) {
        let labels = Some(format!("{NODE_LABEL}={}", self.lane.node));
        let watch = Watch { labels, ..Watch::all(INSTANCE, resource(INSTANCE)) };
        let mut changes = watch.follow(self.lane.client.clone());
        loop {
            tokio::select! {
                change = changes.next() => match change {
                    Some(Ok(change)) => self.take(change),
                    Some(Err(why)) => tracing::warn!(kind = INSTANCE.kind, %why, "the watch was interrupted"),
                    None => return,
                },
                word = told.recv() => match word {
                    Some(word) => self.told(word),
                    None => return,
                },
                Some(back) = answers.recv() => self.answered(back),
                Some(_) = self.tasks.join_next() => {}
            }
        }
    }

    fn take(&mut self, change: Change) {
        match change {
            Change::Put(object) => self.put(&object),
            Change::Gone(object) => {
                let Some(reference) = reference(&object) else { return };
                let key = (reference.key.namespace.clone(), reference.key.name.clone());
                if self.seen.gone(reference, Version::of(&object)) {
                    self.worker.say(Word::Gone(key));
                }
            }
            Change::Listed { kind, objects } => {
                let listed = objects.iter().filter_map(|object| reference(object)).collect();
                self.seen.listed(kind, &listed);
                for object in &objects {
                    if let Some(reference) = reference(object) {
                        self.seen.put(reference, Version::of(object), ());
                    }
                }
                self.worker.say(Word::Listed(objects.into_iter().map(Arc::unwrap_or_clone).collect()));
            }
        }
    }

    fn put(&mut self, object: &Arc<Value>) {
        let Some(reference) = reference(object) else { return };
        let version = Version::of(object);
        if self.seen.is_news(&reference, version) {
            self.seen.put(reference, version, ());
            self.worker.say(Word::Put(Value::clone(object)));
        }
    }

    fn told(&mut self, told: Told) {
        match told {
            Told::Libvirt(state) => {
                let reached = state.map(|()| self.lane.machines.reached.clone());
                // Nobody listens any more only when the agent ends.
                self.events.send(Event::Companion(CompanionNews::Libvirt(reached))).ok();
            }
            Told::Want(Want::Write { key, patch }) => self.write(key, patch),
            Told::Want(Want::Look { key }) => self.look(key),
            Told::Want(Want::Drift { key, uid, nics }) => self.drifted(&key, &uid, &nics),
            // The thread keeps these to itself.
            Told::Want(Want::Move { .. }) => {}
        }
    }

    fn write(&mut self, key: Key, patch: Value) {
        self.requests += 1;
        let target = ObjectRef { kind: INSTANCE, key: ObjectKey::new(key.0.as_str(), key.1.as_str()) };
        let chain = Chain(vec![Request { id: RequestId(self.requests), target, action: Action::Patch { patch } }]);
        let (writer, back) = (self.writer.clone(), self.back.clone());
        self.tasks.spawn(async move {
            writer.carry(chain, || true, |ended| drop(back.send(Back::Wrote(key.clone(), Box::new(ended))))).await;
        });
    }

    /// Asks what the API has of an instance. What could not be read is asked for again at the next poll.
    fn look(&mut self, key: Key) {
        let api: Api<DynamicObject> = Api::namespaced_with(self.lane.client.clone(), &key.0, &resource(INSTANCE));
        let back = self.back.clone();
        self.tasks.spawn(async move {
            match tokio::time::timeout(TIME_LIMIT, api.get_opt(&key.1)).await {
                Ok(Ok(found)) => {
                    let found = found.and_then(|object| serde_json::to_value(object).ok());
                    back.send(Back::Looked(key, found)).ok();
                }
                Ok(Err(why)) => tracing::warn!(instance = key.1, %why, "an instance cannot be read"),
                Err(_) => tracing::warn!(instance = key.1, "an instance cannot be read: no answer in time"),
            }
        });
    }

    fn answered(&mut self, back: Back) {
        match back {
            Back::Looked(key, found) => self.worker.say(Word::Looked(key, found)),
            Back::Wrote(key, ended) => {
                let Ended { outcome, change, .. } = *ended;
                if let Some(change) = change {
                    self.take(change);
                }
                if let Answer::Refused | Answer::Denied = outcome.answer() {
                    self.worker.say(Word::Refused(key));
                }
            }
        }
    }

    /// Tells people that somebody else changed links, which are as they were asked for again.
    fn drifted(&mut self, (namespace, name): &Key, uid: &str, nics: &[String]) {
        let now = self.lane.clock.now();
        let note =
            format!("somebody else changed the link of {}; it is set again as the machine says", nics.join(", "));
        let event = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"namespace": namespace, "name": format!("{name}.{:x}", now.as_microsecond())},
            "eventTime": MicroTime(now),
            "reportingController": "netloom.dev/agent",
            "reportingInstance": self.lane.node,
            "action": "Enforce",
            "reason": "LinkStateDrift",
            "type": "Warning",
            "regarding": {
                "apiVersion": API_VERSION, "kind": INSTANCE.kind, "namespace": namespace, "name": name, "uid": uid,
            },
            "note": note,
        });
        let events = kube::api::ApiResource::from_gvk(&GroupVersionKind::gvk("events.k8s.io", "v1", "Event"));
        let api: Api<DynamicObject> = Api::namespaced_with(self.lane.client.clone(), namespace, &events);
        self.tasks.spawn(async move {
            let told = async {
                let event = serde_json::from_value(event).map_err(kube::Error::SerdeError)?;
                api.create(&PostParams::default(), &event).await.map(drop)
            };
            if let Err(why) = told.await {
                tracing::warn!(%why, "an event about a link cannot be written");
            }
        });
    }
}

fn reference(object: &Value) -> Option<ObjectRef> {
    ObjectRef::among([INSTANCE].into_iter(), object)
}
