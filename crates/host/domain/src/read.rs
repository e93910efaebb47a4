//! A domain as libvirt prints it.

use crate::{
    LinkState,
    write::alias,
    xml::{self, Element, XmlError},
};

/// Declared on the element of ours in the metadata of a domain.
pub(crate) const METADATA_NAMESPACE: &str = "https://netloom.dev/domain";
/// The version of what we keep there.
pub(crate) const VERSION: &str = "1";

/// Why a text is no domain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It is no XML.
    #[error("libvirt's domain cannot be read: {0}")]
    Xml(#[from] XmlError),
    /// It is something else.
    #[error("libvirt sent a <{0}> where a <domain> was asked for")]
    NoDomain(String),
}

/// Whose a domain is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// Ours, for an instance.
    Instance {
        /// The uid of the instance.
        uid: String,
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// Somebody else's, or of a later version of ours: never to be touched.
    Other,
}

/// A domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub owner: Owner,
    /// Its NICs that have a name, in their order.
    pub interfaces: Vec<Interface>,
}

/// A NIC of a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// The name that its instance has for it.
    pub name: String,
    /// Its address, as libvirt writes it.
    pub mac: Option<String>,
    /// Its device on the node.
    pub tap: Option<String>,
    /// How many pairs of queues it has.
    pub queues: u32,
    /// Whether it has a link.
    pub link: LinkState,
    /// The element as libvirt gave it.
    pub(crate) element: Element,
}

impl Domain {
    /// Reads what libvirt prints.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        let root = xml::parse(text)?;
        if root.name != "domain" {
            return Err(ReadError::NoDomain(root.name));
        }
        let name = root.child("name").map(Element::text).unwrap_or_default();
        let devices = root.child("devices");
        let interfaces = devices.into_iter().flat_map(Element::elements).filter_map(Interface::read).collect();
        Ok(Self { name, owner: owner(&root), interfaces })
    }

    /// The NIC of that name.
    pub fn interface(&self, name: &str) -> Option<&Interface> {
        self.interfaces.iter().find(|interface| interface.name == name)
    }
}

impl Interface {
    fn read(element: &Element) -> Option<Self> {
        if element.name != "interface" {
            return None;
        }
        let attribute =
            |child: &str, name: &str| element.child(child).and_then(|child| child.attribute(name)).map(str::to_owned);
        let down = attribute("link", "state").is_some_and(|state| state == "down");
        Some(Self {
            name: alias(element)?.to_owned(),
            mac: attribute("mac", "address"),
            tap: attribute("target", "dev"),
            queues: attribute("driver", "queues").and_then(|queues| queues.parse().ok()).unwrap_or(1),
            link: if down { LinkState::Down } else { LinkState::Up },
            element: element.clone(),
        })
    }
}

/// Whether an element of the metadata is ours, of whatever version.
pub(crate) fn is_ours(element: &Element) -> bool {
    let Some((prefix, "instance")) = element.name.split_once(':') else { return false };
    element.attribute(&format!("xmlns:{prefix}")) == Some(METADATA_NAMESPACE)
}

fn owner(root: &Element) -> Owner {
    let mut ours = root.child("metadata").into_iter().flat_map(Element::elements).filter(|element| is_ours(element));
    let (Some(element), None) = (ours.next(), ours.next()) else { return Owner::Other };
    let value = |name: &str| element.attribute(name).filter(|value| !value.is_empty()).map(str::to_owned);
    match (element.attribute("version"), value("uid"), value("namespace"), value("name")) {
        (Some(VERSION), Some(uid), Some(namespace), Some(name)) => Owner::Instance { uid, namespace, name },
        _ => Owner::Other,
    }
}
