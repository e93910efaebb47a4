//! Effects on a host, one at a time, and plans made of them.

use std::{collections::BTreeMap, fmt};

use netloom_types::{AltName, IfName, VlanSet};
use serde::{Deserialize, Serialize};

use crate::{
    Address, Alias, Attrs, FdbEntry, FdbKey, LinkKind, Mirror, MirrorKey, Neighbour, Origin, Route, RoutingChange,
    Rule, Setting, VlanMembership,
};

/// One effect. Names, never indexes: a step must mean the same after a link was recreated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Makes a link, with its own properties, as a port, up or down, in one go.
    CreateLink {
        /// Its name.
        name: IfName,
        /// Its kind.
        kind: LinkKind,
        /// Properties of sections `Common`, `Kind`, `BridgeOptions`, `BridgeStp` and `BondOptions`.
        attrs: Attrs,
        /// The controller to be a port of.
        controller: Option<IfName>,
        /// Whether it is made up.
        up: bool,
    },
    /// Deletes a link.
    DeleteLink {
        /// Its name.
        name: IfName,
    },
    /// Changes properties in place.
    SetAttrs {
        /// The link.
        name: IfName,
        /// Its kind.
        kind: LinkKind,
        /// The new values.
        attrs: Attrs,
    },
    /// Changes the administrative state.
    SetUp {
        /// The link.
        name: IfName,
        /// The new state.
        up: bool,
    },
    /// Makes a link a port, or no port.
    SetController {
        /// The link.
        name: IfName,
        /// The new controller.
        controller: Option<IfName>,
    },
    /// Changes the alias.
    SetAlias {
        /// The link.
        name: IfName,
        /// The new alias.
        alias: Option<Alias>,
    },
    /// Gives a further name.
    AddAltName {
        /// The link.
        name: IfName,
        /// The further name.
        alt_name: AltName,
    },
    /// Takes a further name away.
    RemoveAltName {
        /// The link.
        name: IfName,
        /// The further name.
        alt_name: AltName,
    },
    /// Changes offload features.
    SetFeatures {
        /// The link.
        name: IfName,
        /// The new values.
        features: BTreeMap<Box<str>, bool>,
    },
    /// Adds an address, or changes the life times of the one that is there.
    AddAddress {
        /// The link.
        name: IfName,
        /// The address.
        address: Address,
    },
    /// Removes an address.
    RemoveAddress {
        /// The link.
        name: IfName,
        /// The address.
        address: Address,
    },
    /// Changes the VLANs of a bridge port or of the bridge itself. Removals act first.
    SetVlans {
        /// The link.
        name: IfName,
        /// Whether the link is the bridge itself.
        on_bridge: bool,
        /// VLANs that come or change their flags.
        add: VlanMembership,
        /// VLANs that go.
        remove: VlanSet,
    },
    /// Adds or replaces a forwarding entry.
    AddFdb {
        /// The link.
        name: IfName,
        /// Which entry.
        key: FdbKey,
        /// Its value.
        entry: FdbEntry,
    },
    /// Removes a forwarding entry.
    RemoveFdb {
        /// The link.
        name: IfName,
        /// Which entry.
        key: FdbKey,
        /// The value that it has.
        entry: FdbEntry,
    },
    /// Adds or replaces a permanent neighbour.
    AddNeighbour {
        /// The link.
        name: IfName,
        /// The neighbour.
        neighbour: Neighbour,
    },
    /// Removes a permanent neighbour.
    RemoveNeighbour {
        /// The link.
        name: IfName,
        /// The neighbour.
        neighbour: Neighbour,
    },
    /// Adds a mirror; the link gets a `clsact` queue when it has none.
    AddMirror {
        /// The link whose traffic it is.
        name: IfName,
        /// Which mirror.
        key: MirrorKey,
        /// Its value.
        mirror: Mirror,
    },
    /// Removes a mirror; an empty `clsact` queue goes with the last one.
    RemoveMirror {
        /// The link whose traffic it is.
        name: IfName,
        /// Which mirror.
        key: MirrorKey,
        /// The value that it has.
        mirror: Mirror,
    },
    /// Adds a route.
    AddRoute(Route),
    /// Changes the route with the same key.
    ReplaceRoute(Route),
    /// Removes a route.
    RemoveRoute(Route),
    /// Adds a rule.
    AddRule(Rule),
    /// Removes a rule.
    RemoveRule(Rule),
    /// Changes a setting of the whole host; an empty one goes.
    Set(Setting),
    /// Changes what routing daemons are configured with.
    ChangeRouting(RoutingChange),
}

impl fmt::Display for Step {
    /// One line for a person, without the leading symbol.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CreateLink { name, kind, attrs, controller, up } => {
                write!(f, "link {name} ({kind}{})", list(attrs))?;
                if let Some(controller) = controller {
                    write!(f, " port of {controller}")?;
                }
                if *up { f.write_str(" up") } else { Ok(()) }
            }
            Self::DeleteLink { name } => write!(f, "link {name}"),
            Self::SetAttrs { name, attrs, .. } => write!(f, "link {name}{}", list(attrs)),
            Self::SetUp { name, up } => write!(f, "link {name} {}", if *up { "up" } else { "down" }),
            Self::SetController { name, controller: Some(to) } => write!(f, "link {name} port of {to}"),
            Self::SetController { name, controller: None } => write!(f, "link {name} no port"),
            Self::SetAlias { name, alias: Some(alias) } => write!(f, "link {name} alias {:?}", alias.as_str()),
            Self::SetAlias { name, alias: None } => write!(f, "link {name} no alias"),
            Self::AddAltName { name, alt_name } | Self::RemoveAltName { name, alt_name } => {
                write!(f, "link {name} further name {alt_name}")
            }
            Self::SetFeatures { name, features } => {
                write!(f, "link {name}")?;
                features.iter().try_for_each(|(key, on)| write!(f, " {key} {}", if *on { "on" } else { "off" }))
            }
            Self::AddAddress { name, address } | Self::RemoveAddress { name, address } => {
                write!(f, "address {address} on {name}")
            }
            Self::SetVlans { name, add, remove, .. } => {
                write!(f, "VLANs of {name}:")?;
                for (sign, set, word) in
                    [("+", &add.tagged, "tagged"), ("+", &add.untagged, "untagged"), ("-", remove, "")]
                {
                    if !set.is_empty() {
                        write!(f, " {sign}{set} {word}")?;
                    }
                }
                add.pvid.map_or(Ok(()), |pvid| write!(f, " (untagged frames go to {pvid})"))
            }
            Self::AddFdb { name, key, .. } | Self::RemoveFdb { name, key, .. } => {
                write!(f, "forwarding entry {} on {name}", key.mac)?;
                key.vlan.map_or(Ok(()), |vlan| write!(f, " VLAN {vlan}"))?;
                key.dst.map_or(Ok(()), |dst| write!(f, " to {dst}"))
            }
            Self::AddNeighbour { name, neighbour } | Self::RemoveNeighbour { name, neighbour } => {
                write!(f, "neighbour {} at {} on {name}", neighbour.ip, neighbour.mac)
            }
            Self::AddMirror { name, key, mirror } | Self::RemoveMirror { name, key, mirror } => {
                write!(f, "{:?} {:?} {} of {name} to {}", mirror.action, key.direction, key.priority, mirror.to)
            }
            Self::AddRoute(route) | Self::ReplaceRoute(route) | Self::RemoveRoute(route) => write!(f, "route {route}"),
            Self::AddRule(rule) | Self::RemoveRule(rule) => write!(f, "rule {}", rule.key),
            Self::Set(setting) => setting.fmt(f),
            Self::ChangeRouting(change) => change.fmt(f),
        }
    }
}

fn list(attrs: &Attrs) -> String {
    attrs.iter().fold(String::new(), |text, (attr, value)| text + &format!(" {attr} {}", value.display(attr)))
}

/// A step with what takes it back.
///
/// Written down without the origin, which the ownership record has, and without an undo that is just
/// the opposite: records of large changes are half as long that way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedStep {
    /// The step.
    pub step: Step,
    /// What restores the state before it, in order. More than one where the kernel takes more away
    /// than it was asked to.
    pub undo: Vec<Step>,
    /// Who asked, when it was a desired state rather than a consequence of one.
    pub origin: Option<Origin>,
}

/// How a planned step is written down.
#[derive(Serialize)]
struct Written<'a> {
    step: &'a Step,
    #[serde(skip_serializing_if = "Option::is_none")]
    undo: Option<&'a [Step]>,
}

/// How it is read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    step: Step,
    undo: Option<Vec<Step>>,
}

impl Serialize for PlannedStep {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let undo = if is_opposite(&self.step, &self.undo) { None } else { Some(&self.undo[..]) };
        Written { step: &self.step, undo }.serialize(to)
    }
}

impl<'de> Deserialize<'de> for PlannedStep {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Read { step, undo } = Read::deserialize(from)?;
        let undo = undo.or_else(|| opposite(&step)).ok_or_else(|| serde::de::Error::missing_field("undo"))?;
        Ok(Self { step, undo, origin: None })
    }
}

/// Whether the undo is what [`opposite`] gives.
fn is_opposite(step: &Step, undo: &[Step]) -> bool {
    match (step, undo) {
        (Step::AddRoute(route), [Step::RemoveRoute(other)]) => route == other,
        (Step::AddAddress { name, address }, [Step::RemoveAddress { name: other, address: same }]) => {
            (name, address) == (other, same)
        }
        (Step::CreateLink { name, .. }, [Step::DeleteLink { name: other }]) => name == other,
        _ => false,
    }
}

/// What usually takes a step back.
fn opposite(step: &Step) -> Option<Vec<Step>> {
    match step {
        Step::AddRoute(route) => Some(vec![Step::RemoveRoute(route.clone())]),
        Step::AddAddress { name, address } => Some(vec![Step::RemoveAddress { name: *name, address: *address }]),
        Step::CreateLink { name, .. } => Some(vec![Step::DeleteLink { name: *name }]),
        _ => None,
    }
}

/// Steps in the order in which they are carried out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Plan {
    /// The steps.
    pub steps: Vec<PlannedStep>,
}

impl Plan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undo_that_is_the_opposite_is_not_written_and_comes_back() {
        let name: IfName = "eth0".parse().unwrap();
        let create = Step::CreateLink { name, kind: LinkKind::Dummy, attrs: Attrs::new(), controller: None, up: true };
        let delete = vec![Step::DeleteLink { name }];
        let down = vec![Step::SetUp { name, up: false }];
        for (undo, written) in [(delete, false), (down, true), (Vec::new(), true)] {
            let planned = PlannedStep { step: create.clone(), undo, origin: None };
            let text = serde_json::to_string(&planned).unwrap();
            assert_eq!(text.contains("undo"), written, "{text}");
            assert_eq!(serde_json::from_str::<PlannedStep>(&text).unwrap(), planned);
        }
        assert!(serde_json::from_str::<PlannedStep>(r#"{"step":{"SetUp":{"name":"eth0","up":true}}}"#).is_err());
    }
}
