//! What a machine must keep.

use netloom_api::machine::VirtualMachine;
use netloom_machine::rules::run_strategy;

use super::{BY_ATTACHMENT, admit_spec, attachments};
use crate::{Admitted, Findings, Index, Operation, Write};

impl Admitted for VirtualMachine {
    const INDEXES: &'static [Index] =
        &[Index { name: BY_ATTACHMENT, keys: |machine| attachments(machine, "spec.template.spec.networks") }];

    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let Some(new) = &write.new else { return };
        // What is stored and not changed does not keep anybody from writing the rest, such as annotations.
        if write.review.operation == Operation::Update && !write.changes_spec() {
            return;
        }
        let spec = &new.spec;
        if let Some(why) = run_strategy(spec.run_strategy.as_deref()) {
            findings.invalid("spec.runStrategy", spec.run_strategy.as_deref().unwrap_or_default(), why);
        }
        if spec.run_strategy.is_some() && spec.running.is_some() {
            findings.forbidden("spec.running", "says the same as spec.runStrategy; leave one of them");
        }
        admit_spec(&spec.template.spec, "spec.template.spec", findings);
    }
}
