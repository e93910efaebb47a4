//! Answers while they are sent: they keep their place until then. Watches are counted too, and ended in
//! good order when the server stops.
//!
//! A client whose watch ends knows how far it came and goes on elsewhere; one whose connection is cut
//! in the middle of an event does not.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::Response;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Frame, SizeHint};
use tokio::sync::watch;

use super::places::Place;
use crate::{body::Body, metrics::Running};

/// The answer with a body that ends with the server.
pub(super) fn keep(
    response: Response<Body>,
    counted: Running,
    place: Option<Place>,
    mut stopped: watch::Receiver<bool>,
) -> Response<Body> {
    response.map(|body| {
        // An error means that the server is gone without having been stopped.
        let stop = Box::pin(async move { drop(stopped.wait_for(|stopped| *stopped).await) });
        Open { body, stop, _counted: counted, _place: place }.boxed_unsync()
    })
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
    stop: Pin<Box<dyn Future<Output = ()> + Send>>,
    _counted: Running,
    _place: Option<Place>,
}

impl hyper::body::Body for Open {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.stop.as_mut().poll(cx).is_ready() {
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
        let (stop, stopped) = watch::channel(false);
        let (sender, stream) = body::stream();
        let mut open = keep(Response::new(stream), Running::of(&gauge), None, stopped).into_body();
        sender.send(Bytes::from_static(b"event")).await.unwrap();
        let first = open.frame().await.unwrap().unwrap();
        assert_eq!(first.into_data().unwrap(), "event");
        let waiting = tokio::spawn(async move { open.frame().await.is_none() });
        stop.send(true).unwrap();
        let ended = timeout(Duration::from_secs(5), waiting).await.expect("the watch ends at once").unwrap();
        assert!(ended);
        assert_eq!(gauge.get(), 0);
        drop(sender);
    }
}
