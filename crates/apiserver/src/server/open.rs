//! Watches while they are open: counted, and ended in good order when the server stops.
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
use hyper::body::Frame;
use tokio::sync::watch;

use crate::{body::Body, metrics::Running};

/// The answer with a body that ends with the server.
pub(super) fn keep(response: Response<Body>, counted: Running, mut stopped: watch::Receiver<bool>) -> Response<Body> {
    response.map(|body| {
        // An error means that the server is gone without having been stopped.
        let stop = Box::pin(async move { drop(stopped.wait_for(|stopped| *stopped).await) });
        Open { body, stop, _counted: counted }.boxed_unsync()
    })
}

struct Open {
    body: Body,
    stop: Pin<Box<dyn Future<Output = ()> + Send>>,
    _counted: Running,
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
        let mut open = keep(Response::new(stream), Running::of(&gauge), stopped).into_body();
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
