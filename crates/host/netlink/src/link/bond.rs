//! What a bond's mode and monitors make of its other options.
//!
//! The kernel applies the options of one message in an order of its own, the mode first. It refuses
//! an option that the mode does not have, even at its default, and refuses delays while `miimon` is
//! 0. So an option is read only where it can be set, and is sent only where it is taken.

use netloom_model::{Attr, Attrs, Value};

/// Splits what was given into the messages that carry it, in order.
pub(crate) fn in_order(given: &Attrs) -> Vec<Attrs> {
    let mode = match given.given(Attr::BondMode) {
        Some(Value::Int(mode)) => Some(*mode),
        _ => None,
    };
    let zero = |attr| given.given(attr) == Some(&Value::Int(0));
    let mut delays = Attrs::new();
    let mut rest = Attrs::new();
    for (attr, value) in given.iter() {
        let is_default = *value == Value::Unset || attr.default_value().as_ref() == Some(value);
        if is_default && mode.is_some_and(|mode| !attr.in_bond_mode(mode)) {
            continue;
        }
        let is_delay = matches!(attr, Attr::BondUpdelay | Attr::BondDowndelay);
        if is_delay && zero(attr) && zero(Attr::BondMiimon) {
            delays.require(attr, value.clone());
        } else {
            rest.require(attr, value.clone());
        }
    }
    [delays, rest].into_iter().filter(|attrs| !attrs.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_go_before_the_monitor_that_they_need_is_stopped() {
        let given: Attrs = [
            (Attr::BondMiimon, Value::Int(0)),
            (Attr::BondUpdelay, Value::Int(0)),
            (Attr::BondArpInterval, Value::Int(200)),
        ]
        .into_iter()
        .collect();
        let parts = in_order(&given);
        assert_eq!(parts.len(), 2);
        assert!(parts[0].given(Attr::BondUpdelay).is_some() && parts[0].len() == 1);
        assert!(parts[1].given(Attr::BondMiimon).is_some() && parts[1].len() == 2);
    }

    #[test]
    fn a_default_that_the_new_mode_does_not_have_is_not_sent() {
        let given: Attrs =
            [(Attr::BondMode, Value::Int(4)), (Attr::BondArpInterval, Value::Int(0))].into_iter().collect();
        assert_eq!(in_order(&given), [[(Attr::BondMode, Value::Int(4))].into_iter().collect()]);
    }
}
