//! How one value is written into an attribute and read back.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netloom_model::{StepError, Value};
use netloom_types::IfName;

use crate::wire::{Attribute, Msg};

/// Finds the kernel's number of a link by its name.
pub type Indexes<'a> = &'a dyn Fn(IfName) -> Option<u32>;

/// The wire form of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A number of 8 bits.
    U8,
    /// A number of 16 bits.
    U16,
    /// A number of 32 bits.
    U32,
    /// A number of 64 bits.
    U64,
    /// A number of 16 bits in network order.
    Be16,
    /// Yes or no in 8 bits.
    Bool8,
    /// Yes or no in 32 bits.
    Bool32,
    /// Seconds in the model, hundredths of a second in 32 bits on the wire.
    Seconds32,
    /// A set of bits; those outside the mask are the kernel's own.
    Bits32(u32),
    /// A hardware address.
    Mac,
    /// An internet address; all zeros for none.
    Ip,
    /// The index of another link; 0 for none.
    Link,
}

impl Form {
    /// The value in an attribute; `None` when there is none or it is too short. References to
    /// links are left to the caller: an index is no value of the model.
    pub(crate) fn read(self, from: &Attribute<'_>) -> Option<Value> {
        Some(match self {
            Self::U8 => Value::Int(from.u8()?.into()),
            Self::U16 => Value::Int(from.u16()?.into()),
            Self::U32 => Value::Int(from.u32()?.into()),
            Self::U64 => Value::Int(from.u64()?),
            Self::Be16 => Value::Int(from.be16()?.into()),
            Self::Bool8 => Value::Bool(from.u8()? != 0),
            Self::Bool32 => Value::Bool(from.u32()? != 0),
            Self::Seconds32 => Value::Int(u64::from(from.u32()?) / 100),
            Self::Bits32(mask) => Value::Int((from.u32()? & mask).into()),
            Self::Mac => Value::Mac(from.mac()?),
            Self::Ip => Value::Ip(from.ip().filter(|ip| !ip.is_unspecified())?),
            Self::Link => return None,
        })
    }

    /// Writes a value. `Unset` is written as the kernel's way to say so; `v6` tells which zero
    /// address that is.
    pub(crate) fn write(
        self,
        msg: &mut Msg,
        id: u16,
        value: &Value,
        v6: bool,
        indexes: Indexes<'_>,
    ) -> Result<(), StepError> {
        match (self, value) {
            (Self::Link, Value::Link(name)) => {
                msg.attr_u32(id, index(*name, indexes)?);
            }
            (Self::Link, Value::Unset) => {
                msg.attr_u32(id, 0);
            }
            (Self::Ip, Value::Ip(ip)) => {
                if ip.is_ipv6() != v6 {
                    return Err(StepError::with(StepError::EINVAL, "an address of the wrong family for this link"));
                }
                msg.attr_ip(id, *ip);
            }
            (Self::Ip, Value::Unset) => {
                msg.attr_ip(id, any(v6));
            }
            (Self::Mac, Value::Mac(mac)) => {
                msg.attr_mac(id, *mac);
            }
            (Self::Bool8, Value::Bool(on)) => {
                msg.attr_u8(id, (*on).into());
            }
            (Self::Bool32, Value::Bool(on)) => {
                msg.attr_u32(id, (*on).into());
            }
            (_, Value::Int(number)) => self.write_number(msg, id, *number)?,
            _ => return Err(StepError::with(StepError::EINVAL, "a value of the wrong kind for its attribute")),
        }
        Ok(())
    }

    fn write_number(self, msg: &mut Msg, id: u16, number: u64) -> Result<(), StepError> {
        match self {
            Self::U8 => msg.attr_u8(id, narrow(number)?),
            Self::U16 => msg.attr_u16(id, narrow(number)?),
            Self::U32 | Self::Bits32(_) => msg.attr_u32(id, narrow(number)?),
            Self::U64 => msg.attr_u64(id, number),
            Self::Be16 => msg.attr_be16(id, narrow(number)?),
            Self::Seconds32 => msg.attr_u32(id, narrow(number.saturating_mul(100))?),
            Self::Bool8 | Self::Bool32 | Self::Mac | Self::Ip | Self::Link => {
                return Err(StepError::with(StepError::EINVAL, "a number where none belongs"));
            }
        };
        Ok(())
    }
}

/// The index of a link, or the error that says that there is none.
pub(crate) fn index(name: IfName, indexes: Indexes<'_>) -> Result<u32, StepError> {
    indexes(name).ok_or_else(|| StepError::with(StepError::ENODEV, &format!("link {name} does not exist")))
}

/// The address that means none.
pub(crate) fn any(v6: bool) -> IpAddr {
    if v6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() }
}

/// A number in fewer bits; the kernel's own error when it does not fit.
pub(crate) fn narrow<T: TryFrom<u64>>(number: u64) -> Result<T, StepError> {
    T::try_from(number).map_err(|_| StepError::with(StepError::ERANGE, "the number is too large for its attribute"))
}
