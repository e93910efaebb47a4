//! When a node says which links it has, in `NodeNetworkStatus`, and what of that it remembers.
//!
//! A link that flaps, or one that is made for every pod, would be a write each time, and each write is reported to
//! everybody who follows links of nodes. So there is a least time between two of them, and whatever came and went
//! within it is not reported. That a link went down or came up is reported only once it has stayed so:
//! `status.currentState` of the node's network state has it at once, and nobody needs it twice. What stands at the
//! server is known by a digest; the list itself is kept only until it stands there.

use jiff::Timestamp;
use netloom_api::{
    condition::{Condition, Conditions, Observation, seconds},
    pipeline::node_network_status::{NodeLibvirt, NodeNetworkStatusStatus},
};
use netloom_compile::ObjectKey;
use netloom_object::{Action, ObjectRef};
use serde_json::{Value, json};

use crate::{
    Agent, CompanionNews, LINKS, NODE, Settings,
    backoff::later,
    desired_state::uid,
    kube_event::fingerprint,
    pace::Pace,
    sessions,
    target::{Target, chosen},
};

/// Whether everything is listed.
const READY: &str = "Ready";
/// Whether the node's libvirt can be asked; of a node that has machines alone.
const LIBVIRT: &str = "LibvirtAvailable";
/// How much of what libvirt says is told.
const MOST_WORDS: usize = 1024;
/// The conditions that are ours.
const CONDITIONS: [&str; 2] = [READY, LIBVIRT];

fn available(libvirt: &Result<NodeLibvirt, String>) -> Observation {
    match libvirt {
        Ok(_) => Observation::new(LIBVIRT, true, "Connected", "libvirt answers"),
        Err(why) => {
            let why: String = why.chars().take(MOST_WORDS).collect();
            Observation::new(LIBVIRT, false, "LibvirtUnavailable", why)
        }
    }
}

/// What is known of the node's links, and when it was last reported.
#[derive(Debug, Clone, Default)]
pub(crate) struct Listing {
    /// What was seen last; none before the host was read.
    seen: Option<u64>,
    /// The links of that.
    links: Links,
    /// And those that were last reported.
    sent: Option<Links>,
    pace: Pace,
    /// The same in full, until it stands at the server.
    text: Option<Box<str>>,
    sent_at: Option<Timestamp>,
    /// What the lane of virtual machines tells of libvirt, or why it cannot be asked; none without such a lane.
    libvirt: Option<Result<NodeLibvirt, String>>,
    /// Whether it told something that was not reported yet: machines wait for it.
    urgent: bool,
}

impl Listing {
    /// Takes note of what the host has.
    pub(crate) fn saw(&mut self, now: Timestamp, mut list: NodeNetworkStatusStatus, standing: Option<u64>) {
        list.libvirt = self.libvirt.clone().and_then(Result::ok);
        let available = self.libvirt.as_ref().map(available);
        list.conditions.0.extend(available.map(|seen| seen.at(Timestamp::UNIX_EPOCH, None, &Conditions::default())));
        let digest = digest(&list);
        if self.seen != Some(digest) {
            self.pace.changed(now);
        }
        self.seen = Some(digest);
        self.links = Links::of(&list);
        let news = Some(digest) != standing;
        if !news {
            self.pace.matches();
        }
        self.text = news.then(|| serde_json::to_string(&list).ok()).flatten().map(String::into_boxed_str);
    }

    /// Takes note of what is told of libvirt; whether the host must be read for it to be reported.
    pub(crate) fn take_news(&mut self, news: &CompanionNews) -> bool {
        let CompanionNews::Libvirt(libvirt) = news else { return false };
        let differs = self.libvirt.as_ref() != Some(libvirt);
        self.libvirt = Some(libvirt.clone());
        self.urgent |= differs;
        differs
    }

    /// When it may be reported again.
    fn free_at(&self, settings: &Settings) -> Timestamp {
        if self.urgent {
            return Timestamp::MIN;
        }
        let paced = self.sent_at.map_or(Timestamp::MIN, |at| later(at, settings.list_pace));
        let flaps = self.sent.as_ref().is_some_and(|sent| self.links.differs_by_state(sent));
        if flaps { paced.max(self.pace.stable_for(settings.list_stable)) } else { paced }
    }
}

/// What tells apart which links there are, and which of them carry packets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Links {
    there: u64,
    states: u64,
}

impl Links {
    fn of(list: &NodeNetworkStatusStatus) -> Self {
        let states: Vec<&str> = list.interfaces.iter().map(|interface| interface.state.as_str()).collect();
        let states = fingerprint(&states);
        let mut there = list.interfaces.clone();
        for interface in &mut there {
            interface.state.clear();
            // They come and go with its state.
            interface.addresses.clear();
        }
        Self { there: fingerprint(&[&serde_json::to_string(&there).unwrap_or_default()]), states }
    }

    /// Whether the links are the same, but some went down or came up.
    fn differs_by_state(&self, sent: &Self) -> bool {
        self.there == sent.there && self.states != sent.states
    }
}

impl Agent {
    /// Whether there is news of the node's links, now or in a moment.
    pub(crate) fn has_links_to_list(&self) -> bool {
        self.lists_links() && self.listing.seen.is_some() && self.listing.seen != self.standing_list()
    }

    /// When time alone makes a report of the host due.
    pub(crate) fn report_at(&self, now: Timestamp) -> Option<Timestamp> {
        let (state, _) = chosen(&self.objects)?;
        let news =
            self.host_view.current.is_some() && self.host_view.current.as_ref() != self.objects.report(&state.meta.key);
        Some(self.host_view.pace.due(now)).filter(|at| *at > now && news)
    }

    /// When time alone makes news of the node's links due.
    pub(crate) fn list_at(&self, now: Timestamp) -> Option<Timestamp> {
        let at = self.listing.free_at(&self.settings);
        (at > now && self.has_links_to_list()).then_some(at)
    }

    /// Says which links the node has, where something else or nothing is reported of them.
    pub(crate) fn list_links(&mut self, now: Timestamp) -> Vec<(ObjectRef, Action)> {
        let standing = self.standing_list();
        if self.listing.seen == standing {
            self.listing.text = None;
        }
        let due = self.listing.free_at(&self.settings) <= now;
        if !self.has_links_to_list() || !due {
            return Vec::new();
        }
        let Some(list) = self.listing.text.as_deref().and_then(|text| serde_json::from_str(text).ok()) else {
            // Somebody else has changed or deleted what stood there.
            self.host_view.must = true;
            return Vec::new();
        };
        self.listing.sent_at = Some(now);
        self.listing.urgent = false;
        self.listing.sent = Some(self.listing.links.clone());
        self.listing.pace.reported(now);
        self.list_requests(now, list)
    }

    /// What stands at the server.
    pub(crate) fn standing_list(&self) -> Option<u64> {
        self.objects.digest(LINKS, &self.list_key())
    }

    fn list_key(&self) -> ObjectKey {
        ObjectKey::global(self.settings.node.as_str())
    }

    /// Whether anybody is to be reported. Who leaves again would leave a list that nobody keeps true, and so would a
    /// node that is none of the cluster any more.
    fn lists_links(&self) -> bool {
        let managed = matches!(self.target, Target::Wanted(_) | Target::Unreadable { .. });
        let node = self.objects.raw(NODE, &self.list_key());
        let stays = node.is_some_and(|node| node.pointer("/metadata/deletionTimestamp").is_none());
        managed && self.settings.enforce && self.settings.resident && stays && self.objects.is_listed(LINKS)
    }

    fn list_requests(&self, now: Timestamp, mut list: NodeNetworkStatusStatus) -> Vec<(ObjectRef, Action)> {
        let key = self.list_key();
        let known = self.objects.raw(LINKS, &key);
        let before: Conditions = known
            .and_then(|known| known.pointer("/status/conditions"))
            .and_then(|conditions| serde_json::from_value(conditions.clone()).ok())
            .unwrap_or_default();
        let timed = |condition: Condition| {
            let kind = CONDITIONS.into_iter().find(|kind| *kind == condition.kind)?;
            Some(Observation::new(kind, condition.status, condition.reason, condition.message).at(now, None, &before))
        };
        list.conditions = Conditions(std::mem::take(&mut list.conditions.0).into_iter().filter_map(timed).collect());
        list.last_updated = Some(seconds(now));
        let object = |metadata: Value| {
            json!({
                "apiVersion": format!("{}/v1alpha1", LINKS.group), "kind": LINKS.kind, "metadata": metadata,
            })
        };
        let target = ObjectRef { kind: LINKS, key };
        let mut requests = Vec::new();
        let mut applied = object(json!({"name": self.settings.node}));
        if let Some(known) = known {
            applied["metadata"]["uid"] = json!(uid(known));
        } else {
            let node = self.objects.raw(NODE, &target.key).map(|node| uid(node)).unwrap_or_default();
            // It goes with the node, whoever is left to see to it.
            let owner = json!({"apiVersion": "v1", "kind": "Node", "name": self.settings.node, "uid": node});
            let mut made = object(json!({"name": self.settings.node, "ownerReferences": [owner]}));
            made["spec"] = json!({});
            requests.push((target.clone(), Action::Create { object: made }));
        }
        applied["status"] = json!(list);
        requests.push((target, Action::ApplyStatus { object: applied }));
        requests
    }
}

/// What tells two lists apart: everything but times and numbers that change all the time, and of conditions only ours.
fn digest(list: &NodeNetworkStatusStatus) -> u64 {
    let of_daemons = sessions::lasting(&list.sessions, &list.vnis);
    let text = serde_json::to_string(&(&list.interfaces, &list.routes, &list.libvirt, of_daemons)).unwrap_or_default();
    let ours = CONDITIONS.map(|kind| list.conditions.get(kind));
    let ours = ours.map(|ours| ours.map(|ours| (ours.status, ours.reason.as_str(), ours.message.as_str())));
    fingerprint(&[&text, &format!("{ours:?}")])
}

/// An object without what it lists, and the digest of that.
pub(crate) fn taken_apart(object: &Value) -> (Value, Option<u64>) {
    let status = object.get("status");
    let list = status.and_then(|status| serde_json::from_value::<NodeNetworkStatusStatus>(status.clone()).ok());
    let conditions = status.and_then(|status| status.get("conditions"));
    let left = json!({
        "apiVersion": object["apiVersion"], "kind": object["kind"], "metadata": object["metadata"],
        "status": {"conditions": conditions.unwrap_or(&json!([]))},
    });
    (left, list.map(|list| digest(&list)))
}
