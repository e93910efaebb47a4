//! Virtual machines with real libvirtd and QEMU: the tier `./x test vm`.
//!
//! The guest is a Linux kernel that prints, on its serial console, which of its NICs have a carrier. Nodes are daemons with
//! sockets of their own, each in a network namespace; server, controller and agents are the program itself. Without what
//! `./x test vm` prepares, nothing of this can run, and it says so.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test says what it expects by failing, and what came of it"
)]

mod cluster;
mod figures;
mod guest;
mod node;
mod relay;
mod server;
mod show;
mod stories;

use crate::{cluster::Given, server::Served};
use std::{
    env, panic,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// What `./x test vm` prepares: a kernel and its first file system.
const GUEST: &str = "NETLOOM_VM_GUEST";
/// Where the program is.
const PROGRAM: &str = "NETLOOM";
/// Where the real Kubernetes parts are.
const PEERS: &str = "NETLOOM_PEERS";

fn main() -> ExitCode {
    let filters: Vec<String> = env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let chosen = stories::ALL
        .iter()
        .filter(|(name, _)| filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str())));
    let place = |name| env::var_os(name).map(PathBuf::from);
    let prepared = place(GUEST).zip(place(PROGRAM));
    if env::args().any(|word| word == "--show") {
        let Some((guest, program)) = &prepared else { return ExitCode::from(2) };
        show::show(Given { guest, program, peers: Path::new(""), served: Served::Embedded });
    }
    let prepared = prepared.zip(place(PEERS));
    let (mut passed, mut failed) = (0, 0);
    for (name, story) in chosen {
        let Some(((guest, program), peers)) = &prepared else {
            println!("test vm/{name} ... not run: there is no guest to start; `./x test vm` prepares one, as root");
            continue;
        };
        if panic::catch_unwind(|| story(Given { guest, program, peers, served: Served::Embedded })).is_ok() {
            println!("test vm/{name} ... ok");
            passed += 1;
        } else {
            println!("test vm/{name} ... FAILED");
            failed += 1;
        }
    }
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {word}. {passed} passed; {failed} failed; 0 ignored; 0 measured; 0 filtered out\n");
    ExitCode::from(u8::from(failed > 0))
}
