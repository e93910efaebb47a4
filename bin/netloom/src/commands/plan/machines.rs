//! What a change would do to virtual machines: nodes are not configured for them, so they stand beside the plan.

use netloom_api::machine::{INSTANCE, MACHINE};
use netloom_machine::preview::{Live, preview};
use serde_json::{Value, json};

use crate::text::push;

/// What would happen to one machine that runs.
#[derive(Debug)]
pub(super) struct MachineChange {
    name: String,
    live: Vec<(String, &'static str)>,
    restart: Vec<String>,
}

/// The machines among `wanted` whose instances among `objects` would change, or would have to be started again.
pub(super) fn changes(objects: &[Value], wanted: &[Value]) -> Vec<MachineChange> {
    let is =
        |object: &Value, kind: &str| object["kind"] == kind && object["apiVersion"] == netloom_machine::API_VERSION;
    let machines = wanted.iter().filter(|object| is(object, MACHINE.kind));
    let found = machines.filter_map(|machine| {
        let same = |object: &&Value| {
            ["namespace", "name"].iter().all(|key| object["metadata"][key] == machine["metadata"][key])
        };
        let instance = objects.iter().filter(|object| is(object, INSTANCE.kind)).find(same)?;
        let preview = preview(machine, instance);
        let text = |key: &str| machine["metadata"][key].as_str().unwrap_or_default();
        let change = MachineChange {
            name: format!("{}/{}", text("namespace"), text("name")),
            live: preview.live.into_iter().map(|(nic, live)| (nic, words(live))).collect(),
            restart: preview.restart,
        };
        (!change.live.is_empty() || !change.restart.is_empty()).then_some(change)
    });
    found.collect()
}

fn words(live: Live) -> &'static str {
    match live {
        Live::PluggedIn { up: true } => "is plugged in, with its link up",
        Live::PluggedIn { up: false } => "is plugged in, with its link down",
        Live::Unplugged => "is unplugged",
        Live::Up => "gets its link",
        Live::Down => "loses its link",
    }
}

/// The same for people.
pub(super) fn text(changes: &[MachineChange]) -> String {
    let mut text = String::new();
    for MachineChange { name, live, restart } in changes {
        push(&mut text, format_args!("machine {name}:\n"));
        for (nic, what) in live {
            push(&mut text, format_args!("    interface {nic} {what} while it runs\n"));
        }
        for what in restart {
            push(&mut text, format_args!("    {what} waits until it is started again\n"));
        }
    }
    text
}

/// The same for programs.
pub(super) fn data(changes: &[MachineChange]) -> Value {
    let one = |MachineChange { name, live, restart }: &MachineChange| {
        let live = live.iter().map(|(nic, what)| json!({"interface": nic, "change": what}));
        json!({"name": name, "live": live.collect::<Vec<_>>(), "restart": restart})
    };
    changes.iter().map(one).collect()
}
