//! All VLANs of a bridge port in a handful of messages.

use netloom_model::{Attr, Attrs, Engine as _, LinkKind, Scope, Step, Value, VlanMembership};
use netloom_testkit::{
    runner::{Ended, Outcome},
    space::{KernelStage, Space},
};
use netloom_types::{IfName, VlanId, VlanSet};

/// A port's VLANs fit into a few messages when they are sent as ranges.
const MOST_MESSAGES: u64 = 4;

pub(crate) fn all_in_few_messages() -> Outcome {
    let space = Space::new()?;
    let mut stage = space.stage()?;
    let filtering = [(Attr::BridgeVlanFiltering, Value::Bool(true)), (Attr::BridgeDefaultPvid, Value::Int(0))];
    let all: VlanSet = (1..=4094).filter_map(|id| VlanId::try_from(id).ok()).collect();
    let add = VlanMembership { tagged: all.clone(), ..VlanMembership::default() };
    messages(&mut stage, create("br0", LinkKind::Bridge, filtering.into_iter().collect(), None))?;
    messages(&mut stage, create("d0", LinkKind::Dummy, Attrs::new(), Some(name("br0"))))?;
    let adding = messages(&mut stage, change(add, VlanSet::new()))?;
    let observed = stage.observe(Scope::default()).map_err(|error| error.to_string())?;
    let there = &observed.links.get(&name("d0")).ok_or("the port is gone")?.vlans;
    if there.tagged != all || there.pvid.is_some() {
        return Err(format!("not all VLANs are there: {there:?}"));
    }
    let removing = messages(&mut stage, change(VlanMembership::default(), all))?;
    if adding.max(removing) > MOST_MESSAGES {
        return Err(format!("{adding} messages to add them, {removing} to remove them"));
    }
    Ok(Ended::Passed(Some(format!("{adding} messages to add, {removing} to remove"))))
}

/// Carries a step out and counts the messages that it took.
fn messages(stage: &mut KernelStage, step: Step) -> Result<u64, String> {
    let before = stage.host.kernel.counters().map_err(|error| error.to_string())?.requests;
    for result in stage.execute(&[step]).map_err(|error| error.to_string())? {
        result.map_err(|error| error.to_string())?;
    }
    Ok(stage.host.kernel.counters().map_err(|error| error.to_string())?.requests - before)
}

fn change(add: VlanMembership, remove: VlanSet) -> Step {
    Step::SetVlans { name: name("d0"), on_bridge: false, add, remove }
}

fn create(link: &str, kind: LinkKind, attrs: Attrs, controller: Option<IfName>) -> Step {
    Step::CreateLink { name: name(link), kind, attrs, controller, up: true }
}

fn name(text: &str) -> IfName {
    text.parse().expect("a short name")
}
