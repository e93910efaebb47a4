//! Steps -> messages -> one result for each step.
//!
//! Steps that are a message each go to the kernel many in one send; every acknowledgement is mapped
//! back to its step. Steps that write files, ask drivers or must see an answer before they go on run
//! alone, in their place.
//!
//! Links are addressed by index. A new link's index is chosen here, so nobody has to ask for it; but a
//! step that names a link which is still on its way waits for the answer. The kernel could have given
//! that index to somebody else's link in between, and a step must never reach a link it did not name.
//! With a name that is not known, the links are read anew once before the step is refused.

use std::collections::{BTreeSet, HashSet};

use netloom_model::{Attr, Direction, EngineError, MirrorKey, Rule, Step, StepError};
use netloom_types::{Family, IfName};

use crate::{
    delete, ethtool,
    kernel::Kernel,
    link::{self, Create, Current},
    link_map::LinkMap,
    mirror,
    route::no_link,
    rule_removal,
    socket::NetlinkError,
    steps::{Names, Work, encode, has_driver_settings},
    sysctl,
    wire::Msg,
};

/// How often a link is tried again under another index when its index was taken in the meantime.
const INDEX_ATTEMPTS: usize = 3;

/// Carries out steps in order; a refused one does not stop those after it.
pub(crate) fn execute(kernel: &mut Kernel, steps: &[Step]) -> Result<Vec<Result<(), StepError>>, EngineError> {
    let mut run = Run { kernel, batch: Batch::default(), results: vec![Ok(()); steps.len()], reread: false };
    run.all(steps).map_err(|e| e.doing("change the network"))?;
    Ok(run.results)
}

/// A link that is being made, under the indexes that were chosen for it.
struct NewLink {
    index: u32,
    peer: Option<(IfName, u32)>,
    messages: Vec<Msg>,
}

/// Messages that wait to be sent.
#[derive(Default)]
struct Batch {
    messages: Vec<Msg>,
    /// The step of each message, and whether its refusal counts.
    owners: Vec<(usize, bool)>,
    /// Links that the messages make.
    new: HashSet<IfName>,
    /// The steps that make links, with the index that each was given.
    creates: Vec<(usize, u32)>,
}

fn deleted(step: &Step) -> Option<IfName> {
    if let Step::DeleteLink { name } = step { Some(*name) } else { None }
}

struct Run<'a> {
    kernel: &'a mut Kernel,
    batch: Batch,
    results: Vec<Result<(), StepError>>,
    /// The names were read anew and nothing was sent since.
    reread: bool,
}

impl Run<'_> {
    fn all(&mut self, steps: &[Step]) -> Result<(), NetlinkError> {
        let mut at = 0;
        while at < steps.len() {
            let deletions: Vec<IfName> = steps[at..].iter().map_while(deleted).collect();
            if deletions.len() >= delete::MANY {
                self.delete(at, &deletions, steps)?;
                at += deletions.len();
            } else {
                self.one(at, &steps[at], steps)?;
                at += 1;
            }
        }
        self.flush(steps)
    }

    fn delete(&mut self, at: usize, names: &[IfName], steps: &[Step]) -> Result<(), NetlinkError> {
        self.flush(steps)?;
        self.reread = false;
        let results = delete::delete(&mut self.kernel.route, names)?;
        for (name, (slot, result)) in names.iter().zip(self.results[at..].iter_mut().zip(results)) {
            *slot = result;
            self.kernel.links.remove(*name);
        }
        Ok(())
    }

    /// Whether the kernel could take another rule for the one that is to be removed.
    fn is_confusable(&mut self, rule: &Rule) -> Result<bool, NetlinkError> {
        let route = &mut self.kernel.route;
        let rules = match &mut self.kernel.rules {
            Some(rules) => rules,
            unknown => {
                let mut all = BTreeSet::new();
                for family in [Family::Ipv4, Family::Ipv6] {
                    all.extend(rule_removal::read(route, family)?);
                }
                unknown.insert(all)
            }
        };
        rules.remove(rule);
        Ok(rules.iter().any(|other| rule_removal::confusable(rule, other)))
    }

    fn one(&mut self, at: usize, step: &Step, steps: &[Step]) -> Result<(), NetlinkError> {
        if let (Step::AddRule(rule), Some(rules)) = (step, &mut self.kernel.rules) {
            rules.insert(*rule);
        }
        if let Step::RemoveRule(rule) = step
            && self.is_confusable(rule)?
        {
            self.flush(steps)?;
            self.results[at] = rule_removal::remove(&mut self.kernel.route, rule)?;
            return Ok(());
        }
        match self.prepare(step, steps)? {
            Err(refused) => self.results[at] = Err(refused),
            Ok(Work::Messages(messages)) => self.push(at, messages, false),
            Ok(Work::AfterFirst(messages)) => self.push(at, messages, true),
            Ok(Work::Create) => match self.encode_create(step) {
                Ok(new) => self.push_create(at, step, new, steps)?,
                Err(refused) => self.results[at] = Err(refused),
            },
            Ok(Work::Alone) => {
                self.flush(steps)?;
                self.results[at] = self.alone(step)?;
            }
        }
        Ok(())
    }

    /// Turns a step into work. When it names a link that is on its way, that link is waited for; when
    /// it names one that is not known, the names are read anew.
    fn prepare(&mut self, step: &Step, steps: &[Step]) -> Result<Result<Work, StepError>, NetlinkError> {
        loop {
            let names = Names::new(&self.kernel.links, &self.batch.new);
            let work = encode(step, &names);
            let (waits, unknown) = (names.waits.get(), names.unknown.get());
            if waits {
                self.flush(steps)?;
            } else if unknown && !self.reread {
                self.flush(steps)?;
                self.read_names()?;
            } else {
                return Ok(work);
            }
        }
    }

    fn read_names(&mut self) -> Result<(), NetlinkError> {
        let fresh = LinkMap::read(&mut self.kernel.route)?;
        self.kernel.links.replace_with(fresh);
        self.reread = true;
        Ok(())
    }

    /// The messages of a new link, under indexes that no link has had.
    fn encode_create(&mut self, step: &Step) -> Result<NewLink, StepError> {
        let Step::CreateLink { name, kind, attrs, controller, up } = step else {
            return Err(StepError::new(StepError::EINVAL));
        };
        let links = &mut self.kernel.links;
        let index = links.fresh_index();
        let peer = attrs.link(Attr::VethPeer).map(|peer| (peer, links.fresh_index()));
        let controller = controller.map(|name| links.index(name).ok_or_else(|| no_link(name))).transpose()?;
        let peer_index = peer.map_or(0, |(_, index)| index);
        let new = Create { name: *name, index, kind, attrs, controller, up: *up, peer_index };
        let messages = link::create(&new, &|name| links.index(name))?;
        Ok(NewLink { index, peer, messages })
    }

    fn push(&mut self, at: usize, messages: Vec<Msg>, first_may_fail: bool) {
        for (n, message) in messages.into_iter().enumerate() {
            self.batch.owners.push((at, n > 0 || !first_may_fail));
            self.batch.messages.push(message);
        }
    }

    fn push_create(&mut self, at: usize, step: &Step, new: NewLink, steps: &[Step]) -> Result<(), NetlinkError> {
        let Some(name) = step.link() else { return Ok(()) };
        if new.messages.len() > 1 {
            self.flush(steps)?;
            self.results[at] = self.create_alone(step, name)?;
            return Ok(());
        }
        self.batch.creates.push((at, new.index));
        self.batch.new.extend([Some(name), new.peer.map(|(peer, _)| peer)].into_iter().flatten());
        self.note(name, &new);
        self.push(at, new.messages, false);
        Ok(())
    }

    fn note(&mut self, name: IfName, new: &NewLink) {
        self.kernel.links.insert(name, new.index);
        if let Some((peer, index)) = new.peer {
            self.kernel.links.insert(peer, index);
        }
    }

    /// Makes a link whose later messages name its index: each is sent when the one before worked. When
    /// the index was taken, it is tried again under another one.
    fn create_alone(&mut self, step: &Step, name: IfName) -> Result<Result<(), StepError>, NetlinkError> {
        let mut result = Ok(());
        for _ in 0..INDEX_ATTEMPTS {
            let new = match self.encode_create(step) {
                Ok(new) => new,
                Err(refused) => return Ok(Err(refused)),
            };
            for message in &new.messages {
                self.reread = false;
                result = self.kernel.route.change(message)?;
                if result.is_err() {
                    break;
                }
                self.note(name, &new);
            }
            if !self.index_was_taken(name, new.index, &result)? {
                break;
            }
        }
        Ok(result)
    }

    /// Whether a new link was refused only because somebody else's link got its index first.
    fn index_was_taken(
        &mut self,
        name: IfName,
        index: u32,
        result: &Result<(), StepError>,
    ) -> Result<bool, NetlinkError> {
        match result {
            Err(refused) if matches!(refused.errno, StepError::EEXIST | StepError::EBUSY) => {
                self.read_names()?;
                Ok(self.kernel.links.index(name).is_none() && self.kernel.links.name(index).is_some())
            }
            Ok(()) | Err(_) => Ok(false),
        }
    }

    /// Sends what waits and notes the answers.
    fn flush(&mut self, steps: &[Step]) -> Result<(), NetlinkError> {
        let Batch { messages, owners, new: _, creates } = std::mem::take(&mut self.batch);
        if messages.is_empty() {
            return Ok(());
        }
        self.reread = false;
        let answers = self.kernel.route.batch(&messages)?;
        for ((at, counts), answer) in owners.into_iter().zip(answers) {
            if counts && self.results[at].is_ok() {
                self.results[at] = answer;
            }
        }
        for (at, index) in creates {
            let (result, Some(name)) = (self.results[at].clone(), steps[at].link()) else { continue };
            if result.is_err() {
                self.kernel.links.remove(name);
            }
            if self.index_was_taken(name, index, &result)? {
                self.results[at] = self.create_alone(&steps[at], name)?;
            }
        }
        Ok(())
    }

    /// Carries out a step that must run alone; its links are known and nothing waits.
    fn alone(&mut self, step: &Step) -> Result<Result<(), StepError>, NetlinkError> {
        self.reread = false;
        let index = |run: &Self, name: IfName| run.kernel.links.index(name).ok_or_else(|| no_link(name));
        match step {
            Step::SetResolver(resolver) => Ok(self.kernel.files.set_resolver(resolver)),
            Step::SetHostnameRunning(name) => Ok(self.kernel.files.set_hostname_running(name)),
            Step::SetHostnameConfig(name) => Ok(self.kernel.files.set_hostname_config(name)),
            Step::SetAttrs { name, .. } => match index(self, *name) {
                Ok(index) => self.set_attrs(step, index),
                Err(refused) => Ok(Err(refused)),
            },
            Step::SetFeatures { name, features } => match index(self, *name) {
                Ok(index) => self.ask_driver(|family| Ok(vec![ethtool::set_features(family, index, features)])),
                Err(refused) => Ok(Err(refused)),
            },
            Step::RemoveMirror { name, key, .. } => match index(self, *name) {
                Ok(index) => self.remove_mirror(index, *key),
                Err(refused) => Ok(Err(refused)),
            },
            other => Ok(Err(StepError::with(StepError::EINVAL, &format!("{other} does not run alone")))),
        }
    }

    /// Properties in their three places: the link itself, files, the driver.
    fn set_attrs(&mut self, step: &Step, index: u32) -> Result<Result<(), StepError>, NetlinkError> {
        let Step::SetAttrs { name, kind, attrs } = step else { return Ok(Ok(())) };
        let mut current = None;
        if link::needs_current(kind, attrs) {
            let asked = self.kernel.route.get(&link::get(index), |message| current = Current::read(&message))?;
            if asked.is_err() {
                return Ok(asked);
            }
        }
        let links = &self.kernel.links;
        let messages = match link::set(index, kind, attrs, current.as_ref(), &|name| links.index(name)) {
            Ok(messages) => messages,
            Err(refused) => return Ok(Err(refused)),
        };
        for message in &messages {
            let answer = self.kernel.route.change(message)?;
            if answer.is_err() {
                return Ok(answer);
            }
        }
        if let Err(refused) = sysctl::apply(*name, attrs) {
            return Ok(Err(refused));
        }
        if has_driver_settings(attrs) {
            self.ask_driver(|family| ethtool::set(family, index, attrs))
        } else {
            Ok(Ok(()))
        }
    }

    fn ask_driver(
        &mut self,
        messages: impl FnOnce(u16) -> Result<Vec<Msg>, StepError>,
    ) -> Result<Result<(), StepError>, NetlinkError> {
        let Some((connection, family)) = self.kernel.generic()? else {
            return Ok(Err(StepError::with(StepError::EOPNOTSUPP, "this kernel has no ethtool netlink family")));
        };
        let messages = match messages(*family) {
            Ok(messages) => messages,
            Err(refused) => return Ok(Err(refused)),
        };
        Ok(connection.batch(&messages)?.into_iter().collect())
    }

    /// Removes a mirror, and the queue with the last filter of any maker.
    fn remove_mirror(&mut self, index: u32, key: MirrorKey) -> Result<Result<(), StepError>, NetlinkError> {
        let removed = self.kernel.route.change(&mirror::remove(index, key))?;
        if removed.is_err() {
            return Ok(removed);
        }
        for direction in [Direction::Ingress, Direction::Egress] {
            let filters = self.kernel.route.dump(
                &mirror::dump_filters(index, direction),
                || 0_usize,
                |count, message| *count += usize::from(mirror::is_filter(&message)),
            )?;
            if filters > 0 {
                return Ok(Ok(()));
            }
        }
        self.kernel.route.change(&mirror::remove_queue(index))
    }
}
