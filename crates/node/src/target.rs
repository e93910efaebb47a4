//! What the node shall be like, by what is known now.

use std::sync::Arc;

use netloom_compile::{NodeState, ObjectKey};
use serde_json::Value;

use crate::{
    CONFIG, Failure, Kept, Prepared, STATE, Settings, Wish,
    objects::Objects,
    prepared::prepare,
    wish::{ConfigPart, is_pair, uid},
};

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
    /// The wish cannot be read.
    Unreadable {
        /// The wish.
        wish: Box<Wish>,
        /// Why.
        failure: Failure,
    },
    /// A wish.
    Wanted(Arc<Prepared>),
}

impl Target {
    /// What the node shall be like. Until the API was read, that is what it was last.
    pub(crate) fn of(settings: &Settings, objects: &Objects, kept: Option<&Kept>) -> Self {
        let before = kept.and_then(|kept| kept.wish.as_ref());
        if !objects.is_whole() {
            return before.map_or(Self::Unknown, |wish| Self::wanted(wish.clone(), before));
        }
        let Some((state, raw)) = chosen(objects) else { return Self::Nothing };
        if !state.managed {
            return Self::Unmanaged { uid: uid(raw) };
        }
        Self::wanted(Wish::of(state, raw, config_part(settings, objects, raw, kept)), before)
    }

    fn wanted(wish: Wish, before: Option<&Wish>) -> Self {
        match prepare(wish.clone()).map(|prepared| prepared.following(before)) {
            Ok(prepared) => Self::Wanted(Arc::new(prepared)),
            Err(failure) => Self::Unreadable { wish: Box::new(wish), failure },
        }
    }

    /// The wish, readable or not.
    pub(crate) fn wish(&self) -> Option<&Wish> {
        match self {
            Self::Wanted(prepared) => Some(&prepared.wish),
            Self::Unreadable { wish, .. } => Some(wish),
            Self::Unknown | Self::Nothing | Self::Unmanaged { .. } => None,
        }
    }

    /// The uid of the object that decides.
    pub(crate) fn uid(&self) -> Option<&str> {
        match self {
            Self::Unmanaged { uid } => Some(uid),
            Self::Unknown | Self::Nothing | Self::Unreadable { .. } | Self::Wanted(_) => {
                self.wish().map(|wish| wish.uid.as_str())
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
/// is gone, what it had last stays: half of a wish is none.
fn config_part(settings: &Settings, objects: &Objects, state: &Value, kept: Option<&Kept>) -> Option<ConfigPart> {
    let key = ObjectKey::global(settings.node.as_str());
    let live = objects.snapshot().configs.get(&key).filter(|_| objects.raw(CONFIG, &key).is_some());
    match live.filter(|config| is_pair(state, config)) {
        Some(config) => Some(ConfigPart::of(config)),
        None => kept.filter(|kept| kept.uid == uid(state))?.wish.as_ref()?.config.clone(),
    }
}
