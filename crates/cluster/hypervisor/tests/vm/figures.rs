//! Stories that measure. What they found is printed as a line of a table, which `./x bench vms` collects.

use std::time::{Duration, Instant};

use netloom_libvirt::{Client, Form, Scope};

use crate::{
    cluster::{Cluster, Given, nic},
    stories::running,
};

/// A hundred changes of a link by our client and by virsh, a process for each.
#[expect(clippy::disallowed_methods, reason = "it measures")]
pub(crate) fn hundred(given: Given<'_>) {
    const CHANGES: usize = 100;
    let mut cluster = Cluster::start(given, "hundred", 1, &[nic("blue", "")]);
    running(&mut cluster);
    // It would put each of them right.
    cluster.nodes[0].kill_agent();
    let node = &cluster.nodes[0];
    let socket = node.folder.join("libvirt-sock");
    let mut client = Client::connect(&socket, "qemu:///system", Duration::from_secs(10)).unwrap();
    let domain = client.lookup("default_a").unwrap().unwrap();
    let live = client.xml(&domain, Form::Live).unwrap();
    let interface = |state: &str| {
        let from = live.find("<interface ").unwrap();
        let device = &live[from..from + live[from..].find("</interface>").unwrap()];
        format!("{device}<link state='{state}'/></interface>")
    };
    let states = || ["down", "up"].into_iter().cycle().take(CHANGES);
    let begun = Instant::now();
    for state in states() {
        client.update(&domain, &interface(state), Scope::LiveAndConfig).unwrap();
    }
    let ours = begun.elapsed();
    for state in ["down", "up"] {
        std::fs::write(node.folder.join(state), interface(state)).unwrap();
    }
    let place = node.folder.display();
    // In one shell, so that nothing but virsh itself is counted.
    let virsh =
        format!("virsh -q -c 'qemu+unix:///system?socket={place}/libvirt-sock' update-device default_a {place}");
    let begun = Instant::now();
    let each = format!("{virsh}/down --live --config || exit 1; {virsh}/up --live --config || exit 1");
    let said = node.inside(&format!("for turn in $(seq {}); do {each}; done; echo all", CHANGES / 2));
    assert!(said.ends_with("all"), "{said}");
    let theirs = begun.elapsed();
    let (ours, theirs) = (ours.as_secs_f64() * 1e3, theirs.as_secs_f64() * 1e3);
    let (ratio, word) = (ours / theirs, holds(ours * 4.0 <= theirs));
    println!(
        "| {CHANGES} link changes of a running NIC | {ours:.0} ms | `virsh update-device`: {theirs:.0} ms | {ratio:.2} | ≤ 0.25 | {word} |"
    );
    assert!(ours * 4.0 <= theirs, "{ours} {theirs}");
}

/// From the answer to a patch of the machine to the end of the daemon's call, twenty times.
#[expect(clippy::disallowed_methods, reason = "it measures")]
pub(crate) fn reaction(given: Given<'_>) {
    let mut cluster = Cluster::start(given, "reaction", 1, &[nic("blue", "")]);
    running(&mut cluster);
    cluster.linked("blue", "up");
    let mut took: Vec<Duration> = Vec::new();
    for (turn, state) in ["down", "up"].into_iter().cycle().take(20).enumerate() {
        cluster.set(&[("blue", state)]);
        let answered = Instant::now();
        cluster.linked("blue", state);
        let updated = cluster.nodes[0].relay.updated();
        assert_eq!(updated.len(), turn + 1, "one call for each patch");
        took.push(updated[turn].saturating_duration_since(answered));
    }
    took.sort();
    let [median, least, most] = [took[10], took[0], took[19]].map(|time| time.as_secs_f64() * 1e3);
    let word = holds(median <= 250.0);
    println!(
        "| a patch of a machine is answered: until libvirt has changed the link |  |  | {median:.0} ms ({least:.0}..{most:.0}) | ≤ 250 ms | {word} |"
    );
}

/// In a table of figures.
fn holds(so: bool) -> &'static str {
    if so { "yes" } else { "**no**" }
}
