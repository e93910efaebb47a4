//! What an instance must keep. Its agent writes the status of those of its own node, as `agent` says.

use netloom_api::machine::VirtualMachineInstance;

use super::{BY_ATTACHMENT, admit_spec, attachments};
use crate::{Admitted, Findings, Index, Operation, Write};

impl Admitted for VirtualMachineInstance {
    const INDEXES: &'static [Index] =
        &[Index { name: BY_ATTACHMENT, keys: |machine| attachments(machine, "spec.networks") }];

    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let Some(new) = &write.new else { return };
        match write.review.operation {
            Operation::Create => admit_spec(&new.spec.0, "spec", findings),
            // People change the machine, and the controller brings over what can be.
            Operation::Update if write.changes_spec() && !write.review.user.is_controller() => {
                findings.forbid("update of VMI object is restricted");
            }
            Operation::Update | Operation::Delete | Operation::Connect => {}
        }
    }
}
