//! A watch: every event of a range behind a revision, once and in order.
//!
//! A watch joins the hub first and remembers the revision at that moment. Up to there it reads the
//! history from the file, in small portions; everything behind it waits at the hub. Whenever it
//! falls behind there, it does the same again. It ends when what it would have to read next is no
//! longer in the history.

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll, ready},
};

use crate::{Event, Range, Revision, WatchError, hub::Next, read::Portion, routes::WatchId, store::Shared};

/// What is read from the file at once: enough to be quick, little enough to hold up no other task.
const PORTION: Portion = Portion { events: 64, scanned: 2048, bytes: 256 << 10 };

/// The events of a range from a revision on.
#[derive(Debug)]
pub struct Watch {
    shared: Arc<Shared>,
    range: Range,
    id: WatchId,
    /// Everything up to here has been handed out or is in `ready`.
    seen: u64,
    /// Up to here the file is to be read.
    until: u64,
    ready: VecDeque<Event>,
    ended: Option<Box<WatchError>>,
}

impl Watch {
    pub(crate) fn new(shared: Arc<Shared>, range: Range, from: Revision) -> Self {
        let (id, Revision(until)) = shared.hub.join(&range);
        Self { shared, range, id, seen: from.0, until, ready: VecDeque::new(), ended: None }
    }

    /// The next event, waiting for it if need be.
    ///
    /// May be dropped and called again without losing an event. An error is final: the same is
    /// answered from then on.
    pub async fn next(&mut self) -> Result<Arc<Event>, WatchError> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// The same for callers that have no room for a future of their own: where there are thousands of
    /// watches, what each of them waits with counts.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Arc<Event>, WatchError>> {
        if let Some(error) = &self.ended {
            return Poll::Ready(Err(WatchError::clone(error)));
        }
        let event = ready!(self.poll_event(context));
        if let Err(error) = &event {
            self.ended = Some(Box::new(error.clone()));
        }
        Poll::Ready(event)
    }

    /// Up to which revision the events handed out so far are complete.
    ///
    /// It moves on with every write to the store, also of other objects: a client that is reported now
    /// and then need not ask for old history when it comes back.
    pub fn progress(&self) -> Revision {
        if let Some(event) = self.ready.front() {
            return Revision(event.revision.0 - 1);
        }
        let complete = if self.seen < self.until { None } else { self.shared.hub.complete(self.id) };
        complete.unwrap_or_default().max(Revision(self.seen))
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Result<Arc<Event>, WatchError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Poll::Ready(Ok(Arc::new(event)));
            }
            if self.seen < self.until {
                self.read_history()?;
                // Others have their turn before the next portion.
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            match ready!(self.shared.hub.poll(self.id, context)) {
                Next::Event(event) if event.revision.0 > self.seen => {
                    self.seen = event.revision.0;
                    return Poll::Ready(Ok(event));
                }
                Next::Older(revision) if revision > self.seen => {
                    let event = self.shared.read(|view| view.event(revision))?;
                    self.seen = revision;
                    return Poll::Ready(Ok(Arc::new(event)));
                }
                // A watch may start at a revision that it was notified of before the hub was.
                Next::Event(_) | Next::Older(_) => {}
                Next::Behind(until) => self.until = until,
                Next::Closed => return Poll::Ready(Err(WatchError::Closed)),
            }
        }
    }

    fn read_history(&mut self) -> Result<(), WatchError> {
        let chapter = self.shared.read(|view| view.history(&self.range, self.seen, self.until, PORTION))?;
        self.seen = chapter.until;
        self.ready.extend(chapter.events);
        Ok(())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.hub.leave(&self.range, self.id);
    }
}
