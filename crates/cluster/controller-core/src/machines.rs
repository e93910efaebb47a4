//! Virtual machines: what `netloom-machine` decides about them, as requests.
//!
//! They are in no revision and no rollout, so a turn asks for what they need whatever nodes are at.

use std::collections::BTreeMap;

use jiff::Timestamp;
use netloom_api::machine::{INSTANCE, MACHINE, MIGRATION};
use netloom_compile::ObjectKey;
use netloom_machine::control::{self, Ask, Deed, Libvirt, Node};
use netloom_object::{Action, ObjectRef};
use netloom_rollout::Liveness;
use serde_json::Value;

use crate::{
    front_end::{Assigned, FrontEndStatus, Scene},
    index::Index,
    kinds::Row,
    work::Work,
};

const VERSION: &str = "v1";

/// The front end.
#[derive(Debug)]
pub(crate) struct Machines;

impl FrontEndStatus for Machines {
    fn name(&self) -> &'static str {
        "machines"
    }

    fn kinds(&self) -> Vec<Row> {
        [MACHINE, INSTANCE, MIGRATION]
            .map(|kind| Row { optional: true, whole: true, ..Row::followed(kind, VERSION) })
            .into()
    }

    fn prepare(&self, Scene { now, index, .. }: Scene<'_>, work: &mut Work) {
        let all = |kind| index.marks(kind).filter_map(|(_, mark)| mark.object.as_deref()).collect::<Vec<&Value>>();
        let (machines, instances, migrations) = (all(MACHINE), all(INSTANCE), all(MIGRATION));
        if machines.is_empty() && instances.is_empty() && migrations.is_empty() {
            return;
        }
        let now_text = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let scene = control::Scene { machines, instances, migrations, nodes: nodes(now, index), now: now_text };
        work.wake_at(control::wake_at(&scene).and_then(|time| time.parse().ok()));
        for Ask { kind, namespace, name, deed } in control::decide(&scene) {
            let kind = match kind {
                control::Kind::Machine => MACHINE,
                control::Kind::Instance => INSTANCE,
                control::Kind::Migration => MIGRATION,
            };
            let target = ObjectRef { kind, key: ObjectKey::new(namespace.as_str(), name) };
            match deed {
                Deed::DeleteOrphan { machine: (name, machine), uid, resource_version } => {
                    let machine = (
                        ObjectRef { kind: MACHINE, key: ObjectKey::new(namespace, name) },
                        Action::Absent { uid: machine },
                    );
                    work.0.push(vec![machine, (target, Action::Delete { uid, resource_version })]);
                }
                Deed::Create(object) => work.single(target, Action::Create { object }),
                Deed::Patch(patch) => work.single(target, Action::PatchTested { patch }),
                Deed::Merge(patch) => work.single(target, Action::Patch { patch }),
                Deed::Status(object) => work.single(target, Action::ApplyStatus { object }),
                Deed::Delete { uid, resource_version } => {
                    work.single(target, Action::Delete { uid, resource_version });
                }
            }
        }
    }

    fn report(&self, _: Scene<'_>, _: Assigned<'_>, _: &mut Work) {}
}

/// Every node that stays. One whose agent is gone keeps what it has, and gets nothing.
fn nodes(now: Timestamp, index: &Index) -> BTreeMap<String, Node> {
    let snapshot = index.snapshot();
    let stays = snapshot.nodes.iter().filter(|(_, node)| !node.meta.deleted);
    let nodes = stays.map(|(key, node)| {
        let heard = !matches!(index.signs().liveness(now, node.name()), Liveness::Gone { .. });
        let said = snapshot.statuses.get(key).and_then(|status| status.status.as_ref()?.libvirt.as_ref());
        let libvirt = said.filter(|_| heard).map(|libvirt| Libvirt {
            migrate_in: libvirt.migrate_in.clone(),
            migrate_data: libvirt.migrate_data.clone(),
        });
        (node.name().to_owned(), Node { labels: node.labels.clone(), libvirt })
    });
    nodes.collect()
}
