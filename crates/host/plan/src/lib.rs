//! From a desired state and an observation to ordered steps, each with its undo.
//!
//! ```text
//! HostState ─┐
//! Observed  ─┼─ lay ─► goal ─ converge on a SimHost ─► steps + undo ─► safety ─► Planned
//! Ownership ─┘
//! ```
//!
//! Pure: a plan is a function of its inputs. A goal is reached on the simulated host before a plan
//! is returned, so a plan that the kernel would refuse, that cuts the way to a protected address, or
//! that loses something nobody gave up, is found before anything is touched.

mod aspects;
mod claims;
mod converge;
mod differences;
mod drivers;
mod error;
mod follow;
mod fragile;
mod goal;
mod lay;
mod links;
mod order;
mod phase;
mod release;
mod restore;
mod routes;
mod routing;
mod safety;
mod sink;
mod tables;
pub mod text;
mod touched;
mod vlans;

use std::net::IpAddr;

use netloom_model::{HostState, Observed, Ownership, Plan, Target};

pub use drivers::needs_drivers;
pub use error::PlanError;
pub use touched::named;

use crate::{
    converge::{Builder, Finished},
    goal::Goal,
    lay::Ground,
};

/// What a plan may and may not do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Addresses that must stay reachable.
    pub protected: Vec<IpAddr>,
    /// Carries out a plan that cuts a protected address off all the same.
    pub allow_cut: bool,
}

/// A plan with everything that a transaction needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// The steps.
    pub plan: Plan,
    /// Everything that the plan touches, as it is now: what an undo must restore.
    pub before: Target,
    /// The ownership record once the plan is confirmed.
    pub ownership: Ownership,
    /// What a person should know although it stops nothing.
    pub notes: Vec<String>,
    /// What the host must show once the plan is carried out.
    pub expected: Expected,
}

/// What a host must show: what was desired, and what had to be put back because the kernel takes
/// it away with something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected(Goal);

impl Expected {
    /// Expects the objects of `target` as they are there.
    pub fn exactly(target: &Target) -> Self {
        Self(Goal::from_target(target, &Observed::default()))
    }

    /// Where the host is not as expected.
    pub fn unmet(&self, observed: &Observed) -> Vec<Difference> {
        differences::between(&self.0, observed)
    }
}

/// One property that is not as it shall be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Where, such as `eth0.mtu` or `route 10.0.0.0/8`.
    pub path: String,
    /// The value that was wanted.
    pub wanted: String,
    /// The value that is there.
    pub got: String,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: wanted {}, got {}", self.path, self.wanted, self.got)
    }
}

/// Plans the steps that fulfil `desired` on the host that `observed` shows.
pub fn plan(
    desired: &HostState,
    observed: &Observed,
    owned: &Ownership,
    options: &Options,
) -> Result<Planned, PlanError> {
    if let Some(version) = observed.kernel.too_old() {
        return Err(PlanError::OldKernel { version });
    }
    let laid = lay::lay(desired, Ground { observed, owned })?;
    let mut builder = Builder::new(observed, laid.goal);
    builder.notes = laid.notes;
    let moved = laid.moved;
    if !moved.is_empty() {
        builder.sim.adopt_closed(&moved.iter().map(|(old, _)| *old).collect());
    }
    builder.run()?;
    let Finished { plan, before, expected, mut notes, sim } = builder.finish();
    notes.extend(fragile::notes(sim.lost_routes()));
    safety::check(options, observed, sim.observed())?;
    // The simulated host and the record are the two largest things here: never both at once.
    drop(sim);
    let ownership = claims::after(desired, &expected, observed, owned, &moved);
    Ok(Planned { plan, before, ownership, notes, expected: Expected(expected) })
}

/// Plans the steps that bring the objects of `target` back to exactly the values there.
pub fn converge(observed: &Observed, target: &Target) -> Result<Plan, PlanError> {
    let mut builder = Builder::back(observed, Goal::from_target(target, observed));
    builder.run()?;
    Ok(builder.finish().plan)
}

/// The parts of the desired state that the host does not fulfil.
pub fn unmet(desired: &HostState, observed: &Observed) -> Result<Vec<Difference>, PlanError> {
    let laid = lay::lay(desired, Ground { observed, owned: &Ownership::default() })?;
    Ok(differences::between(&laid.goal, observed))
}

/// Where the host differs from `target`.
pub fn differences(target: &Target, observed: &Observed) -> Vec<Difference> {
    differences::between(&Goal::from_target(target, observed), observed)
}
