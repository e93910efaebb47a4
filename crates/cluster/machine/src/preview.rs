//! What a change of a machine would do, for people who ask before they make it; and which NIC a tap of a node is.

use netloom_domain::DeviceNames;
use serde_json::Value;

use crate::{
    json::{list, named, text},
    sync,
};

/// What happens to one NIC while the machine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Live {
    /// It is plugged in, with a link or without.
    PluggedIn {
        /// Whether it has a link.
        up: bool,
    },
    /// It is unplugged.
    Unplugged,
    /// It gets its link.
    Up,
    /// It loses its link.
    Down,
}

/// What a change would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preview {
    /// What reaches the running machine, by NIC.
    pub live: Vec<(String, Live)>,
    /// What waits until the machine is started again, by field or interface.
    pub restart: Vec<String>,
}

/// What a machine would do to its instance as that is now.
pub fn preview(machine: &Value, instance: &Value) -> Preview {
    let restart = sync::needs_restart(machine, instance);
    let Some(patch) = sync::to_instance(machine, instance) else { return Preview { live: Vec::new(), restart } };
    let has = list(instance, "/spec/domain/devices/interfaces");
    let place = "/spec/domain/devices/interfaces";
    let added =
        list(&patch, "").iter().find(|operation| text(operation, "/op") == "add" && text(operation, "/path") == place);
    let wanted = added.map(|operation| list(operation, "/value")).unwrap_or_default();
    let live = wanted.iter().filter_map(|nic| {
        let name = text(nic, "/name");
        let live = change(named(has, name).map(|known| text(known, "/state")), text(nic, "/state"))?;
        Some((name.to_owned(), live))
    });
    Preview { live: live.collect(), restart }
}

/// What a state comes to for a NIC that has another one, or is not there; nothing where both are the same.
fn change(before: Option<&str>, after: &str) -> Option<Live> {
    let is_up = |state: &str| state != "down";
    match (before, after) {
        (Some("absent"), _) => None,
        (Some(_), "absent") => Some(Live::Unplugged),
        (None, state) => Some(Live::PluggedIn { up: is_up(state) }),
        (Some(before), after) if is_up(before) == is_up(after) => None,
        (Some(_), after) => Some(if is_up(after) { Live::Up } else { Live::Down }),
    }
}

/// The instance and the NIC whose tap on a node is called like this.
pub fn of_tap<'a>(tap: &str, instances: impl IntoIterator<Item = &'a Value>) -> Option<(&'a Value, &'a str)> {
    instances.into_iter().find_map(|instance| {
        let (namespace, name) = (text(instance, "/metadata/namespace"), text(instance, "/metadata/name"));
        let nics = list(instance, "/spec/domain/devices/interfaces").iter().map(|nic| text(nic, "/name"));
        let mut found = nics.filter(|nic| DeviceNames::of(namespace, name, nic).tap == tap);
        found.next().map(|nic| (instance, nic))
    })
}
