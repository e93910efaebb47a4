//! What the node shall be like, by what is known now.

use std::sync::Arc;

use jiff::Timestamp;
use netloom_api::pipeline::NodeNetworkConfig;
use netloom_compile::{NodeState, ObjectKey};
use serde_json::Value;

use crate::{
    CONFIG, DesiredState, Failure, Kept, NODE, Prepared, Reason, STATE, Settings,
    backoff::later,
    desired_state::{ConfigPart, digest_of, is_merged_by_node, is_pair, uid},
    objects::Objects,
    prepared::prepare,
};

/// A network state that came before the other object of its pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PartialUpdate {
    digest: String,
    /// How long the last desired state is held for the other object. It may never come, when there is no controller any
    /// more, and people must be able to change what the network state says.
    pub(crate) until: Timestamp,
    /// Whether it still is.
    pub(crate) waits: bool,
}

impl PartialUpdate {
    /// The half that is there now, given the one that was there before. What goes with the kept desired state is none:
    /// a person may have changed it since.
    pub(crate) fn of(
        now: Timestamp,
        settings: &Settings,
        objects: &Objects,
        kept: Option<&Kept>,
        before: Option<Self>,
    ) -> Option<Self> {
        let (_, raw) = chosen(objects).filter(|(state, _)| state.managed)?;
        let digest = digest_of(raw);
        let desired = kept.filter(|kept| kept.uid == uid(raw))?.present()?;
        let known = desired.config.as_ref().is_some_and(|config| config.state_digest == digest);
        let whole = live(settings, objects).is_some_and(|config| is_pair(raw, config));
        if digest.is_empty() || is_merged_by_node(raw) || whole || known {
            return None;
        }
        let known = before.filter(|before| before.digest == digest);
        let until = known.map_or_else(|| later(now, settings.pairing), |known| known.until);
        Some(Self { digest: digest.to_owned(), until, waits: now < until })
    }
}

/// The node has left the cluster, and still has what the controller gave it.
#[derive(Debug, Clone)]
pub(crate) struct Leaving {
    /// How long it keeps that.
    pub(crate) until: Timestamp,
    /// Whether it still does.
    pub(crate) waits: bool,
}

impl Leaving {
    /// Whether it has left now, given what was known before.
    pub(crate) fn of(now: Timestamp, settings: &Settings, objects: &Objects, before: Option<Self>) -> Option<Self> {
        if !has_left(settings, objects) {
            return None;
        }
        let until = before.map_or_else(|| later(now, settings.leaving), |before| before.until);
        Some(Self { until, waits: now < until })
    }
}

/// What the node shall be like.
#[derive(Debug, Clone, Default)]
pub(crate) enum Target {
    /// Nobody can tell: the API was not read yet, and nothing is kept.
    #[default]
    Unknown,
    /// There is no object for the node.
    Nothing,
    /// The node is left alone.
    Unmanaged {
        /// The object that says so.
        uid: String,
    },
    /// The desired state cannot be read.
    Unreadable {
        /// The desired state.
        desired: Box<DesiredState>,
        /// Why.
        failure: Failure,
    },
    /// A desired state.
    Wanted(Arc<Prepared>),
}

impl Target {
    /// What the node shall be like. Until the API was read, and while half of a pair is waited for, that is what it
    /// was last.
    pub(crate) fn of(settings: &Settings, objects: &Objects, kept: Option<&Kept>, (waits, left): (bool, bool)) -> Self {
        // A desired state that was being brought about may be in place, or the one before it.
        let before: Vec<&DesiredState> =
            kept.into_iter().flat_map(|kept| kept.desired.iter().chain(&kept.trying)).collect();
        let good = kept.and_then(|kept| kept.desired.as_ref());
        if !objects.is_whole() || waits {
            let last = kept.and_then(Kept::present);
            return last.map_or(Self::Unknown, |desired| Self::wanted(settings, desired.clone(), (&before, good)));
        }
        let Some((state, raw)) = chosen(objects) else { return Self::Nothing };
        if !state.managed {
            return Self::Unmanaged { uid: uid(raw) };
        }
        let desired = DesiredState::of(state, raw, config_part(settings, objects, raw, kept.filter(|_| !left)));
        // What policies asked for went through the controller too, and may stand on what that gave.
        let desired =
            if left && !state.merges_itself { desired.with_document(state.manual.written()) } else { desired };
        Self::wanted(settings, desired, (&before, good))
    }

    fn wanted(
        settings: &Settings,
        desired: DesiredState,
        (before, good): (&[&DesiredState], Option<&DesiredState>),
    ) -> Self {
        let prepared = prepare(desired.clone(), settings.base.as_deref()).and_then(|prepared| match prepared.leases.keys().next() {
            Some(link) if !settings.resident => Err(Failure::new(
                Reason::InvalidDesiredState,
                format_args!(
                    "{}: {link} asks for a lease (dhcp: true), and whoever enforces this once ends before that has to be \
                     renewed; run the agent of the node as a service, or give addresses",
                    desired.source
                ),
            )),
            Some(_) | None => Ok(prepared),
        });
        match prepared.map(|prepared| prepared.following(before.iter().copied()).after(good)) {
            Ok(prepared) => Self::Wanted(Arc::new(prepared)),
            Err(failure) => Self::Unreadable { desired: Box::new(desired), failure },
        }
    }

    /// The desired state, readable or not.
    pub(crate) fn desired(&self) -> Option<&DesiredState> {
        match self {
            Self::Wanted(prepared) => Some(&prepared.desired),
            Self::Unreadable { desired, .. } => Some(desired),
            Self::Unknown | Self::Nothing | Self::Unmanaged { .. } => None,
        }
    }

    /// The uid of the object that decides.
    pub(crate) fn uid(&self) -> Option<&str> {
        match self {
            Self::Unmanaged { uid } => Some(uid),
            Self::Unknown | Self::Nothing | Self::Unreadable { .. } | Self::Wanted(_) => {
                self.desired().map(|desired| desired.uid.as_str())
            }
        }
    }
}

/// The network state that counts.
pub(crate) fn chosen(objects: &Objects) -> Option<(&Arc<NodeState>, &Arc<Value>)> {
    let state = objects.states().first().copied()?;
    Some((state, objects.raw(STATE, &state.meta.key)?))
}

/// What the controller has for the node. As long as its two objects do not belong together, or one of them
/// is gone, what it had last stays: half of a desired state is none.
fn config_part(settings: &Settings, objects: &Objects, state: &Value, kept: Option<&Kept>) -> Option<ConfigPart> {
    match live(settings, objects).filter(|config| is_pair(state, config)) {
        Some(config) => Some(ConfigPart::of(config)),
        None => kept.filter(|kept| kept.uid == uid(state))?.present()?.config.clone(),
    }
}

/// Whether the node is in the cluster no more: its `Node` is gone, and with it what the controller had for it, which it
/// owns. Where that goes alone the controller recreates it.
fn has_left(settings: &Settings, objects: &Objects) -> bool {
    let key = ObjectKey::global(settings.node.as_str());
    objects.is_listed(NODE) && objects.raw(NODE, &key).is_none() && objects.raw(CONFIG, &key).is_none()
}

/// What the controller says to the node now.
fn live<'a>(settings: &Settings, objects: &'a Objects) -> Option<&'a Arc<NodeNetworkConfig>> {
    let key = ObjectKey::global(settings.node.as_str());
    objects.snapshot().configs.get(&key).filter(|_| objects.raw(CONFIG, &key).is_some())
}
