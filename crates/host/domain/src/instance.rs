//! What a domain is to be: the instance, with all that has to be resolved resolved.

use netloom_types::MacAddr;

/// Whether a NIC has a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkState {
    /// It has; also what no element means.
    Up,
    /// It has not: the device stays in the guest and has no carrier.
    Down,
}

impl LinkState {
    /// The word in XML and in a status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

/// How a NIC is attached to its domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attachment {
    /// By a tap, which libvirt makes and removes.
    Tap,
    /// By passt, a process beside the domain.
    Passt,
    /// Not by us: an SR-IOV device, or a plugin that owns its part of the XML.
    Elsewhere,
}

/// An address on the PCI bus of the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PciAddress {
    /// The domain.
    pub domain: u16,
    /// The bus.
    pub bus: u8,
    /// The slot on it.
    pub slot: u8,
    /// The function of the device.
    pub function: u8,
}

impl PciAddress {
    /// Reads `0000:81:00.1`.
    pub fn parse(text: &str) -> Option<Self> {
        let (front, function) = text.split_once('.')?;
        let mut parts = front.split(':');
        let (domain, bus, slot) = (parts.next()?, parts.next()?, parts.next()?);
        let hex = |text: &str, digits: usize| -> Option<u16> {
            let good = text.len() == digits && text.bytes().all(|digit| digit.is_ascii_hexdigit());
            good.then(|| u16::from_str_radix(text, 16).ok()).flatten()
        };
        let byte = |text: &str, digits: usize| u8::try_from(hex(text, digits)?).ok();
        let address =
            Self { domain: hex(domain, 4)?, bus: byte(bus, 2)?, slot: byte(slot, 2)?, function: byte(function, 1)? };
        (parts.next().is_none() && address.slot < 32 && address.function < 8).then_some(address)
    }
}

/// One NIC of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nic {
    /// Its name in the instance, which is that of its network.
    pub name: String,
    /// How it is attached.
    pub attachment: Attachment,
    /// Whether it is to have a link; none for one that is to be unplugged.
    pub state: Option<LinkState>,
    /// The model of the device; none for the usual one.
    pub model: Option<String>,
    /// Its address.
    pub mac: MacAddr,
    /// Its tap on the node.
    pub tap: String,
    /// When the guest tries to boot from it.
    pub boot_order: Option<u32>,
    /// Where it is on the guest's PCI bus.
    pub pci_address: Option<PciAddress>,
    /// The number by which the guest names it.
    pub acpi_index: Option<u32>,
    /// How many pairs of queues it has; none for one, without a driver of its own.
    pub queues: Option<u32>,
    /// Whether its link is taken down and brought up again after a migration.
    pub refreshed: bool,
}

impl Nic {
    /// Whether its element in the domain is ours to write.
    pub fn is_ours(&self) -> bool {
        match self.attachment {
            Attachment::Tap | Attachment::Passt => true,
            Attachment::Elsewhere => false,
        }
    }
}

/// What a domain is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// The namespace of the instance.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// The memory of the guest in bytes; none for that of the base.
    pub memory: Option<u64>,
    /// The processors of the guest; none for those of the base.
    pub cores: Option<u32>,
    /// Its NICs.
    pub nics: Vec<Nic>,
}

impl Instance {
    /// The name of its domain.
    pub fn domain_name(&self) -> String {
        crate::domain_name(&self.namespace, &self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pci_address_is_read_only_whole() {
        let read = PciAddress::parse("0000:81:00.1").unwrap();
        assert_eq!((read.domain, read.bus, read.slot, read.function), (0, 0x81, 0, 1));
        for wrong in
            ["", "81:00.1", "0000:81:00", "0000:81:20.0", "0000:81:00.8", "0000:81:00.1:2", "0000:+1:00.1", "é"]
        {
            assert_eq!(PciAddress::parse(wrong), None, "{wrong}");
        }
    }
}
