//! The hub: recent events in memory, and for each watch the numbers of those it has yet to take.
//!
//! Every revision is one event, so the recent events are a gapless run and any of them is found by
//! its number. What waits for a watch are numbers only: however many watches there are and however
//! slow they are, the events themselves are in memory once and bounded. A watch for which too many
//! wait is marked as behind and reads the history from the file; nobody waits for it.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use crate::{
    Event, Options, Range, Revision,
    routes::{Routes, WatchId},
};

/// A queue of at least this capacity is given back when it is empty.
const KEPT_CAPACITY: usize = 8;

/// What a watch finds at the hub.
#[derive(Debug)]
pub(crate) enum Next {
    /// The next event.
    Event(Arc<Event>),
    /// The next event has this revision, but is no longer in memory.
    Older(u64),
    /// Too many events have waited: those up to this revision are to be read from the file.
    Behind(u64),
    /// There will be no more.
    Closed,
}

/// Where committed events go to the watches.
#[derive(Debug)]
pub(crate) struct Hub {
    inner: Mutex<Inner>,
    limits: Limits,
}

#[derive(Debug, Clone, Copy)]
struct Limits {
    queue: usize,
    recent: usize,
    bytes: usize,
}

#[derive(Debug)]
struct Inner {
    published: u64,
    recent: VecDeque<Arc<Event>>,
    recent_bytes: usize,
    routes: Routes,
    slots: Vec<Option<Slot>>,
    free: Vec<WatchId>,
    closed: bool,
    fallen_behind: u64,
}

#[derive(Debug, Default)]
struct Slot {
    waiting: VecDeque<u64>,
    behind: bool,
    waker: Option<Waker>,
}

/// Figures of the hub.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HubStats {
    /// How many watches there are.
    pub(crate) watches: usize,
    /// How many events are in memory.
    pub(crate) recent: usize,
    /// How often a watch fell behind.
    pub(crate) fallen_behind: u64,
}

impl Hub {
    /// A hub that goes on behind this revision.
    pub(crate) fn new(published: u64, options: &Options) -> Self {
        let inner = Inner {
            published,
            recent: VecDeque::new(),
            recent_bytes: 0,
            routes: Routes::default(),
            slots: Vec::new(),
            free: Vec::new(),
            closed: false,
            fallen_behind: 0,
        };
        let limits = Limits {
            // A queue without room would send every watch to the file for every event.
            queue: options.queue_events.max(1),
            recent: options.recent_events,
            bytes: options.recent_bytes,
        };
        Self { inner: Mutex::new(inner), limits }
    }

    /// Hands committed events to the watches that want them. They must follow those before without a
    /// gap.
    pub(crate) fn publish(&self, events: Vec<Event>) {
        let mut wakers = Vec::new();
        {
            let mut inner = self.lock();
            for event in events {
                inner.deliver(Arc::new(event), self.limits, &mut wakers);
            }
        }
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Adds a watch: every event behind the returned revision will wait for it.
    pub(crate) fn join(&self, range: &Range) -> (WatchId, Revision) {
        let mut inner = self.lock();
        let id = inner.free.pop().unwrap_or(inner.slots.len());
        if id == inner.slots.len() {
            inner.slots.push(None);
        }
        inner.slots[id] = Some(Slot::default());
        inner.routes.insert(range, id);
        (id, Revision(inner.published))
    }

    /// Removes a watch.
    pub(crate) fn leave(&self, range: &Range, id: WatchId) {
        let mut inner = self.lock();
        inner.routes.remove(range, id);
        inner.slots[id] = None;
        inner.free.push(id);
        if inner.free.len() == inner.slots.len() {
            inner.forget_recent();
        }
    }

    /// The next thing for a watch; if there is nothing, it is woken when there is.
    pub(crate) fn poll(&self, id: WatchId, context: &mut Context<'_>) -> Poll<Next> {
        let mut inner = self.lock();
        let Inner { slots, recent, published, closed, .. } = &mut *inner;
        let Some(slot) = slots.get_mut(id).and_then(Option::as_mut) else { return Poll::Ready(Next::Closed) };
        if slot.behind {
            slot.behind = false;
            return Poll::Ready(Next::Behind(*published));
        }
        let Some(revision) = slot.waiting.pop_front() else {
            if *closed {
                return Poll::Ready(Next::Closed);
            }
            if slot.waiting.capacity() > KEPT_CAPACITY {
                slot.waiting = VecDeque::new();
            }
            slot.waker = Some(context.waker().clone());
            return Poll::Pending;
        };
        Poll::Ready(find(recent, revision).map_or(Next::Older(revision), Next::Event))
    }

    /// Up to which revision a watch that has taken everything from the hub so far is complete.
    pub(crate) fn complete(&self, id: WatchId) -> Option<Revision> {
        let inner = self.lock();
        let slot = inner.slots.get(id)?.as_ref()?;
        match slot.waiting.front() {
            _ if slot.behind => None,
            Some(revision) => Some(Revision(revision - 1)),
            None => Some(Revision(inner.published)),
        }
    }

    /// Ends all watches once they have taken what waits for them.
    pub(crate) fn close(&self) {
        let wakers: Vec<_> = {
            let mut inner = self.lock();
            inner.closed = true;
            inner.slots.iter_mut().flatten().filter_map(|slot| slot.waker.take()).collect()
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Figures.
    pub(crate) fn stats(&self) -> HubStats {
        let inner = self.lock();
        HubStats {
            watches: inner.slots.len() - inner.free.len(),
            recent: inner.recent.len(),
            fallen_behind: inner.fallen_behind,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing in here panics half-way through a change.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn deliver(&mut self, event: Arc<Event>, limits: Limits, wakers: &mut Vec<Waker>) {
        let Self { routes, slots, fallen_behind, .. } = self;
        let revision = event.revision.0;
        routes.matching(&event.key, |id| {
            let Some(slot) = slots.get_mut(id).and_then(Option::as_mut) else { return };
            if slot.behind {
                return;
            }
            if slot.waiting.len() < limits.queue {
                slot.waiting.push_back(revision);
            } else {
                slot.waiting = VecDeque::new();
                slot.behind = true;
                *fallen_behind += 1;
            }
            wakers.extend(slot.waker.take());
        });
        self.published = revision;
        // With nobody watching there is nobody to remember for.
        if self.free.len() == self.slots.len() {
            return;
        }
        self.recent_bytes += event.weight();
        self.recent.push_back(event);
        while self.recent.len() > limits.recent || self.recent_bytes > limits.bytes {
            let Some(oldest) = self.recent.pop_front() else { break };
            self.recent_bytes -= oldest.weight();
        }
    }

    fn forget_recent(&mut self) {
        self.recent = VecDeque::new();
        self.recent_bytes = 0;
    }
}

fn find(recent: &VecDeque<Arc<Event>>, revision: u64) -> Option<Arc<Event>> {
    let first = recent.front()?.revision.0;
    let index = usize::try_from(revision.checked_sub(first)?).ok()?;
    recent.get(index).cloned()
}
