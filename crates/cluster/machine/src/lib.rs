//! Virtual machines as values.
//!
//! ```text
//! VirtualMachine --sync--> VirtualMachineInstance --place--> a node --lane--> domain --status--> the instance
//!        '-- rules: what admission says of either                       (Hypervisor carries out)
//! ```
//!
//! The crate is pure: objects, domains and time come in as values, patches and orders go out. It has the words of
//! `kubevirt.io/v1` as far as they are read or written here; everything else in an object is kept as it is, because
//! objects are only ever patched.

pub mod control;
pub mod domain;
pub mod hypervisor;
mod json;
pub mod lane;
pub mod preview;
pub mod rules;
pub mod spec;
pub mod status;
pub mod sync;
mod visit;

/// The group of the kinds.
pub const GROUP: &str = "kubevirt.io";
/// Their version, as objects have it.
pub const API_VERSION: &str = "kubevirt.io/v1";
/// The label that says on which node an instance is; agents select by it.
pub const NODE_LABEL: &str = "kubevirt.io/nodeName";
/// Holds an instance until its domain, or its node, is gone.
pub const FINALIZER: &str = "netloom.dev/domain";
/// Names the base of a machine's domain: a file without `.xml`.
pub const BASE_ANNOTATION: &str = "netloom.dev/base";
