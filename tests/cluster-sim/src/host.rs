//! The host of a node: a simulated kernel, the record of who asked for what, and the journal of the
//! change under way.
//!
//! A change is carried out at its beginning and confirmed or undone at its end, so that an agent that is
//! killed in between leaves something to be taken back.

use jiff::{SignedDuration, Timestamp};
use netloom_agent_core::{Done, Failure, Leases, Prepared, Reason};
use netloom_kernel_sim::SimHost;
use netloom_model::{Attr, Attrs, LinkKind, Ownership, Step, Value};
use netloom_plan::{Options, plan};
use netloom_probing::{Course, Ending, Touched};
use netloom_types::{IfName, MacAddr};

use crate::Setup;

/// The link over which a node reaches the API.
pub const PATH: &str = "eth0";
/// The link that policies are about.
pub const WIRE: &str = "eth1";
/// A link that somebody else made; nobody may touch it.
pub const FOREIGN: &str = "foreign0";

/// What the API's packets need on the way: more than the kernel asks for, so that a request for less is carried out
/// and found to cost the way.
const LEAST_MTU: u64 = 1400;

/// The host of a node.
#[derive(Debug, Clone)]
pub struct Host {
    sim: SimHost,
    owned: Ownership,
    journal: Option<Box<(SimHost, Ownership)>>,
    /// Whether what a killed agent left is not taken back: a planted mistake.
    pub(crate) forgets: bool,
    /// How often a desired state changed it.
    changes: usize,
    /// How often that was for good.
    confirmed: usize,
}

/// A change that was carried out and is not confirmed.
#[derive(Debug, Clone)]
pub(crate) struct Begun {
    pub(crate) changed: bool,
    ownership: Ownership,
    /// Whether the API was reached before.
    pub(crate) reached: bool,
    /// The links that must have carrier before it is judged.
    pub(crate) touched: Touched,
    /// Its way to the verdict, once it is on that.
    pub(crate) way: Option<(Course, Resume)>,
}

/// How the way to the verdict goes on after a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resume {
    /// With a look at the links.
    Look,
    /// With the next round of probes.
    Probe,
}

impl Host {
    /// A host with two cards, further ones, and one link that somebody made manually.
    pub(crate) fn new(number: usize, setup: &Setup) -> Self {
        let mut sim = SimHost::new();
        let all = [PATH, WIRE].into_iter().chain(setup.cards.iter().map(String::as_str));
        for (card, name) in (0..).zip(all) {
            let bytes = (number as u64).to_be_bytes();
            sim.add_ethernet(link(name), MacAddr::new([2, card, bytes[4], bytes[5], bytes[6], bytes[7]]));
        }
        // What had no carrier before has none to lose.
        let lit = [PATH, WIRE].into_iter().filter(|_| setup.carrier_takes > 0);
        for card in setup.cards.iter().map(String::as_str).chain(lit) {
            sim.apply(&Step::SetUp { name: link(card), up: true }).expect("a card can be set up");
        }
        let mut attrs = Attrs::new();
        attrs.set(Attr::Mtu, Value::Int(1234));
        let made = Step::CreateLink { name: link(FOREIGN), kind: LinkKind::Dummy, attrs, controller: None, up: true };
        sim.apply(&made).expect("a new host takes a dummy");
        if let Some(most) = setup.frail.get(&number) {
            let mut observed = sim.into_observed();
            observed.facts.entry(link(WIRE)).and_modify(|facts| facts.max_mtu = *most);
            sim = SimHost::from_observed(observed);
        }
        Self { sim, owned: Ownership::default(), journal: None, forgets: false, changes: 0, confirmed: 0 }
    }

    /// How often a desired state has changed something.
    pub fn changes(&self) -> usize {
        self.changes
    }

    /// The host as it is now.
    pub fn observed(&self) -> &netloom_model::Observed {
        self.sim.observed()
    }

    /// How often a desired state has changed something for good.
    pub(crate) fn confirmed(&self) -> usize {
        self.confirmed
    }

    /// Who asked for what.
    pub(crate) fn owned(&self) -> &Ownership {
        &self.owned
    }

    /// The MTU of a link; none when there is no such link.
    pub fn mtu(&self, name: &str) -> Option<u64> {
        self.observed().links.get(&link(name))?.attrs.int(Attr::Mtu)
    }

    /// Whether packets of the API fit through.
    pub(crate) fn has_path(&self) -> bool {
        self.mtu(PATH).is_some_and(|mtu| mtu >= LEAST_MTU)
    }

    /// Applies a desired state; what cannot be carried out is taken back at once. With `reach`, nothing is changed
    /// while the API is not reached.
    pub(crate) fn begin(
        &mut self,
        desired: &Prepared,
        (leases, now): (&Leases, Timestamp),
        (online, reach): (bool, bool),
    ) -> Result<Begun, Failure> {
        self.recover_left();
        let observed = self.sim.observed().clone();
        self.owned = desired.revised(self.owned.clone());
        let owned = self.owned.clone();
        let state = desired.resolve(&observed, &owned, leases, now)?;
        let options = Options { protected: Vec::new(), allow_cut: false };
        let planned = plan(&state, &observed, &owned, &options).map_err(|error| Failure::unplanned(&error))?;
        let reached = online && self.has_path();
        if reach && !reached && !planned.plan.is_empty() {
            return Err(Failure::new(Reason::OutOfReach, "the API is not reached, and the desired state is new"));
        }
        self.journal = Some(Box::new((self.sim.clone(), self.owned.clone())));
        for planned in &planned.plan.steps {
            if let Err(error) = self.sim.apply(&planned.step) {
                self.take_back();
                let failure = Failure::new(Reason::ApplyFailed, format_args!("{}: {error}", planned.step));
                return Err(Failure { undone: true, ..failure });
            }
        }
        self.changes += usize::from(!planned.plan.is_empty());
        let touched = Touched::of(&planned.plan, &observed);
        Ok(Begun { changed: !planned.plan.is_empty(), ownership: planned.ownership, reached, touched, way: None })
    }

    /// Which links have no carrier and had it before, on a host whose cards have none.
    pub(crate) fn missing(&self, touched: &Touched) -> Vec<IfName> {
        let mut dark = self.observed().clone();
        dark.facts.values_mut().for_each(|facts| facts.carrier = false);
        touched.missing(&dark)
    }

    /// Confirms a change, or takes it back when the verdict about it is bad.
    pub(crate) fn finish(&mut self, begun: Begun, ending: &Ending, took: SignedDuration) -> Result<Done, Failure> {
        let bad = match ending {
            Ending::Passed => None,
            Ending::Failed { name, why } => Some(Failure::new(Reason::ProbeFailed, format_args!("{name}: {why}"))),
            Ending::Away { name, .. } => Some(Failure::new(Reason::OutOfReach, format_args!("{name} is away"))),
        };
        if let Some(failure) = bad {
            self.take_back();
            return Err(Failure { undone: true, ..failure });
        }
        self.confirmed += usize::from(begun.changed);
        self.owned = begun.ownership;
        self.journal = None;
        Ok(Done { changed: begun.changed, took })
    }

    /// Takes back what a killed agent left; says whether there was something.
    pub(crate) fn recover_left(&mut self) -> bool {
        !self.forgets && self.take_back()
    }

    fn take_back(&mut self) -> bool {
        let Some(before) = self.journal.take() else { return false };
        (self.sim, self.owned) = *before;
        true
    }

    /// Forgets who asked for what.
    pub(crate) fn abandon(&mut self) {
        self.owned.forget(netloom_agent_core::OWNER);
    }

    /// Somebody else sets an MTU.
    pub(crate) fn meddle(&mut self, name: &str, mtu: u64) {
        let mut attrs = Attrs::new();
        attrs.set(Attr::Mtu, Value::Int(mtu));
        let step = Step::SetAttrs { name: link(name), kind: LinkKind::Ethernet, attrs };
        // A card that is gone cannot be set, which is nobody's concern here.
        let _ = self.sim.apply(&step);
    }
}

fn link(name: &str) -> IfName {
    name.parse().expect("the name of a link of the simulation fits the kernel")
}
