//! Virtual machines, group `kubevirt.io`: a machine, its instance on a node, and an instance that moves.
//!
//! The group is that of another project, `KubeVirt`. What is read or written here is typed, in
//! [`netloom_machine::spec`]; everything else in an object is preserved at every level. No cluster gets these definitions
//! unless somebody asks for them, and one that has those of somebody else keeps them.

mod effects;
mod instance;
mod migration;
mod status;
mod virtual_machine;

use crate::GroupKind;

pub use instance::{VirtualMachineInstance, VirtualMachineInstanceStatus};
pub use migration::{
    VirtualMachineInstanceMigration, VirtualMachineInstanceMigrationSpec, VirtualMachineInstanceMigrationStatus,
};
pub use netloom_machine::spec::InstanceSpec;
pub use status::{MachineCondition, MachineInterface, MigrationState};
pub use virtual_machine::{StartFailure, Template, VirtualMachine, VirtualMachineSpec, VirtualMachineStatus};

/// The group.
pub const GROUP: &str = netloom_machine::GROUP;

/// Virtual machines, running or not.
pub const MACHINE: GroupKind<'static> = GroupKind::new(GROUP, "VirtualMachine");
/// Virtual machines that run.
pub const INSTANCE: GroupKind<'static> = GroupKind::new(GROUP, "VirtualMachineInstance");
/// Those of them that move.
pub const MIGRATION: GroupKind<'static> = GroupKind::new(GROUP, "VirtualMachineInstanceMigration");
