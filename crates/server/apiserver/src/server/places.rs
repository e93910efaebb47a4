//! Places: how much of something there is at once, for everybody and for each user.
//!
//! A user who takes all of their own share keeps nobody else from theirs, as long as not everybody does
//! so at the same time.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// From so many users on, those who hold nothing are forgotten before another one is remembered.
const REMEMBERED: usize = 64;

/// A number of places.
#[derive(Debug)]
pub(super) struct Places {
    all: Arc<Semaphore>,
    share: usize,
    users: Mutex<HashMap<String, Weak<Semaphore>>>,
}

/// Some places that are taken until this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    _of_user: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Places {
    /// So many places, of which each user has no more than `share`.
    pub(super) fn new(all: usize, share: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(all)), share: share.clamp(1, all.max(1)), users: Mutex::default() }
    }

    /// The most that a user can take at once.
    pub(super) fn share(&self) -> usize {
        self.share
    }

    /// Takes places if they are there.
    pub(super) fn try_take(&self, user: &str, number: u32) -> Option<Place> {
        let of_user = self.of(user).try_acquire_many_owned(number).ok()?;
        let of_all = Arc::clone(&self.all).try_acquire_many_owned(number).ok()?;
        Some(Place { _of_user: of_user, _of_all: of_all })
    }

    /// Waits for places. Users wait for their own first, so nobody waits behind somebody who has taken
    /// their share.
    ///
    /// # Panics
    /// Never: nobody closes the semaphores.
    pub(super) async fn take(&self, user: &str, number: u32) -> Place {
        let never = "nobody closes it";
        let of_user = self.of(user).acquire_many_owned(number).await.expect(never);
        let of_all = Arc::clone(&self.all).acquire_many_owned(number).await.expect(never);
        Place { _of_user: of_user, _of_all: of_all }
    }

    fn of(&self, user: &str) -> Arc<Semaphore> {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = users.get(user).and_then(Weak::upgrade) {
            return known;
        }
        if users.len() >= REMEMBERED {
            users.retain(|_, own| own.strong_count() > 0);
        }
        let own = Arc::new(Semaphore::new(self.share));
        users.insert(user.to_owned(), Arc::downgrade(&own));
        own
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[test]
    fn a_user_has_a_share_and_all_have_the_whole() {
        let places = Places::new(4, 3);
        let mut held: Vec<Place> = (0..3).map(|_| places.try_take("a", 1).unwrap()).collect();
        assert!(places.try_take("a", 1).is_none(), "that is the share of a");
        held.push(places.try_take("b", 1).unwrap());
        assert!(places.try_take("b", 1).is_none(), "nothing is left");
        held.remove(0);
        assert!(places.try_take("b", 1).is_some());
        assert!(places.try_take("a", 1).is_some());
    }

    #[tokio::test]
    async fn nobody_waits_behind_one_who_has_taken_their_share() {
        let places = Places::new(4, 2);
        let held = places.take("a", 2).await;
        let mut waiting = std::pin::pin!(places.take("a", 1));
        assert!(timeout(Duration::from_millis(10), &mut waiting).await.is_err());
        let others = timeout(Duration::from_secs(5), places.take("b", 2)).await;
        assert!(others.is_ok());
        drop(held);
        assert!(timeout(Duration::from_secs(5), waiting).await.is_ok());
    }

    #[test]
    fn users_who_hold_nothing_are_forgotten() {
        let places = Places::new(10, 1);
        let held = places.try_take("kept", 1);
        for user in 0..1000 {
            assert!(places.try_take(&user.to_string(), 1).is_some());
        }
        assert!(places.users.lock().unwrap().len() <= REMEMBERED);
        assert!(held.is_some() && places.try_take("kept", 1).is_none());
    }
}
