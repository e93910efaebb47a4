//! What the agent asks of the API: its object, the status of it, the answer to the controller.

use std::sync::Arc;

use jiff::Timestamp;
use netloom_api::pipeline::node_network_config::host::HostConfig;
use netloom_compile::ObjectKey;
use netloom_object::{Action, ObjectRef};
use serde_json::{Value, json};

use crate::{
    Agent, CONFIG, Mode, NODE, STATE, Settings,
    agent::Work,
    attempt::Stage,
    configured,
    desired_state::is_pair,
    policy,
    settings::Drift,
    status::{self, StatusInput},
    taint,
    target::{Target, chosen},
};

impl Agent {
    /// Whether nothing can be reported yet that would not be reported otherwise in a moment.
    fn holds_back(&self, now: Timestamp) -> bool {
        // What is held is not what the object says, so there is nothing to say of that yet.
        if self.waits_for_other_object()
            || self.host_view.must
            || matches!(self.current_work, Some(Work::Keep(_) | Work::Observe))
        {
            return true;
        }
        match &self.attempt.stage {
            // Without a look at the host nothing is known of leases, and nothing will be tried before that.
            Stage::Untried if self.leasing.waits && self.host_view.blind.is_some() => false,
            Stage::Untried => self.needs_transaction(),
            Stage::Running { .. } => self.attempt.slow_at(&self.settings).is_some_and(|at| now < at),
            Stage::Reached { .. } => {
                let renewed = (self.leasing.is_stale() || self.leasing.waits).then_some(now);
                self.attempt.due(now, renewed).is_some_and(|due| due <= now)
            }
            Stage::Failed { .. } => false,
        }
    }

    /// Everything that is to be asked of the API.
    pub(crate) fn requests(&mut self, now: Timestamp) -> Vec<Vec<(ObjectRef, Action)>> {
        let mut requests = Vec::new();
        if !self.objects.is_whole() {
            return requests;
        }
        if let Some((state, raw)) = chosen(&self.objects) {
            let node = &self.settings.node;
            requests.extend(self.unsent_events.iter().map(|event| vec![event.request(now, node, raw)]));
            let key = state.meta.key.clone();
            let unmarked = policy::unmarked(&self.settings, state, raw);
            self.merge_policies();
            if let Some(patch) = unmarked.or_else(|| self.merged.1.patch.clone()) {
                requests.push(vec![(ObjectRef { kind: STATE, key }, Action::Patch { patch })]);
            }
        }
        if !self.settings.enforce {
            return requests;
        }
        let asked = match &self.target {
            Target::Nothing => self.create(),
            Target::Unmanaged { .. } => self.unmanaged_statuses(now),
            Target::Wanted(_) | Target::Unreadable { .. } => self.statuses(now),
            Target::Unknown => Vec::new(),
        };
        requests.extend(asked.into_iter().map(|request| vec![request]));
        if !self.holds_back(now) {
            // One after the other: what is not there has no status.
            requests.extend(Some(self.list_links(now)).filter(|chain| !chain.is_empty()));
        }
        requests.extend(self.conflict_statuses(now).into_iter().map(|request| vec![request]));
        requests
    }

    fn merge_policies(&mut self) {
        let changes = self.objects.changes();
        if self.settings.mode == Mode::Centralized || self.merged.0 == changes {
            return;
        }
        if let Some((state, _)) = chosen(&self.objects) {
            self.merged = (changes, policy::merge(&self.settings, &self.objects, state));
        }
    }

    /// Makes the node's network state. What it was changed for before is forgotten first, and another object
    /// of the name must have gone.
    fn create(&mut self) -> Vec<(ObjectRef, Action)> {
        let Settings { node, namespace, .. } = &self.settings;
        let key = ObjectKey::new(namespace.as_str(), node.as_str());
        if self.kept.is_some() || self.host_view.must || self.objects.raw(STATE, &key).is_some() {
            return Vec::new();
        }
        let object = json!({
            "apiVersion": "nmstate.io/v1",
            "kind": "NodeNetworkState",
            "metadata": {"namespace": namespace, "name": node},
            "spec": {"managed": true, "nodeName": node},
        });
        vec![(ObjectRef { kind: STATE, key }, Action::Create { object })]
    }

    fn unmanaged_statuses(&self, now: Timestamp) -> Vec<(ObjectRef, Action)> {
        let Some((state, raw)) = chosen(&self.objects) else { return Vec::new() };
        let reported = self.objects.report(&state.meta.key);
        let object = status::unmanaged(now, raw, state.meta.generation, reported);
        let target = ObjectRef { kind: STATE, key: state.meta.key.clone() };
        object.map(|object| (target, Action::ApplyStatus { object })).into_iter().collect()
    }

    /// What there is to say of a node that is managed.
    fn statuses(&mut self, now: Timestamp) -> Vec<(ObjectRef, Action)> {
        let Some((state, raw)) = chosen(&self.objects) else { return Vec::new() };
        if self.holds_back(now) {
            return Vec::new();
        }
        let lost = if let Target::Wanted(prepared) = &self.target { prepared.state_lost.as_slice() } else { &[] };
        let mut conflicts: Vec<String> = lost.iter().map(|lost| lost.0.clone()).collect();
        conflicts.extend(self.merged.1.conflicts.iter().cloned());
        let mut writes = Vec::new();
        let status = status::managed(&StatusInput {
            now,
            object: raw,
            generation: state.meta.generation,
            reported: self.objects.report(&state.meta.key),
            current: self.host_view.current.as_ref(),
            report_due: self.host_view.pace.due(now) <= now,
            blind: self.host_view.blind.as_deref(),
            attempt: &self.attempt,
            wanted: self.target.desired().is_some_and(|desired| !desired.is_empty()),
            conflicts: &conflicts,
            drift: self.after_drift(),
            lease: self.leasing.trouble(self.host_config()),
            managed: &self.host_view.managed,
        });
        let key = state.meta.key.clone();
        let target = ObjectRef { kind: STATE, key: key.clone() };
        let report_only = status.as_ref().is_some_and(|status| status.report_only);
        writes.extend(status.map(|status| (target, Action::ApplyStatus { object: status.object })));
        writes.extend(self.answer(now, raw));
        writes.extend(self.untaint());
        let matches = self.host_view.current.as_ref() == self.objects.report(&key);
        if report_only {
            self.host_view.pace.reported(now);
        } else if matches {
            self.host_view.pace.matches();
        }
        writes
    }

    /// What the controller has for the node, as far as it is wanted now.
    fn host_config(&self) -> Option<&HostConfig> {
        self.target.desired()?.config.as_ref()?.host.as_ref()
    }

    /// The answer on the controller's object: only for a pair, and only about the desired state that was tried.
    fn answer(&self, now: Timestamp, state: &Value) -> Option<(ObjectRef, Action)> {
        let key = ObjectKey::global(self.settings.node.as_str());
        self.objects.raw(CONFIG, &key)?;
        let config = self.objects.snapshot().configs.get(&key)?;
        if !is_pair(state, config) || config.spec.revision.is_empty() || config.metadata.deletion_timestamp.is_some() {
            return None;
        }
        let leases = self.leasing.report(self.host_config());
        let left = self.host_config().filter(|_| self.after_drift() == Drift::Report);
        let drift = left.map(|host| configured::by_link(&self.attempt.drift, host)).unwrap_or_default();
        let fabric = self.target.desired().and_then(|desired| desired.config.as_ref()?.fabric.as_ref());
        let base = self.settings.base.as_deref().filter(|_| fabric.is_some());
        let as_number = base.map(|base| base.local_asn);
        let object = configured::answer(now, config, &self.attempt, (leases, drift), as_number)?;
        Some((ObjectRef { kind: CONFIG, key }, Action::ApplyStatus { object }))
    }

    /// Lets work onto the node once its network is in place.
    fn untaint(&self) -> Option<(ObjectRef, Action)> {
        let ready = match &self.attempt.stage {
            Stage::Reached { .. } => true,
            Stage::Untried => !self.needs_transaction(),
            Stage::Running { .. } | Stage::Failed { .. } => false,
        };
        if !ready || self.settings.taints.is_empty() {
            return None;
        }
        let key = ObjectKey::global(self.settings.node.as_str());
        let patch = taint::patch(self.objects.raw(NODE, &key)?, &self.settings.taints)?;
        Some((ObjectRef { kind: NODE, key }, Action::Patch { patch }))
    }

    /// Tells every further object for the node that it has no effect.
    fn conflict_statuses(&self, now: Timestamp) -> Vec<(ObjectRef, Action)> {
        let states = self.objects.states();
        let Some((first, others)) = states.split_first() else { return Vec::new() };
        let node = &self.settings.node;
        let winner = &first.meta.key;
        let message =
            format!("spec.nodeName: {winner} is for node {node:?} too and takes effect; this object does not");
        let other_status = |state: &&Arc<netloom_compile::NodeState>| {
            let key = state.meta.key.clone();
            let object = status::conflicting(now, self.objects.raw(STATE, &key)?, state.meta.generation, &message)?;
            Some((ObjectRef { kind: STATE, key }, Action::ApplyStatus { object }))
        };
        others.iter().filter_map(other_status).collect()
    }
}
