//! What the agent of a node does about the instances that it is given: a lane beside that of the kernel.
//!
//! ```text
//! instances, libvirt's events, the poll --> Lane --> calls of a Hypervisor, statuses to write
//! ```
//!
//! Each instance is brought to what it asks for by itself, level by level: what there is is read, what differs is done,
//! what came of it is reported. Nothing but the time of the next attempt is remembered that a restart would miss.
//!
//! What holds: a domain that is not ours is never changed; a NIC that fails keeps no other back; a status is written only
//! where it differs; a domain is taken away only when the API said that its instance is not this node's.

use std::collections::{BTreeMap, BTreeSet};

use netloom_domain::{Domain, Owner, domain_name};
use serde_json::Value;

use crate::{
    domain::Plugins,
    hypervisor::{Bases, Fault, Hypervisor},
    json::{is_going, is_true, text},
    status::patch,
    visit::{Known, Visit},
};

/// Namespace and name of an instance.
pub type Key = (String, String);

/// What is asked of the rest of the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Want {
    /// Change an instance by this merge patch.
    Write {
        /// Which.
        key: Key,
        /// The patch.
        patch: Value,
    },
    /// Read what the API has of an instance: a domain of it is here, and nobody asks for that.
    Look {
        /// Which.
        key: Key,
    },
    /// Bring a domain to another daemon, beside everything else.
    Move {
        /// Whose.
        key: Key,
        /// What for.
        migration: String,
        /// The name of the domain.
        domain: String,
        /// What it is there.
        xml: String,
        /// The daemon there.
        daemon: String,
        /// Where its memory goes.
        data: Option<String>,
    },
    /// Tell that links were changed by somebody else and are put right.
    Drift {
        /// Whose.
        key: Key,
        /// Its uid.
        uid: String,
        /// The NICs.
        nics: Vec<String>,
    },
}

/// What came of bringing a domain to another daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    /// It is there.
    Yes,
    /// It is still here.
    No(String),
    /// It cannot be said now: it may be on its way.
    Unknown,
}

/// The instances of a node.
#[derive(Debug, Default)]
pub struct Lane {
    node: String,
    plugins: Plugins,
    instances: BTreeMap<Key, Value>,
    listed: bool,
    known: BTreeMap<Key, Known>,
    due: BTreeSet<Key>,
    /// Domains here that nobody asks for, and the API has to be asked about.
    orphans: BTreeSet<Key>,
    poll: bool,
    wants: Vec<Want>,
    /// The instance at which nobody could be asked any more.
    lost_at: Option<Key>,
}

impl Lane {
    /// Of this node, with these plugins that attach by a tap.
    pub fn new(node: impl Into<String>, plugins: Plugins) -> Self {
        Self { node: node.into(), plugins, ..Self::default() }
    }

    /// All instances of the node were listed.
    pub fn listed(&mut self, objects: Vec<Value>) {
        let fresh: BTreeMap<Key, Value> =
            objects.into_iter().map(|object| (crate::json::key(&object), object)).collect();
        let gone: Vec<Key> = self.instances.keys().filter(|key| !fresh.contains_key(*key)).cloned().collect();
        self.listed = true;
        for key in gone {
            self.gone(key);
        }
        for object in fresh.into_values() {
            self.put(object);
        }
        self.poll = true;
    }

    /// An instance of the node is there, or is another one now.
    pub fn put(&mut self, object: Value) {
        let key = crate::json::key(&object);
        if text(&object, "/status/nodeName") != self.node {
            return self.gone(key);
        }
        let known = self.known.entry(key.clone()).or_default();
        let own = std::mem::take(&mut known.awaited);
        let before = self.instances.get(&key);
        // A status that was just written here brings nothing new.
        let same = before.is_some_and(|before| {
            before.get("spec") == object.get("spec")
                && before.pointer("/status/migrationState") == object.pointer("/status/migrationState")
                && is_going(before) == is_going(&object)
                && text(before, "/metadata/uid") == text(&object, "/metadata/uid")
                && (own || before.get("status") == object.get("status"))
        });
        if !same {
            known.again = None;
            self.due.insert(key.clone());
        }
        self.instances.insert(key, object);
    }

    /// An instance is none of the node's any more.
    pub fn gone(&mut self, key: Key) {
        if self.instances.remove(&key).is_some() {
            self.known.remove(&key);
            self.due.remove(&key);
            self.orphans.insert(key);
        }
    }

    /// Something happened to a domain.
    pub fn happened(&mut self, domain: &str) {
        if let Some((namespace, name)) = domain.split_once('_') {
            let key = (namespace.to_owned(), name.to_owned());
            if let Some(known) = self.known.get_mut(&key) {
                known.goes_on = false;
            }
            if self.instances.contains_key(&key) {
                self.due.insert(key);
            }
        }
    }

    /// Everything is looked at again: the poll, or a daemon that is there again.
    pub fn look_at_all(&mut self) {
        self.poll = true;
    }

    /// What the API has of an instance that is none of the node's, as far as is known.
    pub fn looked<H: Hypervisor>(&mut self, hypervisor: &mut H, key: &Key, found: Option<&Value>) -> Result<(), Fault> {
        if self.instances.contains_key(key) {
            return Ok(());
        }
        let Some((_, domain)) = hypervisor.find(&domain_name(&key.0, &key.1))? else { return Ok(()) };
        let text_of = hypervisor.xml(&domain)?;
        let Ok(Domain { owner: Owner::Instance { uid, .. }, .. }) = Domain::read(&text_of) else { return Ok(()) };
        let stays = found.is_some_and(|found| {
            let here = [text(found, "/status/nodeName"), arriving(found)].contains(&self.node.as_str());
            text(found, "/metadata/uid") == uid && here
        });
        if stays { Ok(()) } else { hypervisor.remove(&domain) }
    }

    /// What came of bringing a domain to another daemon.
    pub fn moved(&mut self, now: u64, key: &Key, migration: &str, moved: Moved) {
        let Some(known) = self.known.get_mut(key) else { return };
        known.moving = None;
        if moved == Moved::Unknown {
            known.again = Some(now + 1_000);
        } else {
            self.due.insert(key.clone());
        }
        known.moved = Some((migration.to_owned(), moved));
    }

    /// A write was refused; the object will come again as it is now.
    pub fn refused(&mut self, now: u64, key: &Key) {
        if let Some(known) = self.known.get_mut(key) {
            known.awaited = false;
            known.again = Some(now + 1_000);
        }
    }

    /// When to look again though nothing happens.
    pub fn wake_at(&self) -> Option<u64> {
        self.known.values().filter_map(|known| known.again).min()
    }

    /// Nobody could be asked any more, and it is known only now: that may have taken a while. What is wanted all the same;
    /// the instance at which it was noticed is looked at again some time after this, so that others have their turn.
    pub fn lost(&mut self, now: u64) -> Vec<Want> {
        if let Some(known) = self.lost_at.take().and_then(|key| self.known.get_mut(&key)) {
            known.failures = known.failures.saturating_sub(1);
            known.try_again(now);
        }
        std::mem::take(&mut self.wants)
    }

    /// Does what is to be done. An error means that nobody can be asked any more; what was due stays so, and what is wanted
    /// of the others is asked of [`Lane::lost`].
    pub fn turn<H: Hypervisor>(
        &mut self,
        now: u64,
        clock: &str,
        hypervisor: &mut H,
        bases: &dyn Bases,
    ) -> Result<Vec<Want>, Fault> {
        if !self.listed {
            return Ok(Vec::new());
        }
        let mut there = BTreeMap::new();
        if std::mem::take(&mut self.poll) {
            let all = hypervisor.list().inspect_err(|_| self.poll = true)?;
            for (name, active, domain) in all {
                let Some((namespace, short)) = name.split_once('_') else { continue };
                let key = (namespace.to_owned(), short.to_owned());
                if self.instances.contains_key(&key) {
                    there.insert(key, (active, domain));
                } else {
                    self.orphans.insert(key);
                }
            }
            self.due.extend(self.instances.keys().cloned());
        }
        let awake = self.known.iter().filter(|(_, known)| known.again.is_some_and(|again| again <= now));
        let awake: Vec<Key> = awake.map(|(key, _)| key.clone()).collect();
        self.due.extend(awake);
        for key in std::mem::take(&mut self.orphans) {
            self.wants.push(Want::Look { key });
        }
        while let Some(key) = self.next(now) {
            self.one(now, clock, hypervisor, bases, &key, there.remove(&key))?;
        }
        Ok(std::mem::take(&mut self.wants))
    }

    /// The next one that is due. One at which nobody could be asked any more comes after all others, and not before its
    /// time: it may be what nobody answers about.
    fn next(&mut self, now: u64) -> Option<Key> {
        let known = |key: &Key| self.known.get(key);
        let waits =
            |key: &&Key| known(key).is_some_and(|known| known.hung && known.again.is_some_and(|again| again > now));
        let ready = self.due.iter().filter(|key| !waits(key));
        let next = ready.min_by_key(|key| (known(key).is_some_and(|known| known.hung), *key)).cloned()?;
        self.due.remove(&next);
        Some(next)
    }

    fn one<H: Hypervisor>(
        &mut self,
        now: u64,
        clock: &str,
        hypervisor: &mut H,
        bases: &dyn Bases,
        key: &Key,
        seen: Option<(bool, H::Domain)>,
    ) -> Result<(), Fault> {
        let Some(object) = self.instances.get(key).cloned() else { return Ok(()) };
        let mut known = self.known.remove(key).unwrap_or_default();
        known.again = None;
        let mut visit = Visit {
            node: &self.node,
            plugins: &self.plugins,
            object: &object,
            key,
            known: &mut known,
            wants: Vec::new(),
            bases,
        };
        let outcome = visit.make(hypervisor, seen);
        let wants = std::mem::take(&mut visit.wants);
        known.hung = outcome.is_err();
        let result = match outcome {
            Ok(Some(outcome)) => {
                let status = outcome.status(&object, clock);
                let patch = patch(&object, &status).filter(|_| !known.awaited);
                if outcome.is_well() {
                    known.failures = 0;
                } else {
                    known.try_again(now);
                }
                self.wants.extend(wants);
                if let Some(patch) = patch {
                    known.awaited = true;
                    self.wants.push(Want::Write { key: key.clone(), patch });
                }
                Ok(())
            }
            Ok(None) => {
                self.wants.extend(wants);
                Ok(())
            }
            Err(fault) => {
                known.try_again(now);
                self.lost_at = Some(key.clone());
                Err(fault)
            }
        };
        self.known.insert(key.clone(), known);
        result
    }
}

/// The node that an instance is on its way to.
fn arriving(instance: &Value) -> &str {
    match instance.pointer("/status/migrationState") {
        Some(state) if !is_true(state, "/failed") => text(state, "/targetNode"),
        _ => "",
    }
}
