//! The numbers of the calls and events that are used. They are part of the protocol and never change.

/// The program of all of them.
pub const PROGRAM: u32 = 0x2000_8086;
/// Its only version.
pub const VERSION: u32 = 1;

/// Opens the connection to a driver.
pub const CONNECT_OPEN: u32 = 1;
/// Ends it.
pub const CONNECT_CLOSE: u32 = 2;
/// Starts a domain that is defined.
pub const DOMAIN_CREATE: u32 = 9;
/// Defines a domain, or changes its definition.
pub const DOMAIN_DEFINE_XML: u32 = 11;
/// Ends a domain at once.
pub const DOMAIN_DESTROY: u32 = 12;
/// Prints a domain.
pub const DOMAIN_GET_XML_DESC: u32 = 14;
/// Finds a domain.
pub const DOMAIN_LOOKUP_BY_NAME: u32 = 23;
/// Lets a paused domain go on.
pub const DOMAIN_RESUME: u32 = 28;
/// Takes a definition away.
pub const DOMAIN_UNDEFINE: u32 = 35;
/// Says how a client must prove who it is.
pub const AUTH_LIST: u32 = 66;
/// Plugs a device in.
pub const DOMAIN_ATTACH_DEVICE_FLAGS: u32 = 160;
/// Unplugs a device.
pub const DOMAIN_DETACH_DEVICE_FLAGS: u32 = 161;
/// Says what a domain is at, such as a migration.
pub const DOMAIN_GET_JOB_INFO: u32 = 163;
/// Changes a device.
pub const DOMAIN_UPDATE_DEVICE_FLAGS: u32 = 174;
/// Says whether a domain runs.
pub const DOMAIN_GET_STATE: u32 = 212;
/// Lists domains.
pub const CONNECT_LIST_ALL_DOMAINS: u32 = 273;
/// Brings a domain to another daemon.
pub const DOMAIN_MIGRATE_PERFORM3_PARAMS: u32 = 305;
/// Asks for events of a kind.
pub const CONNECT_DOMAIN_EVENT_CALLBACK_REGISTER_ANY: u32 = 316;
/// A domain began, ended, or was defined otherwise.
pub const DOMAIN_EVENT_CALLBACK_LIFECYCLE: u32 = 318;
/// A device is gone.
pub const DOMAIN_EVENT_CALLBACK_DEVICE_REMOVED: u32 = 333;
/// A device is there.
pub const DOMAIN_EVENT_CALLBACK_DEVICE_ADDED: u32 = 354;
/// A guest did not let go of a device.
pub const DOMAIN_EVENT_CALLBACK_DEVICE_REMOVAL_FAILED: u32 = 367;
