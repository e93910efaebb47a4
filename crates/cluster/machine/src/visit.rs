//! One instance that is looked at: what there is is read, what differs is done, what came of it is told.

use std::collections::{BTreeMap, BTreeSet};

use netloom_domain::{Base, Domain, Instance, LinkState, Nic, Owner, Step, domain, domain_name, steps, with_links};
use serde_json::{Value, json};

use crate::{
    domain::{Plugins, base, instance},
    hypervisor::{Bases, Fault, FaultKind, Hypervisor, Running},
    json::{is_going, is_true, text},
    lane::{Key, Moved, Want},
    status::{Phase, Report, has_ended, reported},
};

/// What is remembered of an instance.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    /// How often something failed in a row.
    pub(crate) failures: u32,
    /// When it is looked at again though nothing happens, in milliseconds.
    pub(crate) again: Option<u64>,
    /// The links that were asked for when all of them were so.
    pub(crate) settled: Option<Vec<(String, Option<LinkState>)>>,
    /// Whether it was seen to go on since something happened to it.
    pub(crate) goes_on: bool,
    /// The migration that is under way.
    pub(crate) moving: Option<String>,
    /// What the last one came to.
    pub(crate) moved: Option<(String, Moved)>,
    /// A version of the object that was written and is not seen yet.
    pub(crate) awaited: bool,
    /// Whether nobody could be asked any more when it was looked at last: others come first.
    pub(crate) hung: bool,
    /// The migration after which links are refreshed, and the NICs whose are.
    pub(crate) refreshed: (String, BTreeSet<String>),
}

impl Known {
    /// Something failed: it is looked at again after a second, and after ten in the end.
    pub(crate) fn try_again(&mut self, now: u64) {
        let wait = 1_000_u64.saturating_mul(1 << self.failures.min(4)).min(10_000);
        self.failures += 1;
        self.again = Some(now + wait);
    }
}

/// What is to be reported.
pub(crate) struct Outcome {
    phase: Phase,
    wanted: Option<Instance>,
    live: Option<Domain>,
    nics: BTreeMap<String, String>,
    trouble: Option<String>,
    /// What is said of a migration besides.
    migration: Option<Value>,
}

impl Outcome {
    fn of(phase: Phase) -> Self {
        Self { phase, wanted: None, live: None, nics: BTreeMap::new(), trouble: None, migration: None }
    }

    fn trouble(phase: Phase, why: impl Into<String>) -> Self {
        Self { trouble: Some(why.into()), ..Self::of(phase) }
    }

    pub(crate) fn is_well(&self) -> bool {
        self.nics.is_empty() && self.trouble.is_none()
    }

    pub(crate) fn status(&self, object: &Value, clock: &str) -> Value {
        let Self { phase, wanted, live, nics, trouble, migration } = self;
        if let (None, None, Some(migration)) = (live, trouble, migration) {
            // It runs elsewhere, where somebody else reports it.
            return with_migration(object.get("status").cloned().unwrap_or_default(), migration);
        }
        let report =
            Report { phase: *phase, wanted: wanted.as_ref(), live: live.as_ref(), nics, trouble: trouble.as_deref() };
        let status = reported(object, &report, clock);
        match migration {
            Some(migration) => with_migration(status, migration),
            None => status,
        }
    }
}

/// A status with what is said of a migration besides.
fn with_migration(mut status: Value, migration: &Value) -> Value {
    for (name, value) in migration.as_object().into_iter().flatten() {
        status["migrationState"][name] = value.clone();
    }
    status
}

/// One instance that is looked at.
pub(crate) struct Visit<'a> {
    pub(crate) node: &'a str,
    pub(crate) plugins: &'a Plugins,
    pub(crate) object: &'a Value,
    pub(crate) key: &'a Key,
    pub(crate) known: &'a mut Known,
    pub(crate) wants: Vec<Want>,
    pub(crate) bases: &'a dyn Bases,
}

/// What a fault of one domain means: only one that nobody can be asked after ends the turn.
fn spoken(fault: Fault) -> Result<String, Fault> {
    if fault.kind == FaultKind::Gone { Err(fault) } else { Ok(fault.message) }
}

impl Visit<'_> {
    fn phase(&self) -> Phase {
        match text(self.object, "/status/phase") {
            "Running" => Phase::Running,
            "Succeeded" => Phase::Succeeded,
            "Failed" => Phase::Failed,
            _ => Phase::Scheduled,
        }
    }

    /// Makes the domain what it should be; nothing is to be reported where it is on its way to another node.
    pub(crate) fn make<H: Hypervisor>(
        &mut self,
        hypervisor: &mut H,
        seen: Option<(bool, H::Domain)>,
    ) -> Result<Option<Outcome>, Fault> {
        if self.known.moving.is_some() {
            return Ok(None);
        }
        match self.visit(hypervisor, seen) {
            Ok(outcome) => Ok(outcome),
            Err(fault) => {
                let phase = self.phase();
                spoken(fault).map(|why| Some(Outcome::trouble(phase, why)))
            }
        }
    }

    fn visit<H: Hypervisor>(
        &mut self,
        hypervisor: &mut H,
        seen: Option<(bool, H::Domain)>,
    ) -> Result<Option<Outcome>, Fault> {
        let phase = self.phase();
        let seen = match seen {
            Some(seen) => Some(seen),
            None => hypervisor.find(&domain_name(&self.key.0, &self.key.1))?,
        };
        let mut there = None;
        if let Some((active, domain)) = seen {
            let text_of = hypervisor.xml(&domain)?;
            let read = match Domain::read(&text_of) {
                Ok(read) => read,
                Err(error) => return Ok(Some(Outcome::trouble(phase, error.to_string()))),
            };
            match &read.owner {
                Owner::Instance { uid, .. } if uid == text(self.object, "/metadata/uid") => {
                    there = Some((active, domain, read));
                }
                // One of that name was here before, and nobody has it any more.
                Owner::Instance { .. } => hypervisor.remove(&domain)?,
                Owner::Other => {
                    let why = format!(
                        "there is a domain {} that is not Netloom's; rename or undefine it on node {}",
                        read.name, self.node
                    );
                    return Ok(Some(Outcome::trouble(phase, why)));
                }
            }
        }
        if there.is_none() && !has_ended(self.object) {
            if self.leaves().is_some() {
                // It is gone from here, and nothing but the migration takes the definition along.
                return Ok(Some(Outcome { migration: Some(json!({"completed": true})), ..Outcome::of(phase) }));
            }
            if self.has_left() {
                // Also one that is to go: who has it now ends it, once the controller has said who that is.
                return Ok(None);
            }
        }
        if is_going(self.object) {
            if let Some((_, domain, _)) = there {
                hypervisor.remove(&domain)?;
            }
            let ended = if phase == Phase::Failed { Phase::Failed } else { Phase::Succeeded };
            return Ok(Some(Outcome::of(ended)));
        }
        if has_ended(self.object) {
            if let Some((_, domain, _)) = there {
                hypervisor.remove(&domain)?;
            }
            return Ok(Some(Outcome::of(phase)));
        }
        let wanted = match instance(self.object, self.plugins) {
            Ok(wanted) => wanted,
            Err(why) => return Ok(Some(Outcome::trouble(phase, why))),
        };
        match there {
            None => self.absent(hypervisor, wanted),
            Some((true, domain, read)) => self.present(hypervisor, wanted, &domain, read),
            Some((false, domain, _)) if phase == Phase::Running => {
                let crashed = matches!(hypervisor.running(&domain)?, Running::Off { crashed: true });
                hypervisor.remove(&domain)?;
                Ok(Some(Outcome::of(if crashed { Phase::Failed } else { Phase::Succeeded })))
            }
            Some((false, domain, _)) => {
                hypervisor.start(&domain)?;
                self.running(hypervisor, wanted, domain)
            }
        }
    }

    /// There is no domain: it is made, unless it has been there and is gone.
    fn absent<H: Hypervisor>(&mut self, hypervisor: &mut H, wanted: Instance) -> Result<Option<Outcome>, Fault> {
        let phase = self.phase();
        if phase == Phase::Running {
            return Ok(Some(Outcome::trouble(Phase::Failed, "its domain is gone")));
        }
        let read = base(self.object).and_then(|name| {
            let text = self.bases.read(name)?;
            Base::parse(&text).map_err(|error| format!("the base {name}.xml cannot be used: {error}"))
        });
        let base = match read {
            Ok(base) => base,
            Err(why) => return Ok(Some(Outcome::trouble(phase, why))),
        };
        let domain = hypervisor.define(&domain(&wanted, &base))?;
        hypervisor.start(&domain)?;
        self.running(hypervisor, wanted, domain)
    }

    fn running<H: Hypervisor>(
        &mut self,
        hypervisor: &mut H,
        wanted: Instance,
        domain: H::Domain,
    ) -> Result<Option<Outcome>, Fault> {
        let name = wanted.domain_name();
        // Its number is another one since it was started.
        let domain = hypervisor.find(&name)?.map_or(domain, |(_, domain)| domain);
        let text_of = hypervisor.xml(&domain)?;
        match Domain::read(&text_of) {
            Ok(read) => self.present(hypervisor, wanted, &domain, read),
            // It is not said to run before its NICs can be said: those that are to go would count as unplugged.
            Err(error) => Ok(Some(Outcome::trouble(self.phase(), error.to_string()))),
        }
    }

    fn present<H: Hypervisor>(
        &mut self,
        hypervisor: &mut H,
        wanted: Instance,
        domain: &H::Domain,
        read: Domain,
    ) -> Result<Option<Outcome>, Fault> {
        let mut migration = None;
        if let Some(state) = self.leaves() {
            match self.leave(hypervisor, &wanted, domain, &state)? {
                Some(failed) => migration = Some(failed),
                None => return Ok(None),
            }
        }
        if !self.known.goes_on {
            if hypervisor.running(domain)? == Running::Paused {
                hypervisor.resume(domain)?;
            }
            self.known.goes_on = true;
        }
        let (mut live, mut nics) = (read, BTreeMap::new());
        let todo = steps(&wanted, &live);
        let asked: Vec<_> = wanted.nics.iter().map(|nic| (nic.name.clone(), nic.state)).collect();
        let drifted: Vec<String> = todo
            .iter()
            .filter(|step| matches!(step, Step::SetLink { .. }) && self.known.settled.as_ref() == Some(&asked))
            .map(|step| step.nic().to_owned())
            .collect();
        if !drifted.is_empty() {
            let uid = text(self.object, "/metadata/uid").to_owned();
            self.wants.push(Want::Drift { key: self.key.clone(), uid, nics: drifted });
        }
        for step in &todo {
            if let Err(fault) = carry_out(hypervisor, domain, step) {
                nics.insert(step.nic().to_owned(), spoken(fault)?);
            }
        }
        if let Some(done) = self.refresh(hypervisor, &wanted, domain, &live, &mut nics)? {
            migration = Some(done);
        }
        if !todo.is_empty() {
            let text_of = hypervisor.xml(domain)?;
            match Domain::read(&text_of) {
                Ok(read) => live = read,
                // What came of the steps is not known, so nothing is said of it.
                Err(error) => {
                    self.known.settled = None;
                    return Ok(Some(Outcome { migration, ..Outcome::trouble(Phase::Running, error.to_string()) }));
                }
            }
            let still = live.interfaces.iter().filter(|nic| {
                todo.iter().any(|step| matches!(step, Step::Detach { nic: gone, .. } if *gone == nic.name))
            });
            for nic in still {
                nics.entry(nic.name.clone()).or_insert_with(|| "the guest has not released it yet".to_owned());
            }
        }
        self.known.settled = nics.is_empty().then_some(asked);
        Ok(Some(Outcome {
            phase: Phase::Running,
            wanted: Some(wanted),
            live: Some(live),
            nics,
            trouble: None,
            migration,
        }))
    }

    /// The migration by which it leaves this node, if it does.
    fn leaves(&self) -> Option<Value> {
        let state = self.object.pointer("/status/migrationState")?;
        let over = is_true(state, "/completed") || is_true(state, "/failed");
        (text(state, "/sourceNode") == self.node && !over).then(|| state.clone())
    }

    /// Whether it has left this node, and waits for the controller to say so.
    fn has_left(&self) -> bool {
        self.object.pointer("/status/migrationState").is_some_and(|state| {
            text(state, "/sourceNode") == self.node && is_true(state, "/completed") && !is_true(state, "/failed")
        })
    }

    /// Begins a migration, or takes note of what became of it; what is said of one that failed.
    fn leave<H: Hypervisor>(
        &mut self,
        hypervisor: &mut H,
        wanted: &Instance,
        domain: &H::Domain,
        state: &Value,
    ) -> Result<Option<Value>, Fault> {
        let migration = text(state, "/migrationUid").to_owned();
        match self.known.moved.take() {
            Some((of, Moved::No(why))) if of == migration => {
                return Ok(Some(json!({"failed": true, "failureReason": why})));
            }
            // It may still be on its way: asked for again, libvirt says whether it is.
            Some(_) | None => {}
        }
        let text_of = hypervisor.migratable(domain)?;
        let xml = match with_links(&text_of, wanted) {
            Ok(xml) => xml,
            Err(error) => return Ok(Some(json!({"failed": true, "failureReason": error.to_string()}))),
        };
        self.known.moving = Some(migration.clone());
        self.wants.push(Want::Move {
            key: self.key.clone(),
            migration,
            domain: wanted.domain_name(),
            xml,
            daemon: text(state, "/targetUri").to_owned(),
            data: Some(text(state, "/targetDataUri").to_owned()).filter(|data| !data.is_empty()),
        });
        Ok(None)
    }

    /// After a migration: takes links down and up again, where a plugin asks for that, so that guests notice. A NIC that
    /// fails keeps no other back, and is refreshed later by itself.
    fn refresh<H: Hypervisor>(
        &mut self,
        hypervisor: &mut H,
        wanted: &Instance,
        domain: &H::Domain,
        live: &Domain,
        nics: &mut BTreeMap<String, String>,
    ) -> Result<Option<Value>, Fault> {
        let Some(state) = self.object.pointer("/status/migrationState") else { return Ok(None) };
        let arrived = text(state, "/targetNode") == self.node && is_true(state, "/completed");
        if !arrived || is_true(state, "/failed") || is_true(state, "/linksRefreshed") {
            return Ok(None);
        }
        if self.known.refreshed.0 != text(state, "/migrationUid") {
            self.known.refreshed = (text(state, "/migrationUid").to_owned(), BTreeSet::new());
        }
        let due = |nic: &&Nic| {
            nic.refreshed && nic.state == Some(LinkState::Up) && !self.known.refreshed.1.contains(&nic.name)
        };
        let up: Vec<Nic> = wanted.nics.iter().filter(due).cloned().collect();
        let down = up.iter().map(|nic| Nic { state: Some(LinkState::Down), ..nic.clone() }).collect();
        // Whoever looks again before the links are up must not take that for somebody else's doing.
        self.known.settled = None;
        let mut failed = BTreeMap::new();
        if set_links(hypervisor, domain, (wanted, down), live, &mut failed)? {
            hypervisor.pause();
            let again = match hypervisor.xml(domain) {
                Ok(text_of) => Domain::read(&text_of).map_err(|error| error.to_string()),
                Err(fault) => Err(spoken(fault)?),
            };
            match again {
                Ok(again) => drop(set_links(hypervisor, domain, (wanted, up.clone()), &again, &mut failed)?),
                // They are down, and it is not known as what they can be sent again.
                Err(why) => failed.extend(up.iter().map(|nic| (nic.name.clone(), why.clone()))),
            }
        }
        let done = up.into_iter().map(|nic| nic.name).filter(|name| !failed.contains_key(name));
        self.known.refreshed.1.extend(done);
        let is_done = failed.is_empty();
        nics.extend(failed);
        Ok(is_done.then(|| json!({"linksRefreshed": true})))
    }
}

/// Sets the links of these NICs of an instance. Says whether there was anything to do, and what failed.
fn set_links<H: Hypervisor>(
    hypervisor: &mut H,
    domain: &H::Domain,
    (instance, nics): (&Instance, Vec<Nic>),
    live: &Domain,
    failed: &mut BTreeMap<String, String>,
) -> Result<bool, Fault> {
    let mut any = false;
    for step in steps(&Instance { nics, ..instance.clone() }, live) {
        if matches!(step, Step::SetLink { .. }) {
            any = true;
            if let Err(fault) = carry_out(hypervisor, domain, &step) {
                failed.insert(step.nic().to_owned(), spoken(fault)?);
            }
        }
    }
    Ok(any)
}

fn carry_out<H: Hypervisor>(hypervisor: &mut H, domain: &H::Domain, step: &Step) -> Result<(), Fault> {
    match step {
        Step::Attach { xml, .. } => hypervisor.attach(domain, xml),
        Step::SetLink { xml, .. } => hypervisor.update(domain, xml),
        // A guest that did not answer has it still, and its definition does not.
        Step::Detach { xml, .. } => match hypervisor.detach(domain, xml, false) {
            Err(fault) if fault.kind == FaultKind::DeviceMissing => hypervisor.detach(domain, xml, true),
            other => other,
        },
    }
}
