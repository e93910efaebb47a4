//! Who a client is to servers: its identifier and its name.
//!
//! All links on one bridge have the same hardware address, so it does not tell them apart. The
//! identifier follows RFC 4361: a part that is the node's and a part that is the link's on it. Both come
//! from what does not change in the life of a network on a node, so that a server gives the same address
//! again after the link was recreated.

use std::{fmt, str::FromStr};

use netloom_types::VlanId;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// An identifier made of a link's and a node's part.
const BY_NODE_AND_LINK: u8 = 255;
/// A node's part that is a UUID (RFC 6355).
const UUID: u16 = 4;
/// What a name of the domain name system has at most.
const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;
/// Keeps what is reported to servers from being used to find out the number that it was made of.
const PURPOSE: &[u8] = b"netloom dhcp client";

/// Who a client is to servers.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ClientId([u8; ClientId::LENGTH]);

impl ClientId {
    const LENGTH: usize = 1 + 4 + 2 + 16;

    /// The identifier of a network's link on a node.
    ///
    /// `machine` is whatever tells this node from all others for good, such as its machine id.
    pub fn new(machine: &str, network: &str, vlan: Option<VlanId>) -> Self {
        let node = Sha256::new().chain_update(PURPOSE).chain_update(machine).finalize();
        let vlan = vlan.map(VlanId::get).unwrap_or_default().to_be_bytes();
        let link = Sha256::new().chain_update(PURPOSE).chain_update(vlan).chain_update(network).finalize();
        let mut id = [0; Self::LENGTH];
        id[0] = BY_NODE_AND_LINK;
        id[1..5].copy_from_slice(&link[..4]);
        id[5..7].copy_from_slice(&UUID.to_be_bytes());
        id[7..].copy_from_slice(&node[..16]);
        // A UUID of the kind that is made as its maker likes.
        id[7 + 6] = id[7 + 6] & 0x0f | 0x80;
        id[7 + 8] = id[7 + 8] & 0x3f | 0x80;
        Self(id)
    }

    /// The bytes of the option.
    pub const fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<ClientId> for String {
    fn from(id: ClientId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for ClientId {
    type Error = InvalidIdentity;

    fn try_from(text: String) -> Result<Self, InvalidIdentity> {
        let wrong = || InvalidIdentity::ClientId(text.clone());
        if text.len() != 2 * Self::LENGTH || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let mut id = [0; Self::LENGTH];
        for (at, byte) in id.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(|_| wrong())?;
        }
        Ok(Self(id))
    }
}

/// A name that a client may tell servers: letters, digits and hyphens between dots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostName(String);

impl HostName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for HostName {
    type Err = InvalidIdentity;

    fn from_str(text: &str) -> Result<Self, InvalidIdentity> {
        if is_a_name(text) { Ok(Self(text.to_owned())) } else { Err(InvalidIdentity::HostName(text.to_owned())) }
    }
}

/// Why a text does not say who a client is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidIdentity {
    /// Not an identifier of a client.
    #[error("{0:?} is no client identifier: 46 hexadecimal digits are expected")]
    ClientId(String),
    /// Not a name of a host.
    #[error("{0:?} is no host name: letters, digits and hyphens between dots, at most 253 of them")]
    HostName(String),
}

impl InvalidIdentity {
    /// The stable name of this failure.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::ClientId(_) => "InvalidClientId",
            Self::HostName(_) => "InvalidHostName",
        }
    }
}

/// Whether a text is a name of a host or a domain.
pub(crate) fn is_a_name(text: &str) -> bool {
    let label = |label: &str| {
        let inner = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        (1..=LONGEST_LABEL).contains(&label.len()) && inner && !label.starts_with('-') && !label.ends_with('-')
    };
    text.len() <= LONGEST_NAME && text.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_network_of_each_node_has_an_identifier_of_its_own_for_good() {
        let id = |machine: &str, network: &str, vlan: u16| ClientId::new(machine, network, VlanId::try_from(vlan).ok());
        let one = id("a", "mgmt", 100);
        assert_eq!(one.to_string(), id("a", "mgmt", 100).to_string());
        assert_eq!((one.bytes()[0], &one.bytes()[5..7], one.bytes().len()), (255, &[0, 4][..], 23));
        assert_eq!((one.bytes()[13] >> 4, one.bytes()[15] >> 6), (8, 2), "the bits of a UUID");
        for other in [id("a", "mgmt", 101), id("a", "cn2", 100), id("a", "mgmt", 0)] {
            assert_eq!(one.bytes()[5..], other.bytes()[5..], "the same node");
            assert_ne!(one.bytes()[1..5], other.bytes()[1..5], "another link");
        }
        let node = id("b", "mgmt", 100);
        assert_eq!(one.bytes()[..5], node.bytes()[..5]);
        assert_ne!(one.bytes()[5..], node.bytes()[5..]);
    }

    #[test]
    fn identifiers_are_read_back() {
        let id = ClientId::new("a", "mgmt", None);
        assert_eq!(ClientId::try_from(id.to_string()), Ok(id));
        for bad in ["", "ff", &"é".repeat(23), &"+f".repeat(23)] {
            let refused = ClientId::try_from(bad.to_owned()).unwrap_err();
            assert_eq!(refused.reason(), "InvalidClientId");
        }
    }

    #[test]
    fn names_have_only_what_names_have() {
        for good in ["node-1", "a.b.example", "7", &"a".repeat(63)] {
            assert_eq!(good.parse::<HostName>().unwrap().as_str(), good);
        }
        for bad in ["", "a b", "a;b", "-a", "a-", "a..b", "a.", "ä", "a_b", "a\n", &"a".repeat(64), &"a.".repeat(127)]
        {
            assert_eq!(bad.parse::<HostName>().unwrap_err().reason(), "InvalidHostName", "{bad}");
        }
    }
}
