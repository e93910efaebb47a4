//! Every file `scenarios/stops/machines/*.yaml` is a story of one machine. It is told once with nobody dying, and once for
//! every step: the agent dies in a call of libvirt or a write of a status, the controller in a write, before that was carried
//! out or after. Another one takes over, and every chapter ends as in the first telling: one domain that runs, or none, and a
//! true status. The hypervisor prints domains as a real daemon does, from a recording of one.

use std::{collections::BTreeMap, fs, path::Path};

use netloom_domain::xml;
use netloom_machine::{
    control::Kind,
    domain::Plugins,
    lane::{Lane, Want},
};
use netloom_patch::json_patch;
use netloom_schema::decode::{Limits, yaml_documents};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    fake::{BASE, Death, Fake, Folder},
    world::World,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Story {
    chapters: Vec<Chapter>,
}

/// What a person does, and what is so in the end.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Chapter {
    title: String,
    put: Option<Value>,
    patch: Option<Value>,
    expect: Expected,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    /// That of the instance; `none` where there is none.
    phase: String,
    #[serde(default)]
    links: BTreeMap<String, String>,
}

/// Who dies, in which of its steps, and whether that is still carried out.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stop {
    Call(Death),
    Status(Death),
    Controller(Death),
}

struct Play {
    world: World,
    fake: Fake,
    lane: Lane,
    now: u64,
    stop: Option<Stop>,
    /// How many statuses the agent wrote, and how many writes the controller made.
    statuses: usize,
    writes: usize,
}

/// How a chapter ended: the instance and its machine, and what is defined with whether it runs.
type End = (Value, Value, BTreeMap<String, (String, bool)>);

impl Play {
    fn new(stop: Option<Stop>) -> Self {
        let recorded = fs::read_to_string(folder().join("live.xml")).unwrap();
        let death = stop.and_then(|stop| if let Stop::Call(death) = stop { Some(death) } else { None });
        let fake = Fake { death, recorded: Some(xml::parse(&recorded).unwrap()), ..Fake::default() };
        let (world, lane) = (World::default(), Lane::new("n1", Plugins::new()));
        let mut play = Self { world, fake, lane, now: 0, stop, statuses: 0, writes: 0 };
        play.another_agent();
        play
    }

    fn another_agent(&mut self) {
        self.lane = Lane::new("n1", Plugins::new());
        self.lane.listed(self.world.get(Kind::Instance).cloned().into_iter().filter(is_here).collect());
    }

    /// The agent sees what became of its instance.
    fn tell_agent(&mut self) {
        match self.world.get(Kind::Instance).filter(|instance| is_here(instance)) {
            Some(instance) => self.lane.put(instance.clone()),
            None => self.lane.gone(("default".to_owned(), "a".to_owned())),
        }
    }

    fn chapter(&mut self, chapter: &Chapter) -> End {
        if let Some(machine) = &chapter.put {
            self.world.put(Kind::Machine, machine.clone());
        }
        if let Some(patch) = &chapter.patch {
            self.world.edit(Kind::Machine, |machine| *machine = json_patch(machine, patch).unwrap());
        }
        for _ in 0..60 {
            let is_idle = self.controller() & self.agent();
            match self.lane.wake_at() {
                _ if !is_idle => {}
                Some(at) => self.now = self.now.max(at),
                None => return self.end(),
            }
        }
        panic!("{}: it never rests: {:?} {:?}", chapter.title, self.fake.done, self.world.asks());
    }

    /// A turn of the controller; whether there was nothing to do.
    fn controller(&mut self) -> bool {
        let asks = self.world.asks();
        for ask in &asks {
            self.writes += 1;
            let dies = match self.stop {
                Some(Stop::Controller(death)) if death.at == self.writes => Some(death.after),
                _ => None,
            };
            if dies != Some(false) {
                // What was overtaken is decided again.
                self.world.carry(ask).ok();
            }
            if dies.is_some() {
                // What else was decided is lost with it.
                break;
            }
        }
        if !asks.is_empty() {
            self.tell_agent();
        }
        asks.is_empty()
    }

    /// A turn of the agent; whether there was nothing to do.
    fn agent(&mut self) -> bool {
        let Ok(wants) = self.lane.turn(self.now, "t", &mut self.fake, &Folder(Some(BASE))) else {
            self.another_agent();
            return false;
        };
        let is_idle = wants.is_empty();
        for want in wants {
            match want {
                Want::Write { key, patch } => {
                    self.statuses += 1;
                    let dies = match self.stop {
                        Some(Stop::Status(death)) if death.at == self.statuses => Some(death.after),
                        _ => None,
                    };
                    if dies != Some(false) && self.world.merge(Kind::Instance, &key.1, &patch).is_err() {
                        self.lane.refused(self.now, &key);
                    }
                    if dies.is_some() {
                        self.another_agent();
                        return false;
                    }
                    self.tell_agent();
                }
                Want::Look { key } => {
                    let found = self.world.get(Kind::Instance).cloned();
                    if self.lane.looked(&mut self.fake, &key, found.as_ref()).is_err() {
                        self.another_agent();
                    }
                }
                Want::Drift { nics, .. } => panic!("nobody changed the link of {nics:?}"),
                Want::Move { .. } => panic!("nobody asked for it to move"),
            }
        }
        is_idle
    }

    fn end(&self) -> End {
        let object = |kind| {
            let mut object = self.world.get(kind).cloned().unwrap_or_default();
            if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("resourceVersion");
            }
            object
        };
        (object(Kind::Instance), object(Kind::Machine), self.fake.domains.clone())
    }
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios/stops/machines")
}

fn is_here(instance: &Value) -> bool {
    instance["status"]["nodeName"] == "n1"
}

/// Each story with its name.
fn stories() -> Vec<(String, Story)> {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    let read = |file: &Path| {
        let mut documents = yaml_documents(&fs::read(file).unwrap(), Limits::default()).unwrap();
        serde_json::from_value(documents.remove(0).decoded.value).unwrap()
    };
    files.map(|file| (file.file_stem().unwrap().to_string_lossy().into_owned(), read(&file))).collect()
}

/// What a story says of an end.
fn seen((instance, _, domains): &End) -> Expected {
    let entries = instance["status"]["interfaces"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or("none").to_owned();
    let links: BTreeMap<_, _> = entries.iter().map(|entry| (text(&entry["name"]), text(&entry["linkState"]))).collect();
    let running: Vec<bool> = domains.values().map(|(_, runs)| *runs).collect();
    let phase = text(&instance["status"]["phase"]);
    assert_eq!(running, if phase == "none" { vec![] } else { vec![true] }, "one domain runs, or there is none");
    Expected { phase, links }
}

#[test]
fn whoever_dies_at_whatever_step_each_chapter_ends_in_the_same_way() {
    let stories = stories();
    assert!(!stories.is_empty());
    for (name, story) in stories {
        let mut play = Play::new(None);
        let ends: Vec<End> = story.chapters.iter().map(|chapter| play.chapter(chapter)).collect();
        for (chapter, end) in story.chapters.iter().zip(&ends) {
            assert_eq!(seen(end), chapter.expect, "{name}: {}", chapter.title);
        }
        let (calls, statuses, writes) = (play.fake.calls, play.statuses, play.writes);
        assert!(calls > 30 && statuses > 5 && writes > 10, "{name}: {calls} {statuses} {writes}");
        let both = |count: usize| (1..=count).flat_map(|at| [false, true].map(|after| Death { at, after }));
        let stops = both(calls).map(Stop::Call).chain(both(statuses).map(Stop::Status));
        for stop in stops.chain(both(writes).map(Stop::Controller)) {
            let mut play = Play::new(Some(stop));
            for (chapter, end) in story.chapters.iter().zip(&ends) {
                assert_eq!(play.chapter(chapter), *end, "{name}: {stop:?} in {}", chapter.title);
            }
        }
    }
}

/// The recording is of a domain of ours with the NICs of the story, so what is read of it here is what is read there.
#[test]
fn the_recorded_domain_is_read_as_ours_with_its_links() {
    let text = fs::read_to_string(folder().join("live.xml")).unwrap();
    let read = netloom_domain::Domain::read(&text).unwrap();
    let links: Vec<_> = read.interfaces.iter().map(|nic| json!([nic.name, nic.link.as_str()])).collect();
    assert_eq!(links, [json!(["default", "up"]), json!(["blue", "down"]), json!(["red", "down"])]);
    assert!(matches!(read.owner, netloom_domain::Owner::Instance { .. }));
}
