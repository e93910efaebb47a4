//! Steps -> messages -> one result for each step.
//!
//! Steps that are a message each go to the kernel many in one send; every refusal is mapped back to
//! its step, and what was not refused until the send's last message is answered has worked. Steps that
//! write files, ask drivers or must see an answer before they go on run alone, in their place.
//!
//! Links are addressed by index. A new link's index is chosen here, so nobody has to ask for it; but a
//! step that names a link which is still on its way waits for the answer. The kernel could have given
//! that index to somebody else's link in between, and a step must never reach a link it did not name.
//! With a name that is not known, the links are read again once before the step is refused.
//!
//! A name under which no link could be made stays closed until the host is observed again: whoever has
//! it is somebody else, and the steps that follow were meant for the link that is not there.

use std::collections::{BTreeSet, HashSet};

use netloom_model::{Attr, EngineError, Rule, Step, StepError};
use netloom_types::{Family, IfName};

use crate::{
    alone::{Fault, answer},
    delete,
    kernel::Kernel,
    link::{self, Create},
    link_map::LinkMap,
    route::no_link,
    rule_removal,
    socket::NetlinkError,
    steps::{Names, NewLink, Work, encode},
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

/// Messages that wait to be sent.
#[derive(Default)]
struct Batch<'a> {
    messages: Vec<Msg>,
    /// The step of each message, and whether its refusal counts.
    owners: Vec<(usize, bool)>,
    /// Links that the messages make, by name.
    new: HashSet<IfName>,
    /// The same with the step of each, and the index that it was given.
    creates: Vec<(usize, NewLink<'a>, u32)>,
}

/// A new link as messages, under the indexes that were chosen for it and for the other end of a pair.
struct Made {
    index: u32,
    peer: Option<(IfName, u32)>,
    messages: Vec<Msg>,
}

struct Run<'a, 'k> {
    kernel: &'k mut Kernel,
    batch: Batch<'a>,
    results: Vec<Result<(), StepError>>,
    /// The names were read again and nothing was sent since.
    reread: bool,
}

impl<'a> Run<'a, '_> {
    fn all(&mut self, steps: &'a [Step]) -> Result<(), NetlinkError> {
        let mut at = 0;
        while at < steps.len() {
            let closed = &self.kernel.closed;
            let open = |step| deleted(step).filter(|name| !closed.contains(name));
            let deletions: Vec<IfName> = steps[at..].iter().map_while(open).collect();
            if deletions.len() >= delete::MANY {
                self.delete(at, &deletions)?;
                at += deletions.len();
            } else {
                self.one(at, &steps[at])?;
                at += 1;
            }
        }
        self.flush()
    }

    fn one(&mut self, at: usize, step: &'a Step) -> Result<(), NetlinkError> {
        if let (Step::AddRule(rule), Some(rules)) = (step, &mut self.kernel.rules) {
            rules.insert(*rule);
        }
        if let Step::RemoveRule(rule) = step
            && self.is_confusable(rule)?
        {
            self.flush()?;
            self.results[at] = rule_removal::remove(&mut self.kernel.route, rule)?;
            return Ok(());
        }
        match self.prepare(step)? {
            Err(refused) => self.results[at] = Err(refused),
            Ok(Work::Messages(messages)) => self.push(at, messages, false),
            Ok(Work::AfterFirst(messages)) => self.push(at, messages, true),
            Ok(Work::Create(new)) => self.results[at] = answer(self.create(at, new))?,
            Ok(Work::Alone(work)) => {
                self.flush()?;
                self.reread = false;
                self.results[at] = answer(work.run(self.kernel))?;
            }
        }
        Ok(())
    }

    /// Turns a step into work. When it names a link that is on its way, that link is waited for; when
    /// it names one that is not known, the names are read again.
    fn prepare(&mut self, step: &'a Step) -> Result<Result<Work<'a>, StepError>, NetlinkError> {
        loop {
            let names = Names::new(&self.kernel.links, &self.batch.new);
            let work = encode(step, &names);
            let (waits, unknown) = (names.waits.get(), names.unknown.get());
            if waits {
                self.flush()?;
            } else if unknown && !self.reread {
                self.flush()?;
                self.read_names()?;
            } else {
                return Ok(work);
            }
        }
    }

    fn read_names(&mut self) -> Result<(), NetlinkError> {
        let fresh = LinkMap::read(&mut self.kernel.route)?;
        self.kernel.links.replace_with(fresh);
        for name in &self.kernel.closed {
            self.kernel.links.remove(*name);
        }
        self.reread = true;
        Ok(())
    }

    /// Closes the names of a link that could not be made.
    fn close(&mut self, new: &NewLink<'_>) {
        for name in [Some(new.name), new.attrs.link(Attr::VethPeer)].into_iter().flatten() {
            self.kernel.links.remove(name);
            self.kernel.closed.insert(name);
        }
    }

    fn push(&mut self, at: usize, messages: Vec<Msg>, first_may_fail: bool) {
        for (n, message) in messages.into_iter().enumerate() {
            self.batch.owners.push((at, n > 0 || !first_may_fail));
            self.batch.messages.push(message);
        }
    }

    /// Makes a link: with the batch when it is one message, else alone, because later messages name
    /// the index.
    fn create(&mut self, at: usize, new: NewLink<'a>) -> Result<(), Fault> {
        let made = self.make(&new)?;
        if made.messages.len() > 1 {
            self.flush()?;
            return self.create_alone(&new);
        }
        self.note(&new, &made);
        self.batch.new.insert(new.name);
        self.batch.new.extend(made.peer.map(|(peer, _)| peer));
        self.batch.creates.push((at, new, made.index));
        self.push(at, made.messages, false);
        Ok(())
    }

    /// The messages of a new link, under indexes that no link has had.
    fn make(&mut self, new: &NewLink<'_>) -> Result<Made, StepError> {
        let NewLink { name, kind, attrs, controller, up } = *new;
        let links = &mut self.kernel.links;
        let index = links.fresh_index();
        let peer = attrs.link(Attr::VethPeer).map(|peer| (peer, links.fresh_index()));
        let controller = controller.map(|name| links.index(name).ok_or_else(|| no_link(name))).transpose()?;
        let peer_index = peer.map_or(0, |(_, index)| index);
        let create = Create { name, index, kind, attrs, controller, up, peer_index };
        let messages = link::create(&create, &|name| links.index(name))?;
        Ok(Made { index, peer, messages })
    }

    fn note(&mut self, new: &NewLink<'_>, made: &Made) {
        for (name, index) in [Some((new.name, made.index)), made.peer].into_iter().flatten() {
            self.kernel.links.insert(name, index);
            self.kernel.closed.remove(&name);
        }
    }

    /// Makes a link message by message, each sent when the one before worked; again under another
    /// index when somebody else's link got it first.
    fn create_alone(&mut self, new: &NewLink<'_>) -> Result<(), Fault> {
        let mut result = Ok(());
        for _ in 0..INDEX_ATTEMPTS {
            let made = self.make(new)?;
            let mut is_there = false;
            for message in &made.messages {
                self.reread = false;
                result = self.kernel.route.change(message)?;
                if result.is_err() {
                    break;
                }
                is_there = true;
                self.note(new, &made);
            }
            if !self.index_was_taken(new.name, made.index, &result)? {
                if !is_there {
                    self.close(new);
                }
                break;
            }
        }
        Ok(result?)
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
                let fresh = LinkMap::read(&mut self.kernel.route)?;
                Ok(fresh.index(name).is_none() && fresh.name(index).is_some())
            }
            Ok(()) | Err(_) => Ok(false),
        }
    }

    /// Sends what waits and notes the answers.
    fn flush(&mut self) -> Result<(), NetlinkError> {
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
        for (at, new, index) in creates {
            let result = self.results[at].clone();
            if result.is_ok() {
                continue;
            }
            self.close(&new);
            if self.index_was_taken(new.name, index, &result)? {
                self.results[at] = answer(self.create_alone(&new))?;
            }
        }
        Ok(())
    }

    /// Deletes links that are deleted one after another.
    fn delete(&mut self, at: usize, names: &[IfName]) -> Result<(), NetlinkError> {
        self.flush()?;
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
}

fn deleted(step: &Step) -> Option<IfName> {
    if let Step::DeleteLink { name } = step { Some(*name) } else { None }
}
