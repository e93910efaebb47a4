//! Every folder under `tests/cases` is a configuration of a node, `node.yaml`, with the base file of the node beside it.
//!
//! `host.yaml` is what the host is to have of it; `NETLOOM_BLESS=1` writes it again. `frr.conf` is what FRR 8.4 showed
//! as its running configuration after it was given the lines: nothing else may be in it, and nothing may be missing.
//! `tests/record` writes it again.

mod common;

use std::{collections::BTreeSet, fs, path::Path};

use common::{blesses, document, host, leave, lines, ours, rendered, shown, text, yaml};
use netloom_kernel_sim::SimHost;
use netloom_model::Ownership;
use netloom_nmstate::{Document, ResolveOptions, parse};
use netloom_plan::{Options, plan};
use netloom_types::MacAddr;

#[test]
fn each_case_is_rendered_as_frr_shows_it() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases"));
    let mut wrong = Vec::new();
    let mut count = 0;
    for folder in fs::read_dir(root).expect("there are cases").map(|entry| entry.expect("a folder").path()) {
        let name = folder.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        let base = fs::read_to_string(folder.join("base.yaml")).expect("a base file");
        let sentence = fs::read_to_string(folder.join("node.yaml")).expect("a configuration");
        assert!(sentence.starts_with("# "), "{name} does not begin with its sentence");
        let rendered = rendered(&yaml(&folder.join("node.yaml")), &base).unwrap_or_else(|e| panic!("{name}: {e}"));
        leave(&format!("case-{name}"), &text(&rendered));
        let mut sim = node();
        assert!(set(&mut sim, &document(&rendered)) > 0, "{name} changes nothing");
        assert_eq!(set(&mut sim, &document(&rendered)), 0, "{name} is not there after it was made");
        wrong.extend(differs(&folder.join("host.yaml"), &host(&rendered)));
        let recorded = fs::read_to_string(folder.join("frr.conf")).unwrap_or_default();
        let shown_by_frr: BTreeSet<String> = lines(&recorded).iter().map(shown).collect();
        let made: BTreeSet<String> = ours(&rendered).iter().map(shown).collect();
        wrong.extend(made.difference(&shown_by_frr).map(|line| format!("{name}: FRR does not show: {line}")));
        wrong.extend(shown_by_frr.difference(&made).map(|line| format!("{name}: FRR shows also: {line}")));
        count += 1;
    }
    assert!(count > 0, "there are no cases");
    assert!(wrong.is_empty(), "not as expected:\n{}", wrong.join("\n"));
}

fn differs(file: &Path, found: &str) -> Option<String> {
    if fs::read_to_string(file).is_ok_and(|wanted| wanted == found) {
        return None;
    }
    if blesses() {
        fs::write(file, found).expect("a file can be written");
        return None;
    }
    Some(format!("{}; NETLOOM_BLESS=1 writes it again:\n{found}", file.display()))
}

/// A node with what base files speak of.
fn node() -> SimHost {
    let mut sim = SimHost::new();
    for (number, card) in (1..).zip(["hbn", "eth3"]) {
        sim.add_ethernet(card.parse().expect("a name"), MacAddr::new([2, 0, 0, 0, 0, number]));
    }
    let there = "interfaces: [{name: hbn, mtu: 9000, state: up}, {name: cluster, type: vrf, vrf: {route-table-id: 10}},
        {name: mgmt, type: vrf, vrf: {route-table-id: 20}}]";
    set(&mut sim, &parse("base.yaml", there.as_bytes()).expect("a document"));
    sim
}

/// Brings a node to a document; gives the number of steps.
fn set(sim: &mut SimHost, document: &Document) -> usize {
    let resolved = document.resolve(sim.observed(), &ResolveOptions::default()).expect("it fits the node");
    let planned = plan(&resolved.state, sim.observed(), &Ownership::default(), &Options::default()).expect("a plan");
    for step in &planned.plan.steps {
        sim.apply(&step.step).unwrap_or_else(|e| panic!("{:?}: {e:?}", step.step));
    }
    assert_eq!(planned.expected.unmet(sim.observed()), []);
    planned.plan.steps.len()
}
