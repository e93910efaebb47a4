//! What the server itself changes: without a client there is nothing to decode or to admit.

use netloom_store::{Change, Expect, Key, WriteError};
use serde_json::Value;

use super::{
    Api,
    delete::Gone,
    metadata,
    options::{DeleteOptions, Propagation},
    prepare, stored,
    write::refused,
    write_slots::WriteSlot,
};
use crate::{
    catalogue::Resource,
    status_error::{Outcome, Status},
};

/// How often a change is tried again when others write the same object.
const ROUNDS: usize = 256;

impl Api {
    /// Changes a stored object; the change says whether it did anything. Removes the object when
    /// that was the last thing that held it back. None when there is no such object.
    pub(crate) async fn modify(
        &self,
        resource: &Resource,
        key: &Key,
        change: &(dyn Fn(&mut Value) -> bool + Send + Sync),
    ) -> Outcome<Option<Value>> {
        for _ in 0..ROUNDS {
            let Some(found) = self.stored(key)? else { return Ok(None) };
            let old = stored::decode(resource, &found)?;
            let mut new = old.clone();
            if !change(&mut new) {
                return Ok(Some(old));
            }
            let gone = prepare::is_finished(resource, &new, &old);
            let change = if gone {
                Change::delete(key.clone(), Expect::Revision(found.revision))
            } else {
                Change::update(key.clone(), found.revision, stored::encode(resource, &new))
            };
            // Not `commit`: those who follow the store call this and must not wait for themselves.
            match self.store.write(vec![change]).await {
                Ok(_) => return Ok((!gone).then_some(new)),
                Err(WriteError::Conflict { .. }) => {}
                Err(error) => return Err(refused(&error)),
            }
        }
        Err(Status::internal(&format!("{key} changes all the time")))
    }

    /// Deletes an object; says whether it is gone. One that is not there, or has another uid than
    /// the one meant, is gone.
    pub(crate) async fn remove(
        &self,
        resource: &Resource,
        key: &Key,
        uid: Option<&str>,
        propagation: Option<Propagation>,
    ) -> Outcome<bool> {
        let options = DeleteOptions { propagation, ..DeleteOptions::default() };
        for _ in 0..ROUNDS {
            let Some(found) = self.stored(key)? else { return Ok(true) };
            let old = stored::decode(resource, &found)?;
            if uid.is_some_and(|uid| uid != metadata::text(&old, "uid")) {
                return Ok(true);
            }
            match self.try_delete(resource, key, (&found, old), &options, WriteSlot::FREE).await? {
                Some(Gone::Removed(_)) => return Ok(true),
                Some(Gone::Waiting(_)) => return Ok(false),
                None => {}
            }
        }
        Err(Status::internal(&format!("{key} changes all the time")))
    }
}
