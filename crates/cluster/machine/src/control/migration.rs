//! Instances that move: begun by a Migration object, brought to an end whether that is still there or not.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Deed, Key, Kind, Turn, with_status};
use crate::{
    json::{is_going, is_true, key, list, text},
    status::{has_ended, put},
};

impl Turn<'_> {
    pub(super) fn migration(&mut self, migration: &Value, instances: &BTreeMap<Key, &Value>) {
        let (namespace, uid) = (text(migration, "/metadata/namespace"), text(migration, "/metadata/uid"));
        let phase = text(migration, "/status/phase");
        if ["Succeeded", "Failed"].contains(&phase) || is_going(migration) {
            return;
        }
        let name = text(migration, "/spec/vmiName");
        let found = instances.get(&(namespace.to_owned(), name.to_owned())).copied().filter(|found| !is_going(found));
        let Some(instance) = found else {
            return self.migration_ends(migration, "Failed", &format!("there is no instance {name:?} to move"));
        };
        let state = instance.pointer("/status/migrationState");
        let current = state.map(|state| text(state, "/migrationUid")).unwrap_or_default();
        let is_over = state.is_none_or(|state| is_true(state, "/completed") || is_true(state, "/failed"));
        if current == uid {
            return self.under_way(migration, instance);
        }
        if text(instance, "/status/phase") != "Running" {
            return self.migration_ends(migration, "Failed", &format!("instance {name:?} does not run"));
        }
        // One that is over is brought to its end first.
        if !is_over || arrived(instance).is_some() || self.taken.contains(&key(instance)) {
            return;
        }
        let source = text(instance, "/status/nodeName");
        let target = self.choose(instance, |node, libvirt| node != source && libvirt.migrate_in.is_some());
        let Some(target) = target else {
            let why =
                "no other node has the labels that the instance asks for and takes migrations (agent --migrate-in)";
            return self.migration_ends(migration, "Failed", why);
        };
        *self.load.entry(target.clone()).or_default() += 1;
        let libvirt = self.scene.nodes.get(&target).and_then(|node| node.libvirt.clone()).unwrap_or_default();
        let mut begun = json!({
            "migrationUid": uid, "sourceNode": source, "targetNode": target, "targetUri": libvirt.migrate_in,
            "startTimestamp": self.scene.now, "completed": null, "failed": null, "failureReason": null,
            "endTimestamp": null, "linksRefreshed": null, "targetDataUri": null,
        });
        if let Some(data) = libvirt.migrate_data {
            begun["targetDataUri"] = data.into();
        }
        let patch = json!({
            "metadata": {"resourceVersion": text(instance, "/metadata/resourceVersion")},
            "status": {"migrationState": begun},
        });
        self.ask_instance(instance, Deed::Merge(patch));
        let status = json!({"phase": "Running"});
        self.ask(Kind::Migration, key(migration), Deed::Status(with_status(migration, Kind::Migration, &status)));
    }

    /// One that is under way: what the agent of the source has reported is brought to an end.
    fn under_way(&mut self, migration: &Value, instance: &Value) {
        let (target, node) = (text(instance, "/status/migrationState/targetNode"), text(instance, "/status/nodeName"));
        if is_true(instance, "/status/migrationState/completed") {
            if node == target {
                self.migration_ends(migration, "Succeeded", "");
            }
        } else if is_true(instance, "/status/migrationState/failed") {
            let why = text(instance, "/status/migrationState/failureReason").to_owned();
            self.migration_ends(migration, "Failed", &why);
        } else if has_ended(instance) {
            self.migration_ends(migration, "Failed", "the instance ended meanwhile");
        }
    }

    fn migration_ends(&mut self, migration: &Value, phase: &str, why: &str) {
        let mut status = migration.get("status").cloned().filter(Value::is_object).unwrap_or_else(|| json!({}));
        status["phase"] = phase.into();
        if !why.is_empty() {
            let mut conditions = list(migration, "/status/conditions").to_vec();
            put(&mut conditions, "Failed", "True", "MigrationFailed", why, &self.scene.now);
            status["conditions"] = conditions.into();
        }
        self.ask(Kind::Migration, key(migration), Deed::Status(with_status(migration, Kind::Migration, &status)));
    }
}

/// The node that an instance has got to although it is said to be at another one.
pub(super) fn arrived(instance: &Value) -> Option<&str> {
    let state = instance.pointer("/status/migrationState")?;
    let is_over = is_true(state, "/completed") && !is_true(state, "/failed");
    let (source, target) = (text(state, "/sourceNode"), text(state, "/targetNode"));
    (is_over && !target.is_empty() && text(instance, "/status/nodeName") == source).then_some(target)
}

/// The node that an instance is on its way to.
pub(super) fn leads_to(instance: &Value) -> Option<&str> {
    let state = instance.pointer("/status/migrationState")?;
    let is_over = is_true(state, "/completed") || is_true(state, "/failed");
    Some(text(state, "/targetNode")).filter(|target| !is_over && !target.is_empty())
}
