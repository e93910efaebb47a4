//! The guest: what it prints is what it sees.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// The base of a domain that boots the guest; it writes down what it sees in `console`.
pub(crate) fn base(guest: &Path, console: &Path) -> String {
    let ports = "<controller type='pci' model='pcie-root-port'/>".repeat(6);
    format!(
        "<domain type='qemu'><memory unit='MiB'>160</memory><vcpu>1</vcpu>\
         <os><type arch='x86_64' machine='q35'>hvm</type><kernel>{kernel}</kernel><initrd>{first}</initrd>\
         <cmdline>console=ttyS0 quiet panic=-1</cmdline></os><features><acpi/></features>\
         <devices><emulator>/usr/bin/qemu-system-x86_64</emulator>\
         <controller type='pci' model='pcie-root'/>{ports}<controller type='usb' model='none'/>\
         <serial type='file'><source path='{console}' append='on'/><target port='0'/></serial>\
         <memballoon model='none'/></devices></domain>",
        kernel = guest.join("linux").display(),
        first = guest.join("initramfs").display(),
        console = console.display(),
    )
}

/// What the guest prints.
#[derive(Debug, Clone)]
pub(crate) struct Console(pub(crate) PathBuf);

impl Console {
    /// Whether each NIC has a carrier, by its address, as the guest said last; empty before it said anything.
    pub(crate) fn carriers(&self) -> BTreeMap<String, bool> {
        let text = fs::read(&self.0).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        let lines = text.lines().filter(|line| line.trim_end().ends_with(" end"));
        let last = lines.filter_map(|line| line.split_once("links:")).next_back();
        let words = last.map(|(_, words)| words.to_owned()).unwrap_or_default();
        let nic = |word: &str| word.split_once('=').map(|(mac, carrier)| (mac.to_owned(), carrier == "1"));
        words.split_whitespace().filter_map(nic).collect()
    }
}
