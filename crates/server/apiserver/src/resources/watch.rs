//! GET with `watch`: what is there, where asked for, and then every change as it happens.
//!
//! A watch has no task and no queue of its own: the connection that reads it drives it, and what it
//! has not read waits in the store's history. It is polled manually rather than written as a future,
//! which would hold everything twice: there are thousands of watches, and nearly all of them wait.
//!
//! A client that reads too slowly finds its place gone and is notified with an `ERROR` event, after
//! which it starts again.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Frame;
use netloom_store::{Event, EventKind, Key, Range, ReadError, Revision, Store, Watch, WatchError};
use serde_json::{Value, json};
use tokio::time::{Instant, Sleep, sleep_until};

use super::{
    Api,
    answer::Answer,
    asked::Asked,
    chunks, clock,
    options::{self, ListOptions},
    selection::Selection,
    stored,
};
use crate::{
    catalogue::Resource,
    status_error::{Outcome, Status},
    tables::{INITIAL_END, Shaper},
};

/// How often an idle watch is notified how far it is.
const BOOKMARK: Duration = Duration::from_mins(1);

/// How long before its end a watch is notified how far it is.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);

/// The shortest time after which a watch without a limit ends; the longest is twice that, so that
/// clients that came together do not come back together.
const SHORTEST: Duration = Duration::from_mins(30);

/// The longest time that a client may ask for. Whoever wants more comes back, as after any other end.
const LONGEST: Duration = Duration::from_hours(24);

/// How many objects that are there are read at once.
const CHUNK: usize = 100;

impl Api {
    pub(crate) async fn watch(&self, asked: &Asked<'_>) -> Outcome<Answer> {
        let options = ListOptions::parse(&asked.info.query, true)?;
        let selection = Selection::parse(asked)?;
        let shaper = Shaper::watch(asked, self.source.now())?;
        let wanted = match options.revision.as_str() {
            "" => 0,
            text => options::revision(text)?,
        };
        let initial = options.initial == Some(true);
        let range = selection.range(asked);
        let selection = (!selection.is_range(asked)).then_some(selection);
        let mut stream = Stream {
            store: self.store.clone(),
            resource: asked.resource.clone(),
            place: Place::Live,
            selection,
            shaper,
            live: None,
            reported: Revision(0),
            bookmarks: options.bookmarks,
            marks_end: initial && options.bookmarks,
            next_bookmark: Instant::now() + BOOKMARK,
            end: Instant::now() + self.lifetime(&options),
            pause: Box::pin(sleep_until(Instant::now())),
        };
        if initial {
            stream.place = match self.wait_for(wanted).await {
                Ok(()) => Place::Initial(Box::new(Initial { range, at: None, after: None })),
                // A client that waits for a revision that does not come is reported inside the stream.
                Err(status) => Place::Failed(Box::new(status)),
            };
        } else {
            let from = if wanted == 0 { self.store.revision() } else { Revision(wanted) };
            stream.follow(range, from);
        }
        stream.rest();
        Ok(Answer::Stream { body: stream.boxed_unsync() })
    }

    fn lifetime(&self, options: &ListOptions) -> Duration {
        match options.timeout {
            Some(seconds) if seconds > 0 => Duration::from_secs(seconds).min(LONGEST),
            Some(_) | None => {
                let spread = clock::number(&*self.source) % SHORTEST.as_secs();
                SHORTEST + Duration::from_secs(spread)
            }
        }
    }

    /// Waits a little for a revision that a client has heard of elsewhere.
    pub(crate) async fn wait_for(&self, revision: u64) -> Outcome<()> {
        if revision <= self.store.revision().0 {
            return Ok(());
        }
        let reached = tokio::time::timeout(Duration::from_secs(3), self.store.reached(Revision(revision))).await;
        match reached {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Status::internal(&error.to_string())),
            Err(_) => Err(Status::revision_too_large(revision, self.store.revision().0)),
        }
    }
}

/// Where a watch is.
enum Place {
    /// Among the objects that were there when it began.
    Initial(Box<Initial>),
    /// Among the changes.
    Live,
    /// About to tell why it ends.
    Failed(Box<Status>),
    /// At its end.
    Over,
}

/// How far a watch is among the objects that were there.
struct Initial {
    range: Range,
    /// As of when they are read; none before the first was.
    at: Option<Revision>,
    after: Option<Key>,
}

/// Everything that a watch remembers. There are thousands of them, so no more than is needed.
struct Stream {
    store: Store,
    resource: Arc<Resource>,
    place: Place,
    /// What is meant of its range; none where that is everything.
    selection: Option<Selection>,
    shaper: Shaper,
    live: Option<Watch>,
    /// The newest revision that the client was notified of.
    reported: Revision,
    bookmarks: bool,
    /// Whether the end of what was there is marked.
    marks_end: bool,
    next_bookmark: Instant,
    end: Instant,
    /// Until there is something to say even if nothing happens.
    pause: Pin<Box<Sleep>>,
}

impl Stream {
    /// Follows what happens after a revision.
    fn follow(&mut self, range: Range, from: Revision) {
        self.reported = from;
        match self.store.watch(range, from) {
            Ok(watch) => {
                self.live = Some(watch);
                self.place = Place::Live;
            }
            Err(error) => self.place = Place::Failed(Box::new(ended(&error, from))),
        }
    }

    /// The next bytes; none at the end.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let text = match std::mem::replace(&mut self.place, Place::Over) {
            Place::Initial(initial) => self.initial(*initial),
            Place::Live => {
                self.place = Place::Live;
                ready!(self.poll_live(context))
            }
            Place::Failed(status) => event("ERROR", &status.to_json()),
            Place::Over => return Poll::Ready(None),
        };
        if !text.is_empty() {
            return Poll::Ready(Some(text.into()));
        }
        // Whoever wants little of much must not keep others from their turn.
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Some of the objects that are there; behind the last one the watch goes on with changes.
    fn initial(&mut self, Initial { range, at, after }: Initial) -> Vec<u8> {
        let page = match self.store.page(&range, at, after.as_ref(), CHUNK, chunks::BYTES) {
            Ok(page) => page,
            Err(error) => {
                self.place = Place::Failed(Box::new(ended(&error, at.unwrap_or_default())));
                return Vec::new();
            }
        };
        let mut text = Vec::new();
        for (_, object) in &page.items {
            if let Some(object) = self.meant(&object.bytes, object.revision) {
                text.extend(event("ADDED", &self.shaper.object(object)));
            }
        }
        match page.items.last() {
            Some((last, _)) if page.more => {
                let next = Initial { range, at: Some(page.revision), after: Some(last.clone()) };
                self.place = Place::Initial(Box::new(next));
            }
            _ => {
                self.follow(range, page.revision);
                if self.marks_end && matches!(self.place, Place::Live) {
                    text.extend(self.bookmark(page.revision, true));
                }
            }
        }
        text
    }

    /// One change, or a bookmark, or the end.
    fn poll_live(&mut self, context: &mut Context<'_>) -> Poll<Vec<u8>> {
        let Some(watch) = &mut self.live else {
            self.place = Place::Over;
            return Poll::Ready(Vec::new());
        };
        match watch.poll_next(context) {
            Poll::Ready(Ok(event)) => return Poll::Ready(self.change(&event)),
            Poll::Ready(Err(error)) => {
                self.place = Place::Failed(Box::new(closed(&error, self.reported)));
                return Poll::Ready(Vec::new());
            }
            Poll::Pending => ready!(self.pause.as_mut().poll(context)),
        }
        if Instant::now() >= self.end {
            self.place = Place::Over;
            return Poll::Ready(Vec::new());
        }
        let reached = watch.progress();
        // The one before the end is the last.
        self.next_bookmark = if self.last_bookmark().is_none() { self.end } else { Instant::now() + BOOKMARK };
        self.rest();
        Poll::Ready(self.bookmark(reached, false))
    }

    /// When the bookmark before the end is due; none when that is past.
    fn last_bookmark(&self) -> Option<Instant> {
        self.end.checked_sub(LAST_BOOKMARK).filter(|last| *last > Instant::now())
    }

    /// Sets how long to wait for a change before something else is to be sent.
    fn rest(&mut self) {
        let until = match (self.bookmarks, self.last_bookmark()) {
            (true, Some(last)) => self.next_bookmark.min(last),
            (true, None) if self.next_bookmark < self.end => self.next_bookmark,
            (true, None) | (false, _) => self.end,
        };
        self.pause.as_mut().reset(until);
    }

    /// One change, as this watch sees it: an object that stops being meant is gone for it, one that
    /// begins to is new.
    fn change(&mut self, change: &Event) -> Vec<u8> {
        self.reported = change.revision;
        let revision = change.revision;
        match &change.kind {
            EventKind::Put { object, previous } if self.selection.is_none() => {
                let word = if previous.is_none() { "ADDED" } else { "MODIFIED" };
                if let Some(text) = self.spliced(word, &object.bytes, revision) {
                    return text;
                }
                self.reported_of(word, &object.bytes, revision)
            }
            EventKind::Put { object, previous } => {
                let now = self.meant(&object.bytes, revision);
                let before = previous.as_ref().and_then(|previous| self.meant(&previous.bytes, revision));
                match (before, now) {
                    (None, Some(now)) => event("ADDED", &self.shaper.object(now)),
                    (Some(_), Some(now)) => event("MODIFIED", &self.shaper.object(now)),
                    (Some(before), None) => event("DELETED", &self.shaper.object(before)),
                    (None, None) => Vec::new(),
                }
            }
            EventKind::Delete { previous } => self.reported_of("DELETED", &previous.bytes, revision),
        }
    }

    fn reported_of(&mut self, word: &str, bytes: &[u8], revision: Revision) -> Vec<u8> {
        let object = self.meant(bytes, revision);
        object.map(|object| event(word, &self.shaper.object(object))).unwrap_or_default()
    }

    /// An event made of the stored bytes alone, where that can be done.
    fn spliced(&self, word: &str, bytes: &[u8], revision: Revision) -> Option<Vec<u8>> {
        if !self.shaper.is_object() {
            return None;
        }
        let mut text = Vec::with_capacity(bytes.len() + 128);
        text.extend_from_slice(format!("{{\"type\":\"{word}\",\"object\":").as_bytes());
        stored::splice(&self.resource, bytes, revision, true, &mut text).then(|| {
            text.extend_from_slice(b"}\n");
            text
        })
    }

    /// An object, if it is meant. One that cannot be read is left out: it would stop all others.
    fn meant(&self, bytes: &[u8], revision: Revision) -> Option<Value> {
        let object = stored::decode_at(&self.resource, bytes, revision);
        if let Err(status) = &object {
            tracing::error!(error = %status, "a watch skips an object");
        }
        let selection = self.selection.as_ref();
        object.ok().filter(|object| selection.is_none_or(|selection| selection.matches(&self.resource, object)))
    }

    fn bookmark(&mut self, revision: Revision, end: bool) -> Vec<u8> {
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if end {
            metadata["annotations"] = json!({INITIAL_END: "true"});
        }
        self.reported = revision;
        let object =
            json!({"kind": self.resource.kind, "apiVersion": self.resource.api_version(), "metadata": metadata});
        event("BOOKMARK", &self.shaper.object(object))
    }
}

/// One line of a watch.
fn event(word: &str, object: &Value) -> Vec<u8> {
    format!("{{\"type\":\"{word}\",\"object\":{object}}}\n").into_bytes()
}

fn ended(error: &ReadError, from: Revision) -> Status {
    match error {
        ReadError::Compacted { oldest } => Status::expired(format!("too old resource version: {from} ({oldest})")),
        ReadError::Future { asked, current } => Status::revision_too_large(asked.0, current.0),
        ReadError::Closed | ReadError::Unavailable { .. } | ReadError::Damaged { .. } => {
            Status::internal(&error.to_string())
        }
    }
}

fn closed(error: &WatchError, from: Revision) -> Status {
    match error {
        WatchError::Lagged { oldest } => Status::expired(format!("too old resource version: {from} ({oldest})")),
        WatchError::Closed => Status::internal("the server is shutting down"),
        WatchError::Read(error) => ended(error, from),
    }
}

impl hyper::body::Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.poll_next(cx).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_that_waits_is_small() {
        assert!(size_of::<Stream>() <= 384, "{} bytes", size_of::<Stream>());
    }
}
