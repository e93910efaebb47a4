//! What libvirt tells without being asked. It tells nothing when a link changes.

use crate::{
    client::Handle,
    frame::{Frame, Malformed, Reader},
    procedure,
};

/// The number by which each kind of event is asked for.
pub(crate) const ASKED_FOR: [u32; 4] = [
    0,  // lifecycle
    15, // device removed
    19, // device added
    22, // device removal failed
];

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The domain began, ended, or was defined otherwise; the numbers are libvirt's.
    Lifecycle {
        /// What.
        event: i32,
        /// Why.
        detail: i32,
    },
    /// A device is there.
    DeviceAdded(String),
    /// A device is gone.
    DeviceRemoved(String),
    /// The guest did not let go of a device.
    RemovalFailed(String),
}

/// Something that happened to a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The domain.
    pub domain: Handle,
    /// What happened.
    pub change: Change,
}

impl Event {
    /// Reads an event; none for one that is not known here.
    pub(crate) fn read(frame: &Frame) -> Result<Option<Self>, Malformed> {
        let mut reader = Reader::new(&frame.body);
        let with_device: fn(String) -> Change = match frame.procedure {
            procedure::DOMAIN_EVENT_CALLBACK_LIFECYCLE => {
                reader.number()?;
                let domain = Handle::read(&mut reader)?;
                let change = Change::Lifecycle { event: reader.signed()?, detail: reader.signed()? };
                return Ok(Some(Self { domain, change }));
            }
            procedure::DOMAIN_EVENT_CALLBACK_DEVICE_ADDED => Change::DeviceAdded,
            procedure::DOMAIN_EVENT_CALLBACK_DEVICE_REMOVED => Change::DeviceRemoved,
            procedure::DOMAIN_EVENT_CALLBACK_DEVICE_REMOVAL_FAILED => Change::RemovalFailed,
            _ => return Ok(None),
        };
        reader.number()?;
        let domain = Handle::read(&mut reader)?;
        Ok(Some(Self { domain, change: with_device(reader.text()?) }))
    }
}
