//! Two machines on one node: what is wrong with one is nothing to the other.

use std::collections::BTreeMap;

use netloom_machine::{
    domain::Plugins,
    hypervisor::Bases,
    lane::{Lane, Want},
};
use serde_json::{Value, json};

use crate::{
    fake::{BASE, Fake},
    instance,
};

/// Bases by name.
struct Texts(BTreeMap<&'static str, String>);

impl Bases for Texts {
    fn read(&self, name: &str) -> Result<String, String> {
        self.0.get(name).cloned().ok_or_else(|| format!("there is no base {name}.xml"))
    }
}

struct Pair {
    lane: Lane,
    fake: Fake,
    objects: BTreeMap<String, Value>,
    bases: Texts,
    now: u64,
    version: u64,
    /// How often nobody could be asked any more.
    lost: usize,
}

impl Pair {
    fn new() -> Self {
        let mut lane = Lane::new("n1", Plugins::new());
        let objects: BTreeMap<String, Value> = ["a", "b"].map(|name| (name.to_owned(), Self::named(name))).into();
        lane.listed(objects.values().cloned().collect());
        let bases = Texts([("default", BASE.to_owned())].into());
        Self { lane, fake: Fake::default(), objects, bases, now: 0, version: 1, lost: 0 }
    }

    fn named(name: &str) -> Value {
        let mut named = instance(&[("blue", "", "")], json!({"nodeName": "n1", "phase": "Scheduled"}));
        named["metadata"]["name"] = name.into();
        named["metadata"]["uid"] = format!("i-{name}").into();
        named
    }

    /// Runs until nothing is to be done, and for at most so many turns: one that is in trouble is tried again and again.
    fn run(&mut self) {
        for _ in 0..20 {
            let turn = self.lane.turn(self.now, "t", &mut self.fake, &self.bases);
            let is_idle = turn.as_ref().is_ok_and(Vec::is_empty);
            let wants = turn.unwrap_or_else(|_| {
                // It has waited for an answer, and the daemon is asked again at once, about everything.
                self.lost += 1;
                self.now += 10_000;
                self.lane.look_at_all();
                self.lane.lost(self.now)
            });
            if is_idle {
                return;
            }
            for want in wants {
                let Want::Write { key, patch } = want else { continue };
                let object = self.objects.get_mut(&key.1).unwrap();
                for (name, value) in patch["status"].as_object().unwrap() {
                    object["status"][name] = value.clone();
                }
                self.put(&key.1);
            }
        }
    }

    fn put(&mut self, name: &str) {
        self.version += 1;
        let object = self.objects.get_mut(name).unwrap();
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.lane.put(object.clone());
    }

    fn set(&mut self, name: &str, state: &str) {
        self.objects.get_mut(name).unwrap()["spec"]["domain"]["devices"]["interfaces"][0]["state"] = state.into();
        self.put(name);
        self.run();
    }

    fn link(&self, name: &str) -> &str {
        self.objects[name]["status"]["interfaces"][0]["linkState"].as_str().unwrap_or("-")
    }

    /// What is wrong with one as a whole.
    fn trouble(&self, name: &str) -> &str {
        let all = self.objects[name]["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let found = all.iter().find(|one| one["type"] == "Synchronized" && one["status"] == "False");
        found.and_then(|one| one["message"].as_str()).unwrap_or_default()
    }
}

#[test]
fn a_domain_about_which_nobody_answers_keeps_no_other_back() {
    let mut pair = Pair::new();
    pair.fake.hangs.insert("default_a".to_owned());
    pair.run();
    assert_eq!((pair.link("b"), pair.link("a")), ("up", "-"));
    assert!(pair.lost > 0);
    let before = pair.lost;
    pair.set("b", "down");
    assert_eq!(pair.link("b"), "down");
    assert_eq!(pair.lost, before, "it is not asked about again before its time");
    pair.fake.hangs.clear();
    pair.now += 10_000;
    pair.run();
    assert_eq!((pair.link("a"), pair.trouble("a")), ("up", ""));
}

#[test]
fn a_domain_that_cannot_be_read_is_told_and_keeps_no_other_back() {
    let deep = format!("<domain>{}{}</domain>", "<x>".repeat(10_000), "</x>".repeat(10_000));
    let entity = "<!DOCTYPE d [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><domain><name>&e;</name></domain>";
    for (text, says) in [
        ("<domain><name>default_a</na".to_owned(), "cannot be read"),
        (format!("<domain>{}</domain>", " ".repeat(10 << 20)), "more than the"),
        (deep, "deep within each other"),
        (entity.to_owned(), "document type"),
        ("<domain><name>&secret;</name></domain>".to_owned(), "&secret;"),
        ("<network/>".to_owned(), "<network>"),
        (format!("<{}/>", "n".repeat(1 << 20)), "sent a <nnn"),
        (String::new(), "not one element"),
        ("<domain><name>default_a</name></domain>".to_owned(), "not Netloom's"),
    ] {
        let mut pair = Pair::new();
        pair.run();
        let known = pair.objects["a"]["status"]["interfaces"].clone();
        pair.fake.domains.get_mut("default_a").unwrap().0.clone_from(&text);
        let done = pair.fake.done.len();
        pair.lane.look_at_all();
        pair.set("b", "down");
        assert_eq!((pair.link("b"), pair.trouble("b")), ("down", ""), "{says}");
        assert!(pair.trouble("a").contains(says), "{says}: {}", pair.trouble("a"));
        assert!(pair.trouble("a").len() <= 8192, "{says}: what is told fits into an object");
        assert_eq!(pair.objects["a"]["status"]["interfaces"], known, "{says}");
        assert_eq!((&pair.fake.domains["default_a"].0, pair.fake.done.len() - done), (&text, 1), "it is left as it is");
    }
}

#[test]
fn a_base_that_cannot_be_used_is_told_and_keeps_no_other_back() {
    for (base, says) in [
        (None, "there is no base special.xml"),
        (Some("<domain><devices><interface type='user'/></devices></domain>".to_owned()), "take them out"),
        (Some("junk".to_owned()), "special.xml cannot be used"),
        (Some(format!("<domain>{}</domain>", " ".repeat(1 << 20))), "a base may have 1048576"),
        (Some("<domain type='qemu'><name>&x;</name></domain>".to_owned()), "&x;"),
        (Some("<domain type='qemu'".to_owned()), "special.xml cannot be used"),
    ] {
        let mut pair = Pair::new();
        pair.objects.get_mut("a").unwrap()["metadata"]["annotations"] = json!({"netloom.dev/base": "special"});
        pair.put("a");
        pair.bases.0.extend(base.map(|base| ("special", base)));
        pair.run();
        assert!(pair.trouble("a").contains(says), "{says}: {}", pair.trouble("a"));
        assert_eq!((pair.link("b"), pair.trouble("b")), ("up", ""), "{says}");
        pair.bases.0.insert("special", BASE.to_owned());
        pair.now += 1_000;
        pair.run();
        assert_eq!((pair.link("a"), pair.trouble("a")), ("up", ""), "{says}: it heals");
    }
}

#[test]
fn no_base_leads_out_of_its_folder() {
    for name in ["../x", "/etc/passwd", "a/b", ".hidden", "", "x\0y", "a b", "\u{e4}"] {
        let mut pair = Pair::new();
        pair.objects.get_mut("a").unwrap()["metadata"]["annotations"] = json!({"netloom.dev/base": name});
        pair.put("a");
        pair.run();
        assert!(pair.trouble("a").contains("annotation netloom.dev/base"), "{name}: {}", pair.trouble("a"));
        assert_eq!(pair.link("b"), "up");
    }
}
