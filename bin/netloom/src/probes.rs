//! The probes that the command line names, and how long they may take.

use netloom_netlink::probe::Probe;
use netloom_probing::{ProbeTimes, ProbeTiming, Wait};

use crate::{args::ProbeTimingArgs, failure::Failure};

/// The probes that the command line names, or the usual one.
pub(crate) fn parse(names: &[String]) -> Result<Vec<Probe>, Failure> {
    if names.is_empty() {
        return Ok(vec![Probe::Gateway]);
    }
    names.iter().map(|name| name.parse().map_err(Failure::usage)).collect()
}

/// How long a change is watched, as the command line says.
pub(crate) fn timing(args: ProbeTimingArgs) -> ProbeTiming {
    let ProbeTimingArgs { probe_before, probe_carrier, probe_window, probe_retry, probe_restart } = args;
    let given = ProbeTimes::default()
        .and(Wait::Before, probe_before)
        .and(Wait::Carrier, probe_carrier)
        .and(Wait::Window, probe_window)
        .and(Wait::Retry, probe_retry)
        .and(Wait::Restart, probe_restart);
    ProbeTiming::default().with(given)
}
