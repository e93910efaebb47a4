//! What an administrator has for domains on a node: a domain without NICs. The instance brings names, NICs, and what of
//! memory and processors it says.

use crate::{
    Instance,
    read::{METADATA_NAMESPACE, is_ours},
    xml::{self, Element, Node, XmlError},
};

/// How large the file of a base may be.
const MOST: usize = 1 << 20;

/// A domain without NICs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base(Element);

/// Why a text is no base.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaseError {
    /// It is too large.
    #[error("it has {0} bytes, and a base may have {MOST}; take out what no domain needs")]
    Large(usize),
    /// It is no XML.
    #[error("{0}; write it as `virsh dumpxml --inactive` prints a domain")]
    Xml(#[from] XmlError),
    /// It is something else.
    #[error("it is a <{0}> and not a <domain>")]
    NoDomain(String),
    /// It has NICs.
    #[error("it has <interface> elements; take them out, NICs come from the instance")]
    Nics,
}

impl Base {
    /// Reads a base.
    pub fn parse(text: &str) -> Result<Self, BaseError> {
        if text.len() > MOST {
            return Err(BaseError::Large(text.len()));
        }
        let root = xml::parse(text)?;
        if root.name != "domain" {
            return Err(BaseError::NoDomain(root.name));
        }
        let nics = root.elements().filter(|child| child.name == "devices").any(|all| all.child("interface").is_some());
        if nics { Err(BaseError::Nics) } else { Ok(Self(root)) }
    }

    /// The domain of an instance, still without its NICs.
    pub(crate) fn of(&self, instance: &Instance) -> Element {
        let mut domain = self.0.clone();
        for own in ["name", "uuid"] {
            domain.remove(own);
        }
        domain.children.insert(0, Node::Element(Element::new("name").saying(instance.domain_name())));
        if let Some(bytes) = instance.memory {
            for of_base in ["memory", "currentMemory"] {
                domain.remove(of_base);
            }
            domain.push(Element::new("memory").with("unit", "b").saying(bytes.to_string()));
        }
        if let Some(cores) = instance.cores {
            domain.remove("vcpu");
            domain.push(Element::new("vcpu").saying(cores.to_string()));
            if domain.child("cpu").is_some() {
                // It would have to come to the same number.
                domain.child_mut("cpu").remove("topology");
            }
        }
        let metadata = domain.child_mut("metadata");
        metadata.children.retain(|child| !matches!(child, Node::Element(element) if is_ours(element)));
        metadata.push(
            // Declared here: libvirt drops a namespace that is declared on the root.
            Element::new("netloom:instance")
                .with("xmlns:netloom", METADATA_NAMESPACE)
                .with("version", crate::read::VERSION)
                .with("uid", instance.uid.as_str())
                .with("namespace", instance.namespace.as_str())
                .with("name", instance.name.as_str()),
        );
        domain
    }
}
