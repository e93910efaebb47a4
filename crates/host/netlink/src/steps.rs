//! One step -> what it comes down to. Pure: names are looked up, nothing is sent.

use std::{cell::Cell, collections::HashSet};

use netloom_model::{Attr, Attrs, LinkKind, Step, StepError, Value};
use netloom_types::IfName;

use crate::{
    address,
    alone::Alone,
    bridge, link,
    link_map::LinkMap,
    mirror, neighbour,
    route::{self, no_link},
    rule, sysctl,
    wire::Msg,
};

/// What a step comes down to.
#[derive(Debug)]
pub(crate) enum Work<'a> {
    /// Messages that go with those of other steps; the first refusal is the step's.
    Messages(Vec<Msg>),
    /// The same, but the first message may be refused: it only makes room for the others.
    AfterFirst(Vec<Msg>),
    /// A new link, whose messages are made when its index is chosen.
    Create(NewLink<'a>),
    /// Something that runs alone.
    Alone(Alone<'a>),
}

/// A link to be made; every link that it names is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewLink<'a> {
    /// Its name.
    pub(crate) name: IfName,
    /// Its kind.
    pub(crate) kind: &'a LinkKind,
    /// Its properties.
    pub(crate) attrs: &'a Attrs,
    /// Its controller.
    pub(crate) controller: Option<IfName>,
    /// Whether it is made up.
    pub(crate) up: bool,
}

/// Whether some of the properties are the driver's.
pub(crate) fn has_driver_settings(attrs: &Attrs) -> bool {
    attrs.iter().any(|(attr, _)| attr.section().is_driver())
}

/// The names that a step may use, and what was learned about them while it was encoded.
pub(crate) struct Names<'a> {
    links: &'a LinkMap,
    new: &'a HashSet<IfName>,
    /// A name of a link that is on its way was used.
    pub(crate) waits: Cell<bool>,
    /// A name was used that no link has.
    pub(crate) unknown: Cell<bool>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(links: &'a LinkMap, new: &'a HashSet<IfName>) -> Self {
        Self { links, new, waits: Cell::new(false), unknown: Cell::new(false) }
    }

    fn find(&self, name: IfName) -> Option<u32> {
        let index = self.links.index(name);
        self.waits.set(self.waits.get() || self.new.contains(&name));
        self.unknown.set(self.unknown.get() || index.is_none());
        index
    }

    fn index(&self, name: IfName) -> Result<u32, StepError> {
        self.find(name).ok_or_else(|| no_link(name))
    }
}

/// Turns a step into work.
pub(crate) fn encode<'a>(step: &'a Step, names: &Names<'_>) -> Result<Work<'a>, StepError> {
    let one = |msg: Msg| Ok(Work::Messages(vec![msg]));
    let find = |name: IfName| names.find(name);
    match step {
        Step::CreateLink { name, kind, attrs, controller, up } => {
            // Asks for the names only; the messages are made when the indexes are known.
            for (attr, value) in attrs.iter() {
                if let (Value::Link(other), true) = (value, attr != Attr::VethPeer) {
                    names.index(*other)?;
                }
            }
            if let Some(controller) = controller {
                names.index(*controller)?;
            }
            Ok(Work::Create(NewLink { name: *name, kind, attrs, controller: *controller, up: *up }))
        }
        Step::DeleteLink { name } => one(link::delete(names.index(*name)?)),
        Step::SetUp { name, up } => one(link::set_up(names.index(*name)?, *up)),
        Step::SetController { name, controller } => {
            let controller = controller.map(|name| names.index(name)).transpose()?;
            one(link::set_controller(names.index(*name)?, controller))
        }
        Step::SetAlias { name, alias } => one(link::set_alias(names.index(*name)?, alias.as_ref())),
        Step::AddAltName { name, alt_name } => one(link::add_alt_name(names.index(*name)?, alt_name)),
        Step::RemoveAltName { name, alt_name } => one(link::remove_alt_name(names.index(*name)?, alt_name)),
        Step::AddAddress { name, address } => one(address::encode_add(address, names.index(*name)?)),
        Step::RemoveAddress { name, address } => one(address::encode_remove(address, names.index(*name)?)),
        Step::SetVlans { name, on_bridge, add, remove } => {
            Ok(Work::Messages(bridge::set_vlans(names.index(*name)?, *on_bridge, add, remove)))
        }
        Step::AddFdb { name, key, entry } => one(bridge::add_fdb(names.index(*name)?, key, entry)),
        Step::RemoveFdb { name, key, entry } => one(bridge::remove_fdb(names.index(*name)?, key, entry)),
        Step::AddNeighbour { name, neighbour } => one(neighbour::encode_add(neighbour, names.index(*name)?)),
        Step::RemoveNeighbour { name, neighbour } => one(neighbour::encode_remove(neighbour, names.index(*name)?)),
        Step::AddMirror { name, key, mirror } => {
            let (index, to) = (names.index(*name)?, names.index(mirror.to)?);
            Ok(Work::AfterFirst(mirror::add(index, *key, mirror, to)?))
        }
        Step::AddRoute(route) => one(route::encode_add(route, &find)?),
        Step::ReplaceRoute(route) => {
            let messages = route::encode_replace(route, &find)?;
            Ok(if messages.len() > 1 { Work::AfterFirst(messages) } else { Work::Messages(messages) })
        }
        Step::RemoveRoute(route) => one(route::encode_remove(route, &find)?),
        Step::AddRule(rule) => one(rule::encode_add(rule)),
        Step::RemoveRule(rule) => one(rule::encode_remove(rule)),
        Step::SetAttrs { name, kind, attrs } => {
            let index = names.index(*name)?;
            let messages = link::set(index, kind, attrs, None, &find);
            let only_link = sysctl::writes(*name, attrs).is_empty() && !has_driver_settings(attrs);
            if only_link && !link::needs_current(kind, attrs) {
                return messages.map(Work::Messages);
            }
            // Encoded all the same, so that names that are on their way were asked for.
            Ok(Work::Alone(Alone::Attrs { name: *name, index, kind, attrs }))
        }
        Step::SetFeatures { name, features } => {
            Ok(Work::Alone(Alone::Features { index: names.index(*name)?, features }))
        }
        Step::RemoveMirror { name, key, mirror } => {
            Ok(Work::Alone(Alone::RemoveMirror { index: names.index(*name)?, key: *key, mirror: *mirror }))
        }
        Step::Set(setting) => Ok(Work::Alone(Alone::Setting(setting))),
        Step::ChangeRouting(_) => {
            Err(StepError::with(StepError::EOPNOTSUPP, "no kernel keeps what routing daemons are configured with"))
        }
    }
}

#[cfg(test)]
mod tests {
    use netloom_model::{Address, Section, Setting};
    use netloom_types::Protocol;

    use super::*;
    use crate::consts::{RTM_DELLINK, RTM_NEWADDR};

    fn name(text: &str) -> IfName {
        text.parse().unwrap()
    }

    fn add_address(link: &str) -> Step {
        let address = Address::new("192.0.2.1".parse().unwrap(), 24, Protocol::NETLOOM);
        Step::AddAddress { name: name(link), address }
    }

    fn known() -> LinkMap {
        let mut links = LinkMap::default();
        links.insert(name("eth0"), 2);
        links.insert(name("new0"), 9);
        links
    }

    /// The kinds of the messages, or `None` for other work; whether it waits; whether a name is unknown.
    fn look(step: &Step) -> (Option<Vec<u16>>, bool, bool) {
        let (links, new) = (known(), HashSet::from([name("new0")]));
        let names = Names::new(&links, &new);
        let kinds = match encode(step, &names) {
            Ok(Work::Messages(messages) | Work::AfterFirst(messages)) => Some(messages.iter().map(Msg::kind).collect()),
            Ok(Work::Create(_) | Work::Alone(_)) | Err(_) => None,
        };
        (kinds, names.waits.get(), names.unknown.get())
    }

    #[test]
    fn a_step_on_a_known_link_is_its_message() {
        assert_eq!(look(&add_address("eth0")), (Some(vec![RTM_NEWADDR]), false, false));
        assert_eq!(look(&Step::DeleteLink { name: name("eth0") }), (Some(vec![RTM_DELLINK]), false, false));
    }

    #[test]
    fn a_step_on_a_link_that_is_on_its_way_waits() {
        assert!(look(&add_address("new0")).1);
        let vlan = |base: &str, controller: Option<&str>| Step::CreateLink {
            name: name("v"),
            kind: LinkKind::Vlan,
            attrs: [(Attr::Base, Value::Link(name(base))), (Attr::VlanId, Value::Int(7))].into_iter().collect(),
            controller: controller.map(name),
            up: true,
        };
        assert!(look(&vlan("new0", None)).1);
        assert!(look(&vlan("eth0", Some("new0"))).1);
        assert!(!look(&vlan("eth0", None)).1);
    }

    #[test]
    fn a_step_on_an_unknown_link_says_so() {
        assert!(look(&add_address("nowhere")).2);
        let controller = Step::SetController { name: name("eth0"), controller: Some(name("nowhere")) };
        assert!(look(&controller).2);
    }

    #[test]
    fn properties_go_with_others_unless_a_file_is_among_them() {
        let set = |attr, value| Step::SetAttrs {
            name: name("eth0"),
            kind: LinkKind::Ethernet,
            attrs: [(attr, value)].into_iter().collect(),
        };
        assert!(look(&set(Attr::Mtu, Value::Int(1400))).0.is_some());
        let file = Attr::ALL.iter().find(|attr| attr.section() == Section::SysctlIpv4).copied().unwrap();
        assert!(look(&set(file, Value::Int(1))).0.is_none());
        assert!(look(&set(Attr::RingRx, Value::Int(256))).0.is_none());
        assert!(look(&Step::Set(Setting::BridgeIptables(false))).0.is_none());
    }
}
