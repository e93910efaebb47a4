//! Turns of writes whose rules look at other objects.
//!
//! Such a rule is a statement about several objects, so it holds only if nothing changes between the
//! judgement and the moment when everybody sees the write. Those writes go one after the other, from
//! the judgement until the view has the result. All others, also the status of the same objects, which
//! no rule judges, go side by side and share their syncs.
//!
//! What the server removes by itself (owned objects, the content of namespaces) takes no turn: it was
//! decided when its owner went, and no rule is asked about it.

use std::sync::Arc;

use netloom_store::{Change, Revision, WriteError};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::{Api, prepare::Part, write::Job};

/// Who is being judged or stored.
#[derive(Debug, Default)]
pub(crate) struct WriteSlots {
    pub(super) judged: Arc<Mutex<()>>,
}

/// The right to be judged and stored; none for a write that nobody waits for.
#[derive(Debug)]
pub(crate) struct WriteSlot {
    _held: Option<OwnedMutexGuard<()>>,
}

impl WriteSlot {
    /// For writes that no rule judges.
    pub(crate) const FREE: Self = Self { _held: None };
}

impl Api {
    /// Waits until a write can be judged. The answer goes to [`Api::commit`], or is dropped when
    /// nothing is stored.
    pub(crate) async fn write_slot(&self, job: &Job<'_>, name: &str) -> WriteSlot {
        let stored = !job.options.dry_run && job.part == Part::Main;
        let seen = || self.follow.shows(&job.asked.resource.store_name(), job.asked.namespace(), name);
        if !(self.admission.is_some() && stored && seen()) {
            return WriteSlot::FREE;
        }
        WriteSlot { _held: Some(Arc::clone(&self.write_slots.judged).lock_owned().await) }
    }

    /// Stores one change and waits until everything inside the server that follows it has seen it.
    pub(crate) async fn commit(&self, change: Change, write_slot: WriteSlot) -> Result<Revision, WriteError> {
        let followed = self.follow.follows(change.key.resource());
        let (store, follow) = (self.store.clone(), Arc::clone(&self.follow));
        let all = async move {
            let revision = store.write(vec![change]).await?.last().unwrap_or_default();
            if followed {
                follow.reached(revision).await;
            }
            drop(write_slot);
            Ok(revision)
        };
        if !followed {
            return all.await;
        }
        // A client that leaves takes its request with it, and the store goes on all the same. The turn
        // must last until then, so it is not the request's.
        tokio::spawn(all).await.unwrap_or(Err(WriteError::Closed))
    }
}
