//! Answers while they are sent: they keep their place until then. Watches are counted too, and ended in
//! good order when the server stops.
//!
//! A client whose watch ends knows how far it came and goes on elsewhere; one whose connection is cut
//! in the middle of an event does not.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::Response;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Frame, SizeHint};
use tokio::sync::{Notify, futures::OwnedNotified, watch};

use super::places::Place;
use crate::{body::Body, metrics::Running};

/// Both sides of the end of a server.
pub(super) fn end() -> (Stop, Ending) {
    let (flag, stopped) = watch::channel(false);
    let bell = Arc::new(Notify::new());
    (Stop { flag, bell: Arc::clone(&bell) }, Ending { stopped, bell })
}

/// Ends a server, at the latest when it is dropped.
#[derive(Debug)]
pub(super) struct Stop {
    flag: watch::Sender<bool>,
    bell: Arc<Notify>,
}

impl Stop {
    /// Now.
    pub(super) fn now(&self) {
        // In this order: whoever begins to listen for the bell looks at the flag afterwards.
        self.flag.send_replace(true);
        self.bell.notify_waiters();
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.now();
    }
}

/// Says when a server ends. Watches listen for the bell: there are thousands of them, and waiting for the flag
/// takes three times the memory.
#[derive(Debug, Clone)]
pub(super) struct Ending {
    stopped: watch::Receiver<bool>,
    bell: Arc<Notify>,
}

impl Ending {
    /// Returns when the server ends.
    pub(super) async fn come(mut self) {
        drop(self.stopped.wait_for(|stopped| *stopped).await);
    }
}

/// The answer with a body that ends with the server.
pub(super) fn keep(
    response: Response<Body>,
    counted: Running,
    place: Option<Place>,
    ending: &Ending,
) -> Response<Body> {
    let bell = Box::pin(Arc::clone(&ending.bell).notified_owned());
    let over = *ending.stopped.borrow();
    response.map(|body| Open { body, bell, over, _counted: counted, _place: place }.boxed_unsync())
}

/// The answer with a body that holds its place until it was sent. A short one is as good as sent.
pub(super) fn hold(response: Response<Body>, place: Place) -> Response<Body> {
    if response.body().size_hint().exact().is_some_and(|size| size <= SHORT) {
        return response;
    }
    response.map(|body| Held { body, _place: place }.boxed_unsync())
}

/// So many bytes go into the buffers of a connection.
const SHORT: u64 = 16 << 10;

struct Held {
    body: Body,
    _place: Place,
}

impl hyper::body::Body for Held {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

struct Open {
    body: Body,
    bell: Pin<Box<OwnedNotified>>,
    /// It came when the server was ending already.
    over: bool,
    _counted: Running,
    _place: Option<Place>,
}

impl hyper::body::Body for Open {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.over || self.bell.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.body).poll_frame(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prometheus_client::metrics::gauge::Gauge;
    use tokio::time::timeout;

    use super::*;
    use crate::body;

    #[tokio::test]
    async fn a_watch_ends_with_the_server_and_is_counted_until_then() {
        let gauge: Gauge = Gauge::default();
        gauge.inc();
        let (stop, ending) = end();
        let (sender, stream) = body::stream();
        let mut open = keep(Response::new(stream), Running::of(&gauge), None, &ending).into_body();
        sender.send(Bytes::from_static(b"event")).await.unwrap();
        let first = open.frame().await.unwrap().unwrap();
        assert_eq!(first.into_data().unwrap(), "event");
        let waiting = tokio::spawn(async move { open.frame().await.is_none() });
        stop.now();
        let ended = timeout(Duration::from_secs(5), waiting).await.expect("the watch ends at once").unwrap();
        assert!(ended);
        assert_eq!(gauge.get(), 0);
        gauge.inc();
        let mut late = keep(Response::new(body::stream().1), Running::of(&gauge), None, &ending).into_body();
        assert!(late.frame().await.is_none(), "nobody rings for it again");
        drop(sender);
    }
}
