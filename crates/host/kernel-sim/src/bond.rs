//! The options of a bond: which go together, and what one does to another.
//!
//! Pure functions over properties; ports are the business of [`crate::controller::bond`].

use netloom_model::{Attr, Attrs, LinkKind, Section, StepError, Value};
use netloom_types::IfName;

use crate::{
    SimHost,
    errno::{Done, EACCES, ENOTEMPTY, refuse, refuse_if, refuse_plainly},
};

const ALB: u64 = 6;
/// What the kernel falls back to in modes that need a carrier check, in milliseconds.
const DEFAULT_MIIMON: u64 = 100;

/// Whether the property is an option of a bond, its mode included.
pub(crate) fn is_option(attr: Attr) -> bool {
    attr == Attr::BondMode || attr.section() == Section::BondOptions
}

/// Whether a bond in this mode has a port that it prefers.
pub(crate) fn uses_primary(mode: u64) -> bool {
    Attr::BondPrimary.in_bond_mode(mode)
}

fn uses_arp(mode: u64) -> bool {
    Attr::BondArpInterval.in_bond_mode(mode)
}

/// The properties `now` after the options in `given` were set, in the kernel's own order.
pub(crate) fn change(now: &Attrs, given: &Attrs, up: bool, has_ports: bool) -> Result<Attrs, StepError> {
    let mut attrs = now.clone();
    let nonzero = |attr| matches!(given.given(attr), Some(Value::Int(value)) if *value != 0);
    if nonzero(Attr::BondMiimon) && nonzero(Attr::BondArpInterval) {
        return refuse(StepError::EINVAL, "ARP monitoring cannot be used with MII monitoring");
    }
    for attr in ordered(given) {
        let Some(value) = given.given(attr) else { continue };
        check(attr, &attrs, up, has_ports)?;
        set(&mut attrs, attr, value)?;
    }
    attrs.keep_bond_mode();
    Ok(attrs)
}

/// Mode and monitors come first, because the others depend on them.
fn ordered(given: &Attrs) -> Vec<Attr> {
    const FIRST: [Attr; 5] =
        [Attr::BondMode, Attr::BondMiimon, Attr::BondUpdelay, Attr::BondDowndelay, Attr::BondArpInterval];
    let rest = given.iter().map(|(attr, _)| attr).filter(|attr| is_option(*attr) && !FIRST.contains(attr));
    FIRST.into_iter().chain(rest).collect()
}

fn check(attr: Attr, attrs: &Attrs, up: bool, has_ports: bool) -> Done {
    let mode = attrs.int(Attr::BondMode).unwrap_or(0);
    let fits = attr.in_bond_mode(mode);
    refuse_if(!fits, EACCES, "option not supported in mode")?;
    let needs_empty = matches!(attr, Attr::BondMode | Attr::BondFailOverMac);
    refuse_if(needs_empty && has_ports, ENOTEMPTY, "unable to set option because the bond device has slaves")?;
    let needs_down = matches!(
        attr,
        Attr::BondMode
            | Attr::BondLacpActive
            | Attr::BondLacpRate
            | Attr::BondAdSelect
            | Attr::BondAdUserPortKey
            | Attr::BondTlbDynamicLb
    );
    refuse_if(needs_down && up, StepError::EBUSY, "unable to set option because the bond is up")
}

fn set(attrs: &mut Attrs, attr: Attr, value: &Value) -> Done {
    match (attr, value) {
        (Attr::BondMode, Value::Int(mode)) => set_mode(attrs, *mode),
        (Attr::BondMiimon, Value::Int(miimon)) => set_miimon(attrs, *miimon),
        (Attr::BondArpInterval, Value::Int(interval)) => {
            if *interval != 0 {
                set_miimon(attrs, 0);
            }
            attrs.set(attr, value.clone());
        }
        (Attr::BondUpdelay | Attr::BondDowndelay, Value::Int(delay)) => {
            // Kept as a number of checks.
            let miimon = attrs.int(Attr::BondMiimon).unwrap_or(0);
            // The engine clears delays before it stops the monitor that they need.
            if miimon == 0 && *delay != 0 {
                return refuse_plainly(StepError::EPERM);
            }
            let miimon = miimon.max(1);
            attrs.set(attr, Value::Int(delay / miimon * miimon));
        }
        (Attr::BondUseCarrier, Value::Bool(false)) => {
            return refuse(StepError::EINVAL, "option obsolete, use_carrier cannot be disabled");
        }
        _ => attrs.set(attr, value.clone()),
    }
    Ok(())
}

fn set_mode(attrs: &mut Attrs, mode: u64) {
    attrs.set(Attr::BondMode, Value::Int(mode));
    attrs.remove(Attr::BondArpValidate);
    if !uses_arp(mode) {
        attrs.remove(Attr::BondArpInterval);
        if attrs.int(Attr::BondMiimon).unwrap_or(0) == 0 {
            attrs.set(Attr::BondMiimon, Value::Int(DEFAULT_MIIMON));
        }
    }
    if mode == ALB {
        attrs.remove(Attr::BondTlbDynamicLb);
    }
}

/// The delays are numbers of checks, so they change with the time between checks.
fn set_miimon(attrs: &mut Attrs, miimon: u64) {
    let before = attrs.int(Attr::BondMiimon).unwrap_or(0);
    for delay in [Attr::BondUpdelay, Attr::BondDowndelay] {
        let checks = attrs.int(delay).unwrap_or(0).checked_div(before).unwrap_or(0);
        attrs.set(delay, Value::Int(checks * miimon));
    }
    attrs.set(Attr::BondMiimon, Value::Int(miimon));
    if miimon != 0 && attrs.int(Attr::BondArpInterval).unwrap_or(0) != 0 {
        attrs.remove(Attr::BondArpInterval);
        attrs.remove(Attr::BondArpValidate);
    }
}

impl SimHost {
    /// Sets options of an existing bond.
    pub(crate) fn set_bond_options(&mut self, name: IfName, given: &Attrs) -> Done {
        let link = self.link(name)?;
        let has_ports = self.index.ports.of(&name).next().is_some();
        let before = link.attrs.given(Attr::BondPrimary).cloned();
        let mut attrs = change(&link.attrs, given, link.up, has_ports)?;
        if let Some(primary) = given.given(Attr::BondPrimary) {
            attrs.remove(Attr::BondPrimary);
            match primary {
                Value::Link(port) => {
                    self.hidden_mut().primary.insert(name, *port);
                    let is_port = self.find(*port).is_some_and(|link| link.controller == Some(name));
                    if is_port {
                        attrs.set(Attr::BondPrimary, primary.clone());
                    }
                }
                _ => {
                    self.hidden_mut().primary.remove(&name);
                }
            }
        } else if let Some(before) = before {
            attrs.set(Attr::BondPrimary, before);
        }
        debug_assert_eq!(self.find(name).map(|link| &link.kind), Some(&LinkKind::Bond));
        self.edit(name).attrs = attrs;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{all, attrs, create, dummies, join, n, no, set, up, yes};

    const ACTIVE_BACKUP: u64 = 1;
    const LACP: u64 = 4;

    fn changed<const N: usize>(now: &Attrs, given: [(Attr, Value); N]) -> Result<Attrs, i32> {
        change(now, &attrs(given), false, false).map_err(|error| error.errno)
    }

    #[test]
    fn modes_that_need_a_carrier_check_get_one() {
        let attrs = changed(&Attrs::new(), [(Attr::BondMode, Value::Int(LACP))]).unwrap();
        assert_eq!(attrs.int(Attr::BondMiimon), Some(DEFAULT_MIIMON));
        let attrs = changed(&Attrs::new(), [(Attr::BondMode, Value::Int(ACTIVE_BACKUP))]).unwrap();
        assert_eq!(attrs.int(Attr::BondMiimon), Some(0));
    }

    #[test]
    fn one_monitor_switches_the_other_off() {
        let both = [(Attr::BondMiimon, Value::Int(100)), (Attr::BondArpInterval, Value::Int(100))];
        assert_eq!(changed(&Attrs::new(), both), Err(StepError::EINVAL));
        let mii = changed(&Attrs::new(), [(Attr::BondMiimon, Value::Int(100))]).unwrap();
        let arp = [(Attr::BondArpInterval, Value::Int(50)), (Attr::BondArpValidate, Value::Int(3))];
        let arp = changed(&mii, arp).unwrap();
        assert_eq!((arp.int(Attr::BondMiimon), arp.int(Attr::BondArpInterval)), (Some(0), Some(50)));
        let mii = changed(&arp, [(Attr::BondMiimon, Value::Int(100))]).unwrap();
        assert_eq!((mii.int(Attr::BondArpInterval), mii.int(Attr::BondArpValidate)), (Some(0), Some(0)));
    }

    #[test]
    fn delays_are_numbers_of_checks() {
        assert_eq!(changed(&Attrs::new(), [(Attr::BondUpdelay, Value::Int(200))]), Err(StepError::EPERM));
        let given = [(Attr::BondMiimon, Value::Int(100)), (Attr::BondUpdelay, Value::Int(250))];
        let attrs = changed(&Attrs::new(), given).unwrap();
        assert_eq!(attrs.int(Attr::BondUpdelay), Some(200));
        let attrs = changed(&attrs, [(Attr::BondMiimon, Value::Int(50))]).unwrap();
        assert_eq!(attrs.int(Attr::BondUpdelay), Some(100));
    }

    #[test]
    fn options_have_their_modes() {
        let rr = Attrs::new();
        for attr in [Attr::BondLacpRate, Attr::BondTlbDynamicLb, Attr::BondPrimary, Attr::BondAdActorSysPrio] {
            assert_eq!(check(attr, &rr, false, false).map_err(|error| error.errno), Err(EACCES), "{attr:?}");
        }
        let lacp = changed(&rr, [(Attr::BondMode, Value::Int(LACP))]).unwrap();
        assert_eq!(changed(&lacp, [(Attr::BondArpInterval, Value::Int(100))]), Err(EACCES));
        assert_eq!(changed(&lacp, [(Attr::BondPacketsPerSlave, Value::Int(2))]), Err(EACCES));
        assert_eq!(changed(&lacp, [(Attr::BondUseCarrier, Value::Bool(false))]), Err(StepError::EINVAL));
    }

    #[test]
    fn the_mode_needs_a_bond_that_is_down_and_empty() {
        let mut sim = dummies(["d0"]);
        let mode = |mode| set("b0", Attr::BondMode, Value::Int(mode));
        all(&mut sim, [create("b0", LinkKind::Bond, Attrs::new()), mode(ACTIVE_BACKUP), up("b0")]);
        assert_eq!(no(&mut sim, &mode(LACP)), StepError::EBUSY);
        yes(&mut sim, &join("d0", "b0"));
        assert_eq!(no(&mut sim, &mode(LACP)), ENOTEMPTY);
    }

    #[test]
    fn a_primary_port_counts_once_it_is_a_port() {
        let mut sim = dummies(["d0"]);
        let mode = attrs([(Attr::BondMode, Value::Int(ACTIVE_BACKUP))]);
        all(&mut sim, [create("b0", LinkKind::Bond, mode), set("b0", Attr::BondPrimary, Value::Link(n("d0")))]);
        assert_eq!(sim.link(n("b0")).unwrap().attrs.link(Attr::BondPrimary), None);
        yes(&mut sim, &join("d0", "b0"));
        assert_eq!(sim.link(n("b0")).unwrap().attrs.link(Attr::BondPrimary), Some(n("d0")));
        yes(&mut sim, &crate::testing::leave("d0"));
        assert_eq!(sim.link(n("b0")).unwrap().attrs.link(Attr::BondPrimary), None);
    }
}
