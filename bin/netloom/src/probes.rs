//! The probes that the command line names.

use netloom_netlink::probe::Probe;

use crate::failure::Failure;

/// The probes that the command line names, or the usual one.
pub(crate) fn parse(names: &[String]) -> Result<Vec<Probe>, Failure> {
    if names.is_empty() {
        return Ok(vec![Probe::Gateway]);
    }
    names.iter().map(|name| name.parse().map_err(Failure::usage)).collect()
}
