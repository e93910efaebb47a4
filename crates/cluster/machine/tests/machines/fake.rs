//! A hypervisor in memory, which answers as libvirt does.

use std::collections::{BTreeMap, BTreeSet};

use netloom_domain::{
    Domain,
    xml::{Element, Node, parse},
};
use netloom_machine::hypervisor::{Bases, Fault, FaultKind, Hypervisor, Running};

pub(crate) const BASE: &str = "<domain type='qemu'><memory unit='MiB'>64</memory><devices/></domain>";

pub(crate) struct Folder(pub(crate) Option<&'static str>);

impl Bases for Folder {
    fn read(&self, name: &str) -> Result<String, String> {
        self.0.map(str::to_owned).ok_or_else(|| format!("there is no base {name}.xml"))
    }
}

/// When whoever asks dies: in which call, and whether that is carried out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Death {
    pub(crate) at: usize,
    pub(crate) after: bool,
}

#[derive(Default)]
pub(crate) struct Fake {
    /// By name: its text, and whether it runs.
    pub(crate) domains: BTreeMap<String, (String, bool)>,
    /// What was called, but for reading.
    pub(crate) done: Vec<String>,
    /// How many calls there were.
    pub(crate) calls: usize,
    /// NICs that it refuses to change, and why.
    pub(crate) refuses: BTreeMap<String, &'static str>,
    /// NICs that the guest does not let go of.
    pub(crate) holds: BTreeSet<String>,
    /// Of those, what is gone from the definition.
    pub(crate) undefined: BTreeSet<String>,
    /// Nobody answers.
    pub(crate) gone: bool,
    /// Domains about which nobody answers.
    pub(crate) hangs: BTreeSet<String>,
    /// How many times it still refuses to print a domain.
    pub(crate) mute: usize,
    /// The same once it has paused.
    pub(crate) mute_after_pause: usize,
    /// What it was sent to change devices.
    pub(crate) sent: Vec<String>,
    pub(crate) crashed: bool,
    pub(crate) death: Option<Death>,
    /// A domain as a real daemon prints it: what is defined is printed like that.
    pub(crate) recorded: Option<Element>,
}

fn refused(message: &str, kind: FaultKind) -> Fault {
    Fault { message: message.to_owned(), kind }
}

fn nic(xml: &str) -> String {
    let whole = format!("<domain><devices>{xml}</devices></domain>");
    Domain::read(&whole).expect("a device").interfaces[0].name.clone()
}

fn alias(element: &Element) -> Option<&str> {
    element.child("alias")?.attribute("name")
}

/// A domain as the daemon prints it: the recorded one with the metadata and the NICs of what was defined.
fn dressed(recorded: &Element, text: &str) -> String {
    let (mut root, mut given) = (recorded.clone(), parse(text).expect("a domain"));
    root.remove("metadata");
    root.push(given.child_mut("metadata").clone());
    let devices = root.child_mut("devices");
    devices.remove("interface");
    for nic in given.child_mut("devices").elements().filter(|device| device.name == "interface") {
        devices.push(placed(recorded, nic.clone()));
    }
    root.print()
}

/// A device as the daemon prints it: with its place on the bus of the guest.
fn placed(recorded: &Element, mut device: Element) -> Element {
    let devices = recorded.child("devices").expect("a domain");
    let known = devices.elements().find(|known| alias(known) == alias(&device)).expect("a recorded device");
    device.remove("address");
    device.push(known.child("address").expect("it has a place").clone());
    device
}

impl Fake {
    fn call(&mut self, what: Option<String>) -> Result<(), Fault> {
        self.calls += 1;
        let dies = self.death.is_some_and(|death| death.at == self.calls && !death.after);
        if self.gone || dies {
            return Err(refused("libvirt went away", FaultKind::Gone));
        }
        self.done.extend(what);
        Ok(())
    }

    /// The call was carried out; whoever asked may not hear of it.
    fn end(&self) -> Result<(), Fault> {
        match self.death {
            Some(Death { at, after: true }) if at == self.calls => Err(refused("libvirt went away", FaultKind::Gone)),
            _ => Ok(()),
        }
    }

    fn device(&mut self, what: &str, xml: &str) -> Result<String, Fault> {
        let nic = nic(xml);
        self.sent.push(xml.to_owned());
        self.call(Some(format!("{what} {nic}")))?;
        match self.refuses.get(&nic) {
            Some(why) => Err(refused(why, FaultKind::Refused)),
            None => Ok(nic),
        }
    }

    /// Puts a device in the place of the one with its name, or at the end; none takes that out.
    fn replace(&mut self, domain: &str, name: &str, with: Option<&str>) {
        let (text, _) = self.domains.get_mut(domain).expect("it is there");
        let mut root = parse(text).expect("a domain");
        let all = &mut root.child_mut("devices").children;
        let is = |child: &Node| match child {
            Node::Element(element) => alias(element) == Some(&format!("ua-{name}")),
            Node::Text(_) => false,
        };
        let at = all.iter().position(is);
        let device = with.map(|with| {
            let device = parse(with).expect("a device");
            Node::Element(self.recorded.as_ref().map_or(device.clone(), |recorded| placed(recorded, device)))
        });
        match (at, device) {
            (Some(at), Some(device)) => all[at] = device,
            (Some(at), None) => drop(all.remove(at)),
            (None, device) => all.extend(device),
        }
        *text = root.print();
    }

    pub(crate) fn updates(&self) -> usize {
        self.done.iter().filter(|done| done.starts_with("update")).count()
    }
}

impl Hypervisor for Fake {
    type Domain = String;

    fn list(&mut self) -> Result<Vec<(String, bool, String)>, Fault> {
        self.call(None)?;
        Ok(self.domains.iter().map(|(name, (_, runs))| (name.clone(), *runs, name.clone())).collect())
    }

    fn find(&mut self, name: &str) -> Result<Option<(bool, String)>, Fault> {
        self.call(None)?;
        Ok(self.domains.get(name).map(|(_, runs)| (*runs, name.to_owned())))
    }

    fn xml(&mut self, domain: &String) -> Result<String, Fault> {
        self.call(None)?;
        if self.hangs.contains(domain) {
            return Err(refused("libvirt did not answer", FaultKind::Gone));
        }
        if self.mute > 0 {
            self.mute -= 1;
            return Err(refused("cannot acquire state change lock", FaultKind::Refused));
        }
        self.domains.get(domain).map(|(text, _)| text.clone()).ok_or_else(|| refused("no domain", FaultKind::Refused))
    }

    fn migratable(&mut self, domain: &String) -> Result<String, Fault> {
        self.xml(domain)
    }

    fn running(&mut self, domain: &String) -> Result<Running, Fault> {
        self.call(None)?;
        let runs = self.domains.get(domain).is_some_and(|(_, runs)| *runs);
        Ok(if runs { Running::Yes } else { Running::Off { crashed: self.crashed } })
    }

    fn define(&mut self, xml: &str) -> Result<String, Fault> {
        self.call(Some("define".to_owned()))?;
        let name = Domain::read(xml).expect("a domain").name;
        let printed = self.recorded.as_ref().map(|recorded| dressed(recorded, xml));
        self.domains.insert(name.clone(), (printed.unwrap_or_else(|| xml.to_owned()), false));
        self.end().map(|()| name)
    }

    fn start(&mut self, domain: &String) -> Result<(), Fault> {
        self.call(Some("start".to_owned()))?;
        self.domains.get_mut(domain).expect("it is defined").1 = true;
        self.end()
    }

    fn resume(&mut self, _: &String) -> Result<(), Fault> {
        self.call(Some("resume".to_owned()))
    }

    fn remove(&mut self, domain: &String) -> Result<(), Fault> {
        self.call(Some("remove".to_owned()))?;
        self.domains.remove(domain);
        self.end()
    }

    fn attach(&mut self, domain: &String, xml: &str) -> Result<(), Fault> {
        let name = self.device("attach", xml)?;
        self.replace(domain, &name, Some(xml));
        self.end()
    }

    fn detach(&mut self, domain: &String, xml: &str, live_only: bool) -> Result<(), Fault> {
        let name = self.device(if live_only { "detach live" } else { "detach" }, xml)?;
        if self.undefined.contains(&name) && !live_only {
            return Err(refused("device not found", FaultKind::DeviceMissing));
        }
        if self.holds.contains(&name) {
            self.undefined.insert(name);
        } else {
            self.replace(domain, &name, None);
        }
        self.end()
    }

    fn update(&mut self, domain: &String, xml: &str) -> Result<(), Fault> {
        let name = self.device("update", xml)?;
        self.replace(domain, &name, Some(xml));
        self.end()
    }

    fn pause(&mut self) {
        self.done.push("pause".to_owned());
        self.mute += std::mem::take(&mut self.mute_after_pause);
    }
}
