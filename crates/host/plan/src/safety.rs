//! Refuses a plan that would cut the way to an address that must stay reachable.

use std::net::IpAddr;

use netloom_kernel_sim::{Lookup, lookup};
use netloom_model::Observed;

use crate::{Options, PlanError};

/// Compares where packets to each protected address go before and after.
pub(crate) fn check(options: &Options, before: &Observed, after: &Observed) -> Result<(), PlanError> {
    if options.allow_cut {
        return Ok(());
    }
    options.protected.iter().try_for_each(|&address| keeps(address, before, after))
}

fn keeps(address: IpAddr, before: &Observed, after: &Observed) -> Result<(), PlanError> {
    let now = lookup(before, address);
    let then = lookup(after, address);
    if reaches(&now) && !reaches(&then) {
        return Err(PlanError::CutsProtected { address, before: now.to_string(), after: then.to_string() });
    }
    Ok(())
}

fn reaches(lookup: &Lookup) -> bool {
    matches!(lookup, Lookup::Local | Lookup::Via { .. })
}
