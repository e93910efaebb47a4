//! Texts with a meaning that appear in many kinds, so that their limits are stated once.
//!
//! They hold what was written, not what it means: the schema gives the outer limits, the rules read
//! them with the functions of `rules::value`.

use std::ops::Deref;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A network, such as `198.51.100.0/24` or `2001:db8::/32`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("format" = "cidr", "maxLength" = 43))]
pub struct Cidr(pub String);

/// An address with the length of its network, such as `198.51.100.1/24`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("format" = "cidr", "maxLength" = 43))]
pub struct InterfaceAddress(pub String);

/// An IPv4 or IPv6 address, such as `198.51.100.1`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("minLength" = 2, "maxLength" = 45, "pattern" = r"^[0-9A-Fa-f:.]+$"))]
pub struct Ip(pub String);

/// A BGP community, such as `64500:999`, or a well-known one by its name, such as `no-export`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("maxLength" = 32, "pattern" = r"^([0-9]+:[0-9]+|[A-Za-z][A-Za-z-]*)$"))]
pub struct Community(pub String);

/// A time span in Go's notation, such as `90s` or `1m30s`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("maxLength" = 32, "pattern" = r"^([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$"))]
pub struct Span(pub String);

/// A BGP route target, such as `64500:10100`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("maxLength" = 21, "pattern" = r"^[0-9]+(\.[0-9]+){0,3}:[0-9]+$"))]
pub struct RouteTarget(pub String);

/// The name of an interface, as the kernel takes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("minLength" = 1, "maxLength" = 15, "pattern" = r"^[^/:\s]+$"))]
pub struct Interface(pub String);

/// The name of a VRF on the nodes: two bytes and a dash are left for names derived from it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("minLength" = 1, "maxLength" = 12, "pattern" = r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$"))]
pub struct VrfName(pub String);

/// The name of another object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("minLength" = 1, "maxLength" = 253))]
pub struct ObjectName(pub String);

/// A hardware address, such as `02:00:5e:00:00:01`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("pattern" = r"^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$"))]
pub struct Mac(pub String);

macro_rules! reads_as_text {
    ($($name:ident),*) => {$(
        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    )*};
}

reads_as_text!(Cidr, InterfaceAddress, Ip, Community, Span, RouteTarget, Interface, VrfName, ObjectName, Mac);
