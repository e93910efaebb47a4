//! The options of a bond: which go together, and what one does to another.
//!
//! Pure functions over properties; ports are the business of [`crate::controller::bond`].

use netloom_model::{Attr, Attrs, LinkKind, Section, StepError, Value};
use netloom_types::IfName;

use crate::{
    SimHost,
    errno::{Done, EACCES, ENOTEMPTY, refuse, refuse_if, refuse_plainly},
};

const ACTIVE_BACKUP: u64 = 1;
const LACP: u64 = 4;
const TLB: u64 = 5;
const ALB: u64 = 6;
/// What the kernel falls back to in modes that need a carrier check, in milliseconds.
const DEFAULT_MIIMON: u64 = 100;

/// Whether the property is an option of a bond, its mode included.
pub(crate) fn is_option(attr: Attr) -> bool {
    attr == Attr::BondMode || attr.section() == Section::BondOptions
}

/// Whether a bond in this mode has a port that it prefers.
pub(crate) fn uses_primary(mode: u64) -> bool {
    matches!(mode, ACTIVE_BACKUP | TLB | ALB)
}

fn uses_arp(mode: u64) -> bool {
    !matches!(mode, LACP | TLB | ALB)
}

/// The properties `now` after the options in `said` were set, in the kernel's own order.
pub(crate) fn change(now: &Attrs, said: &Attrs, up: bool, has_ports: bool) -> Result<Attrs, StepError> {
    let mut attrs = now.clone();
    let nonzero = |attr| matches!(said.said(attr), Some(Value::Int(value)) if *value != 0);
    if nonzero(Attr::BondMiimon) && nonzero(Attr::BondArpInterval) {
        return refuse(StepError::EINVAL, "ARP monitoring cannot be used with MII monitoring");
    }
    for attr in ordered(said) {
        let Some(value) = said.said(attr) else { continue };
        check(attr, &attrs, up, has_ports)?;
        set(&mut attrs, attr, value)?;
    }
    Ok(attrs)
}

/// Mode and monitors come first, because the others depend on them.
fn ordered(said: &Attrs) -> Vec<Attr> {
    const FIRST: [Attr; 5] =
        [Attr::BondMode, Attr::BondMiimon, Attr::BondUpdelay, Attr::BondDowndelay, Attr::BondArpInterval];
    let rest = said.iter().map(|(attr, _)| attr).filter(|attr| is_option(*attr) && !FIRST.contains(attr));
    FIRST.into_iter().chain(rest).collect()
}

fn check(attr: Attr, attrs: &Attrs, up: bool, has_ports: bool) -> Done {
    let mode = attrs.int(Attr::BondMode).unwrap_or(0);
    let fits = match attr {
        Attr::BondArpInterval | Attr::BondArpValidate | Attr::BondArpMissedMax => uses_arp(mode),
        Attr::BondLacpActive
        | Attr::BondLacpRate
        | Attr::BondAdActorSysPrio
        | Attr::BondAdActorSystem
        | Attr::BondAdUserPortKey => mode == LACP,
        Attr::BondPrimary => uses_primary(mode),
        Attr::BondPacketsPerSlave => mode == 0,
        Attr::BondTlbDynamicLb => matches!(mode, TLB | ALB),
        _ => true,
    };
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
            if miimon == 0 {
                return refuse_plainly(StepError::EPERM);
            }
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
    pub(crate) fn set_bond_options(&mut self, name: IfName, said: &Attrs) -> Done {
        let link = self.link(name)?;
        let has_ports = self.index.ports.of(&name).next().is_some();
        let before = link.attrs.said(Attr::BondPrimary).cloned();
        let mut attrs = change(&link.attrs, said, link.up, has_ports)?;
        if let Some(primary) = said.said(Attr::BondPrimary) {
            attrs.remove(Attr::BondPrimary);
            match primary {
                Value::Link(port) => {
                    self.hidden.primary.insert(name, *port);
                    let is_port = self.find(*port).is_some_and(|link| link.controller == Some(name));
                    if is_port {
                        attrs.set(Attr::BondPrimary, primary.clone());
                    }
                }
                _ => {
                    self.hidden.primary.remove(&name);
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
