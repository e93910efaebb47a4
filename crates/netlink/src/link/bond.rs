//! What a bond's mode and monitors make of its other options.
//!
//! The kernel applies the options of one message in an order of its own, the mode first. It refuses
//! an option that the mode does not have, even at its default, and refuses delays while `miimon` is
//! 0. So an option is read only where it can be set, and is sent only where it is taken.

use netloom_model::{Attr, Attrs, Value};

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

/// Whether a bond in this mode has the option.
pub(crate) fn has(mode: u64, attr: Attr) -> bool {
    mode < 7 && modes(attr) & (1 << mode) != 0
}

/// The mode of a bond.
pub(crate) fn mode(attrs: &Attrs) -> u64 {
    attrs.int(Attr::BondMode).unwrap_or_default()
}

/// Takes out what a bond in its mode does not have.
pub(crate) fn keep_meant(attrs: &mut Attrs) {
    let mode = mode(attrs);
    let gone: Vec<Attr> = attrs.iter().map(|(attr, _)| attr).filter(|attr| !has(mode, *attr)).collect();
    for attr in gone {
        attrs.remove(attr);
    }
}

/// Splits what was said into the messages that carry it, in order.
pub(crate) fn in_order(said: &Attrs) -> Vec<Attrs> {
    let mode = match said.said(Attr::BondMode) {
        Some(Value::Int(mode)) => Some(*mode),
        _ => None,
    };
    let zero = |attr| said.said(attr) == Some(&Value::Int(0));
    let mut delays = Attrs::new();
    let mut rest = Attrs::new();
    for (attr, value) in said.iter() {
        let is_default = *value == Value::Unset || attr.default_value().as_ref() == Some(value);
        if is_default && mode.is_some_and(|mode| !has(mode, attr)) {
            continue;
        }
        let is_delay = matches!(attr, Attr::BondUpdelay | Attr::BondDowndelay);
        if is_delay && zero(attr) && zero(Attr::BondMiimon) {
            delays.wish(attr, value.clone());
        } else {
            rest.wish(attr, value.clone());
        }
    }
    [delays, rest].into_iter().filter(|attrs| !attrs.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_another_mode_are_not_kept() {
        let mut attrs = Attrs::new();
        attrs.set(Attr::BondMode, Value::Int(1));
        attrs.set(Attr::BondLacpRate, Value::Int(1));
        attrs.set(Attr::BondMiimon, Value::Int(100));
        keep_meant(&mut attrs);
        assert_eq!(attrs.said(Attr::BondLacpRate), None);
        assert_eq!(attrs.int(Attr::BondMiimon), Some(100));
    }

    #[test]
    fn delays_go_before_the_monitor_that_they_need_is_stopped() {
        let said: Attrs = [
            (Attr::BondMiimon, Value::Int(0)),
            (Attr::BondUpdelay, Value::Int(0)),
            (Attr::BondArpInterval, Value::Int(200)),
        ]
        .into_iter()
        .collect();
        let parts = in_order(&said);
        assert_eq!(parts.len(), 2);
        assert!(parts[0].said(Attr::BondUpdelay).is_some() && parts[0].len() == 1);
        assert!(parts[1].said(Attr::BondMiimon).is_some() && parts[1].len() == 2);
    }

    #[test]
    fn a_default_that_the_new_mode_does_not_have_is_not_sent() {
        let said: Attrs =
            [(Attr::BondMode, Value::Int(4)), (Attr::BondArpInterval, Value::Int(0))].into_iter().collect();
        assert_eq!(in_order(&said), [[(Attr::BondMode, Value::Int(4))].into_iter().collect()]);
    }
}
