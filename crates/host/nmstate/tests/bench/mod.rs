//! A simulated host to lay documents over, shared by the tests of this crate.

#![allow(dead_code, reason = "every test binary uses its own part")]

use netloom_kernel_sim::SimHost;
use netloom_model::{HostState, Observed, Ownership};
use netloom_nmstate::{Document, ResolveOptions, Resolved, parse};
use netloom_types::MacAddr;

/// A host with four cards, `eth0` to `eth3`; `lo` and the cards are up.
pub(crate) fn host() -> SimHost {
    let mut sim = SimHost::new();
    for i in 0..4u8 {
        sim.add_ethernet(format!("eth{i}").parse().expect("a name"), MacAddr::new([2, 0, 0, 0, 0, i]));
    }
    apply(&mut sim, "hostname: {running: host}");
    apply(
        &mut sim,
        "interfaces: [{name: lo, state: up}, {name: eth0, state: up}, {name: eth1, state: up}, {name: eth2, state: up}, {name: eth3, state: up}]",
    );
    sim
}

/// The document in a text that must be one.
pub(crate) fn document(text: &str) -> Document {
    parse("test.yaml", text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// What a text asks for on a host that must take it.
pub(crate) fn resolve(observed: &Observed, text: &str) -> Resolved {
    let document = document(text);
    document.resolve(observed, &ResolveOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The steps that a desired state takes.
pub(crate) fn steps(observed: &Observed, state: &HostState) -> netloom_model::Plan {
    let planned = netloom_plan::plan(state, observed, &Ownership::default(), &netloom_plan::Options::default());
    planned.unwrap_or_else(|error| panic!("{error}")).plan
}

/// Carries a text out; every step must succeed.
pub(crate) fn apply(sim: &mut SimHost, text: &str) {
    let resolved = resolve(sim.observed(), text);
    apply_state(sim, &resolved.state);
}

/// Applies a desired state; every step must succeed.
pub(crate) fn apply_state(sim: &mut SimHost, state: &HostState) {
    for planned in &steps(sim.observed(), state).steps {
        sim.apply(&planned.step).unwrap_or_else(|error| panic!("{:?}: {error:?}", planned.step));
    }
}

/// The refusals of a text, by the reader or against the host: path, line and reason.
pub(crate) fn refusals(observed: &Observed, text: &str) -> Vec<(String, u32, &'static str)> {
    let error = match parse("test.yaml", text.as_bytes()) {
        Err(error) => error,
        Ok(document) => match document.resolve(observed, &ResolveOptions::default()) {
            Err(error) => error,
            Ok(_) => return Vec::new(),
        },
    };
    assert!(!error.to_string().is_empty());
    error.refusals().iter().map(|r| (r.path.clone(), r.line, r.reason)).collect()
}
