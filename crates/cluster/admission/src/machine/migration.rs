//! What a migration must keep.

use netloom_api::machine::VirtualMachineInstanceMigration;

use crate::{Admitted, Findings, Write};

impl Admitted for VirtualMachineInstanceMigration {
    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let Some(new) = &write.new else { return };
        if new.spec.vmi_name.is_empty() {
            findings.required("spec.vmiName", "name the instance that is to move");
        }
        if let Some(old) = write.old.as_ref().filter(|old| old.spec.vmi_name != new.spec.vmi_name) {
            let why = format!("is {:?} for this migration; make another one", old.spec.vmi_name);
            findings.invalid("spec.vmiName", new.spec.vmi_name.as_str(), why);
        }
    }
}
