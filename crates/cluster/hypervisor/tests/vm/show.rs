//! What `./x vms` shows: two nodes, a machine with two NICs, links that change and migrations, until Ctrl-C.

use std::time::{Duration, Instant};

use crate::cluster::{Cluster, Given, nic};

/// How long people have to read what is there.
const PAUSE: Duration = Duration::from_secs(4);

pub(crate) fn show(given: Given<'_>) {
    println!(
        "Two nodes with a libvirtd each, an API server, a controller and two agents are starting; Ctrl-C ends all of them."
    );
    let mut cluster = Cluster::start(given, "show", 2, &[nic("default", ""), nic("blue", "down")]);
    println!(
        "Nodes n1 and n2 have a libvirt. Machine `a` is made, with the NICs `default` and `blue`, and `blue` is down."
    );
    links(&mut cluster, [("default", "up"), ("blue", "down")]);
    for round in 1.. {
        for state in ["up", "down"] {
            println!("\nkubectl patch vm a: the link of `blue` is to be {state}");
            cluster.set(&[("blue", state)]);
            links(&mut cluster, [("default", "up"), ("blue", state)]);
        }
        println!("\nkubectl create: VirtualMachineInstanceMigration `move-{round}`");
        let name = format!("move-{round}");
        cluster.migrate(&name);
        cluster.until("the migration has ended", |cluster| ended(cluster, &name));
        let phase = cluster.migration.as_ref().map(|migration| migration["status"]["phase"].to_string());
        println!("it ended: {}", phase.unwrap_or_default());
        links(&mut cluster, [("default", "up"), ("blue", "down")]);
    }
}

fn ended(cluster: &Cluster, name: &str) -> bool {
    cluster.migration.as_ref().is_some_and(|migration| {
        let phase = &migration["status"]["phase"];
        migration["metadata"]["name"] == *name && (phase == "Succeeded" || phase == "Failed")
    })
}

/// Waits until NICs have these links, in the status and in the guest, prints that, and gives people time.
#[expect(clippy::disallowed_methods, reason = "people need time to read")]
fn links(cluster: &mut Cluster, links: [(&str, &str); 2]) {
    for (name, state) in links {
        cluster.linked(name, state);
    }
    let node = cluster.status()["nodeName"].as_str().unwrap_or_default().to_owned();
    println!("instance `a` runs on {node}:");
    for (name, state) in links {
        let carrier = if state == "up" { "a carrier" } else { "no carrier" };
        println!("  {name:8} linkState {state:5} the guest sees {carrier}");
    }
    let end = Instant::now() + PAUSE;
    cluster.until("people have read it", |_| Instant::now() >= end);
}
