//! Which options a bond has in which mode.
//!
//! The kernel refuses an option that the mode does not have, even at its default, and goes on to
//! report a value for it that nobody can change. So such an option is neither read, wanted nor sent.

use crate::{Attr, Attrs};

// Sets of modes, one bit each.
const ROUND_ROBIN: u8 = 1;
const ACTIVE_BACKUP: u8 = 1 << 1;
const LACP: u8 = 1 << 4;
const TLB: u8 = 1 << 5;
const ALB: u8 = 1 << 6;
const ALL: u8 = 0x7f;

/// The modes in which the kernel lets an option be set.
fn modes(attr: Attr) -> u8 {
    match attr {
        Attr::BondPacketsPerSlave => ROUND_ROBIN,
        Attr::BondLacpRate
        | Attr::BondLacpActive
        | Attr::BondAdActorSysPrio
        | Attr::BondAdActorSystem
        | Attr::BondAdUserPortKey => LACP,
        Attr::BondArpInterval | Attr::BondArpValidate | Attr::BondArpMissedMax => ALL & !(LACP | TLB | ALB),
        Attr::BondPrimary | Attr::BondPortPriority => ACTIVE_BACKUP | TLB | ALB,
        Attr::BondTlbDynamicLb => TLB | ALB,
        _ => ALL,
    }
}

impl Attr {
    /// Whether a bond in this mode has the option; every other property is there in every mode.
    pub fn in_bond_mode(self, mode: u64) -> bool {
        mode < 7 && modes(self) & (1 << mode) != 0
    }
}

impl Attrs {
    /// The mode of a bond.
    pub fn bond_mode(&self) -> u64 {
        self.int(Attr::BondMode).unwrap_or_default()
    }

    /// Takes out the options that a bond in its mode does not have.
    pub fn keep_bond_mode(&mut self) {
        let mode = self.bond_mode();
        let gone: Vec<Attr> = self.iter().map(|(attr, _)| attr).filter(|attr| !attr.in_bond_mode(mode)).collect();
        for attr in gone {
            self.remove(attr);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    #[test]
    fn options_of_another_mode_are_not_kept() {
        let mut attrs = Attrs::new();
        attrs.set(Attr::BondMode, Value::Int(4));
        attrs.set(Attr::BondLacpRate, Value::Int(1));
        attrs.set(Attr::BondArpInterval, Value::Int(100));
        attrs.keep_bond_mode();
        assert_eq!(attrs.int(Attr::BondLacpRate), Some(1));
        assert_eq!(attrs.int(Attr::BondArpInterval), Some(0));
    }
}
