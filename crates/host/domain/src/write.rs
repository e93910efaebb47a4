//! An instance as XML.

use crate::{
    Attachment, Base, Instance, LinkState, Nic,
    xml::{self, Element, Node, XmlError},
};

/// The device of a NIC whose instance names no model.
const USUAL_MODEL: &str = "virtio-non-transitional";

/// The domain of an instance.
pub fn domain(instance: &Instance, base: &Base) -> String {
    let mut domain = base.of(instance);
    let devices = domain.child_mut("devices");
    for nic in instance.nics.iter().filter(|nic| nic.is_ours()) {
        if let Some(state) = nic.state {
            devices.push(interface(nic, state));
        }
    }
    domain.print()
}

/// The text of a domain with the links that the instance asks for, and nothing else changed.
pub fn with_links(text: &str, instance: &Instance) -> Result<String, XmlError> {
    let mut domain = xml::parse(text)?;
    for child in &mut domain.child_mut("devices").children {
        let Node::Element(element) = child else { continue };
        let is = |nic: &&Nic| element.name == "interface" && alias(element) == Some(nic.name.as_str());
        if let Some(state) = instance.nics.iter().find(is).and_then(|nic| nic.state) {
            set_link(element, state);
        }
    }
    Ok(domain.print())
}

/// The name of the NIC that an element is.
pub(crate) fn alias(interface: &Element) -> Option<&str> {
    interface.child("alias")?.attribute("name")?.strip_prefix("ua-")
}

/// Puts the link of an element into a state. Up is said by no element, which is what every version of libvirt takes.
pub(crate) fn set_link(interface: &mut Element, state: LinkState) {
    interface.remove("link");
    match state {
        LinkState::Up => {}
        LinkState::Down => interface.push(Element::new("link").with("state", "down")),
    }
}

/// The element of a NIC.
pub(crate) fn interface(nic: &Nic, state: LinkState) -> Element {
    let mut element = match nic.attachment {
        Attachment::Tap | Attachment::Elsewhere => Element::new("interface")
            .with("type", "ethernet")
            .and(Element::new("mac").with("address", nic.mac.to_string()))
            .and(Element::new("target").with("dev", nic.tap.as_str())),
        Attachment::Passt => Element::new("interface")
            .with("type", "user")
            .and(Element::new("backend").with("type", "passt"))
            .and(Element::new("mac").with("address", nic.mac.to_string())),
    };
    let model = match nic.model.as_deref() {
        None | Some("" | "virtio") => USUAL_MODEL,
        Some(model) => model,
    };
    element.push(Element::new("model").with("type", model));
    if let Some(queues) = nic.queues {
        element.push(Element::new("driver").with("name", "vhost").with("queues", queues.to_string()));
    }
    set_link(&mut element, state);
    element.push(Element::new("alias").with("name", format!("ua-{}", nic.name)));
    match nic.boot_order {
        Some(order) => element.push(Element::new("boot").with("order", order.to_string())),
        // What is never booted from needs no firmware of its own.
        None => element.push(Element::new("rom").with("enabled", "no")),
    }
    if let Some(index) = nic.acpi_index {
        element.push(Element::new("acpi").with("index", index.to_string()));
    }
    if let Some(pci) = nic.pci_address {
        element.push(
            Element::new("address")
                .with("type", "pci")
                .with("domain", format!("0x{:04x}", pci.domain))
                .with("bus", format!("0x{:02x}", pci.bus))
                .with("slot", format!("0x{:02x}", pci.slot))
                .with("function", format!("0x{:x}", pci.function)),
        );
    }
    element
}
