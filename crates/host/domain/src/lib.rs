//! Domains of libvirt as values.
//!
//! ```text
//! Instance + Base --write--> text --libvirt--> text --read--> Domain
//!                                                               |
//! Instance --------------------------------------steps----------'--> Step: attach, detach, set a link
//! ```
//!
//! The crate is pure: who talks to libvirt carries the steps out. It knows nothing of objects of a cluster either: an
//! [`Instance`] has what a domain needs of one.
//!
//! What holds:
//!
//! - A domain is ours by its metadata alone; one without them, or of a version that is not known here, is [`Owner::Other`].
//! - A NIC is found again by its alias, `ua-` and its name.
//! - A link is changed by the element that libvirt gave, in which nothing else differs: libvirt compares all of it.
//! - No text of an instance or of libvirt makes the reader or the writer panic, and none gets out of its place in the XML.

mod base;
mod instance;
mod names;
mod read;
mod steps;
mod write;
pub mod xml;

pub use base::{Base, BaseError};
pub use instance::{Attachment, Instance, LinkState, Nic, PciAddress};
pub use names::{DeviceNames, domain_name};
pub use read::{Domain, Interface, Owner, ReadError};
pub use steps::{Step, steps};
pub use write::{domain, with_links};
