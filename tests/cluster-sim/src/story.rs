//! A story: what a cluster is made of, and what people do to it, chapter by chapter. As data, so that the same
//! troubles can come over each of them.
//!
//! A chapter is run to its end before the next one begins. Where it rests, everything that was desired in it is
//! done by then, whatever went wrong meanwhile.

use std::collections::BTreeMap;

use netloom_agent_core::Mode;
use netloom_compile::ObjectKey;
use netloom_controller_core::Kinds;
use netloom_object::ObjectRef;
use netloom_types::IfName;
use serde::Deserialize;
use serde_json::Value;

use crate::{Bug, Cluster, MILLISECOND, Micros, SECOND, Setup, expected::Expected, process::server_clock, users};

/// How long a chapter is when it does not say: long enough for a lease that nobody gave back, and a desired state.
const CHAPTER: Micros = 35 * SECOND;

/// How long everybody has to begin.
const BEGIN: Micros = 10 * SECOND;

/// A story.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Story {
    nodes: usize,
    #[serde(default = "two")]
    controllers: usize,
    /// Whether agents merge policies themselves.
    #[serde(default)]
    distributed: bool,
    /// Further cards of every node.
    #[serde(default)]
    cards: Vec<String>,
    /// The largest MTU that the wire of a node takes.
    #[serde(default)]
    frail: BTreeMap<usize, u32>,
    /// How long a change of a host takes, in thousandths of a second. A node whose change takes longer than one says that it
    /// is at work.
    #[serde(default = "nine_tenths")]
    change_takes: u64,
    /// The specification of the one `RolloutPolicy`, which is called `all`.
    #[serde(default)]
    rollout: Option<Value>,
    /// What happens.
    pub(crate) chapters: Vec<Chapter>,
}

fn nine_tenths() -> u64 {
    900
}

fn two() -> usize {
    2
}

/// What people do at one time, and what becomes of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Chapter {
    /// What it tells, for people.
    pub(crate) title: String,
    /// Objects that somebody writes.
    #[serde(default)]
    put: Vec<Value>,
    /// Objects that somebody changes.
    #[serde(default)]
    patch: Vec<Patch>,
    /// Objects that somebody deletes.
    #[serde(default)]
    delete: Vec<Named>,
    /// Who is on a wire from now on.
    #[serde(default)]
    hear: Vec<Hear>,
    /// Links whose MTU somebody sets on a node itself.
    #[serde(default)]
    meddle: Vec<Meddle>,
    /// How long it is, where that is not as usual.
    #[serde(default)]
    milliseconds: Option<u64>,
    /// Whether everything is done in its end.
    #[serde(default = "yes")]
    pub(crate) rests: bool,
    /// What is so in its end when nothing goes wrong.
    #[serde(default)]
    pub(crate) expect: Expected,
}

impl Default for Chapter {
    fn default() -> Self {
        Self {
            title: String::new(),
            put: Vec::new(),
            patch: Vec::new(),
            delete: Vec::new(),
            hear: Vec::new(),
            meddle: Vec::new(),
            milliseconds: None,
            rests: true,
            expect: Expected::default(),
        }
    }
}

fn yes() -> bool {
    true
}

/// An object by its name.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Named {
    pub(crate) kind: String,
    pub(crate) name: String,
}

/// What somebody changes of an object.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Patch {
    kind: String,
    name: String,
    with: Value,
}

/// Who is on a wire.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hear {
    node: usize,
    link: IfName,
    neighbours: Vec<Value>,
}

/// What somebody does to a link.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Meddle {
    node: usize,
    link: String,
    mtu: u64,
}

/// Kind and names of an object; all that have a namespace are in the same one.
pub(crate) fn target(kind: &str, name: &str) -> Option<ObjectRef> {
    let kind = Kinds::built_in().all().iter().copied().find(|known| known.kind == kind)?;
    let spaced = kind.group == netloom_agent_core::STATE.group;
    let key = if spaced { ObjectKey::new(users::NAMESPACE, name) } else { ObjectKey::global(name) };
    Some(ObjectRef { kind, key })
}

impl Story {
    /// Reads a story.
    pub fn read(value: &Value) -> Result<Self, String> {
        let mut story: Self = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
        for chapter in &story.chapters {
            let changed = chapter.patch.iter().map(|patch| (&patch.kind, &patch.name));
            for (kind, name) in changed.chain(chapter.delete.iter().map(|named| (&named.kind, &named.name))) {
                target(kind, name).ok_or_else(|| format!("{}: nobody follows {kind}", chapter.title))?;
            }
        }
        story.chapters.insert(
            0,
            Chapter {
                title: "everybody begins".to_owned(),
                milliseconds: Some(BEGIN / MILLISECOND),
                ..Chapter::default()
            },
        );
        // What goes wrong in the last chapter has as much time to be fixed as what goes wrong in the others.
        let expect = story.chapters.last().map(|last| last.expect.clone()).unwrap_or_default();
        story.chapters.push(Chapter { title: "nothing more".to_owned(), expect, ..Chapter::default() });
        Ok(story)
    }

    /// The cluster before anything happens.
    pub(crate) fn begin(&self, bug: Option<Bug>) -> Cluster {
        Cluster::new(Setup {
            controllers: self.controllers,
            mode: if self.distributed { Mode::Distributed } else { Mode::Centralized },
            cards: self.cards.clone(),
            frail: self.frail.clone(),
            rollout: self.rollout.clone(),
            change_takes: self.change_takes * MILLISECOND,
            bug,
            ..Setup::of(7, self.nodes)
        })
    }

    /// When a chapter is over.
    pub(crate) fn end(&self, chapter: usize) -> Micros {
        let length = |chapter: &Chapter| chapter.milliseconds.map_or(CHAPTER, |length| length * MILLISECOND);
        self.chapters.iter().take(chapter + 1).map(length).sum()
    }
}

impl Cluster {
    /// Somebody does what a chapter begins with.
    pub(crate) fn begin_chapter(&mut self, chapter: &Chapter) {
        self.note(format_args!("chapter: {}", chapter.title));
        let now = server_clock(self.now);
        for object in &chapter.put {
            let object = self.filled(object);
            self.server.write(now, object);
        }
        for Patch { kind, name, with } in &chapter.patch {
            let patch = self.filled(with);
            let Some(target) = target(kind, name) else { continue };
            self.server.edit(now, &target, |object| {
                *object = netloom_patch::merge_patch(object, &patch).unwrap_or_else(|_| object.clone());
            });
        }
        for target in chapter.delete.iter().filter_map(|named| target(&named.kind, &named.name)) {
            self.server.remove(now, &target);
        }
        self.spread(None);
        for Hear { node, link, neighbours } in &chapter.hear {
            self.nodes[*node].wires.insert(*link, neighbours.clone());
            self.announce(*node);
        }
        for Meddle { node, link, mtu } in &chapter.meddle {
            self.nodes[*node].host.meddle(link, *mtu);
            self.host_changed(*node, true);
        }
    }

    /// The value with the names of revisions in the place of their numbers, such as `(revision 1)`.
    fn filled(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                let number = text.strip_prefix("(revision ").and_then(|rest| rest.strip_suffix(')'));
                let found = number.and_then(|number| {
                    let all = self.server.list(users::REVISION);
                    let is = |revision: &&std::sync::Arc<Value>| {
                        revision["metadata"]["annotations"]["netloom.dev/sequence"] == *number
                    };
                    all.into_iter().find(is).map(|revision| revision["metadata"]["name"].clone())
                });
                found.unwrap_or_else(|| value.clone())
            }
            Value::Array(items) => items.iter().map(|item| self.filled(item)).collect(),
            Value::Object(fields) => fields
                .iter()
                .map(|(name, value)| (name.clone(), self.filled(value)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}
