//! Bodies of answers: a text that is there, or a stream that is still being written.
//!
//! A stream has a bound: its writer waits (or gives up) when the client does not read, so a slow
//! client costs at most [`STREAM_FRAMES`] frames of memory.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Frame;
use tokio::sync::mpsc;

/// The body of every answer. It cannot fail: a stream that goes wrong says so in its last frame.
pub use netloom_https::Body;

/// How many frames a stream holds for a client that does not read, beside the one that is being sent.
/// One, because each may be as large as the largest object.
pub const STREAM_FRAMES: usize = 1;

/// A body that is there as a whole.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).boxed_unsync()
}

/// A body without a byte.
pub fn empty() -> Body {
    Empty::new().boxed_unsync()
}

/// A body that is written while the client reads it. It ends when every sender is dropped; sending
/// fails once the client is gone, and `Sender::closed` resolves then.
pub fn stream() -> (mpsc::Sender<Bytes>, Body) {
    let (sender, receiver) = mpsc::channel(STREAM_FRAMES);
    (sender, Frames { receiver }.boxed_unsync())
}

/// The reading end of [`stream`].
struct Frames {
    receiver: mpsc::Receiver<Bytes>,
}

impl hyper::body::Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.receiver.poll_recv(cx).map(|frame| frame.map(|bytes| Ok(Frame::data(bytes))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stream_ends_with_its_sender() {
        let (sender, body) = stream();
        let written = tokio::spawn(async move {
            sender.send(Bytes::from_static(b"a")).await.unwrap();
            sender.send(Bytes::from_static(b"b")).await.unwrap();
        });
        assert_eq!(body.collect().await.unwrap().to_bytes(), "ab");
        written.await.unwrap();
    }

    #[tokio::test]
    async fn a_writer_notices_that_the_reader_went() {
        let (sender, body) = stream();
        drop(body);
        sender.closed().await;
        assert!(sender.send(Bytes::new()).await.is_err());
    }
}
