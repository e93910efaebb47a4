//! Answers at the pace of their reader, up to a point.
//!
//! Over HTTP/2 a client can stop reading one stream while its connection is as alive as ever, so no
//! timer of the kernel notices. Here bodies are cut into pieces, and a stream of which no piece was
//! taken for too long is reset: what it held is free again, and the client comes back if it wants to.
//! A stream that has nothing to send, such as a quiet watch, waits for as long as it likes.
//!
//! Over HTTP/1.1 the stream is the connection, and its end is left to the timers of the kernel.

use std::{
    cell::Cell,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use hyper::{
    body::{Body as HttpBody, Frame, SizeHint},
    rt::Executor,
};
use tokio::time::{Sleep, sleep};

use crate::Body;

/// How much of a body is handed over at once, so that progress can be seen.
pub(crate) const PIECE: usize = 64 << 10;

/// What a body reported when it was last asked for a piece.
#[derive(Debug, Clone, Copy)]
enum BodyState {
    /// It gave one.
    Piece,
    /// It has none at the moment.
    Nothing,
}

thread_local! {
    /// What the body of the stream that this thread drives has reported. A stream and its body are driven
    /// by the same call, so nothing else can come between.
    static BODY_STATE: Cell<Option<BodyState>> = const { Cell::new(None) };
}

/// A body in pieces. There are as many as there are watches, so it is small until it needs more.
pub(crate) struct Paced {
    body: Body,
    /// What is left of a frame that was too large.
    rest: Option<Box<Bytes>>,
}

impl Paced {
    pub(crate) fn new(body: Body) -> Self {
        Self { body, rest: None }
    }

    fn next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, std::convert::Infallible>>> {
        let mut data = match self.rest.take() {
            Some(rest) => *rest,
            None => match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                other => return Poll::Ready(other),
            },
        };
        let piece = data.split_to(data.len().min(PIECE));
        self.rest = (!data.is_empty()).then(|| Box::new(data));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }
}

impl HttpBody for Paced {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let next = self.next(cx);
        BODY_STATE.set(Some(if next.is_ready() { BodyState::Piece } else { BodyState::Nothing }));
        next
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (inner, rest) = (self.body.size_hint(), self.rest.as_ref().map_or(0, |rest| rest.len() as u64));
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower().saturating_add(rest));
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint
    }
}

/// Runs the streams of connections, and ends those whose pieces nobody takes.
#[derive(Debug, Clone)]
pub(crate) struct Streams {
    /// For how long a piece may wait.
    pub(crate) time_limit: Duration,
}

impl<F> Executor<F> for Streams
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, stream: F) {
        tokio::spawn(Watched { stream: Box::pin(stream), time_limit: self.time_limit, waits: None });
    }
}

/// A stream with somebody who looks whether it gets anywhere.
struct Watched<F> {
    stream: Pin<Box<F>>,
    time_limit: Duration,
    /// Ends the stream. Only there while a piece waits to be taken: most streams never need it.
    waits: Option<Pin<Box<Sleep>>>,
}

impl<F: Future> Future for Watched<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        BODY_STATE.set(None);
        if self.stream.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        match BODY_STATE.take() {
            Some(BodyState::Piece) => self.waits = Some(Box::pin(sleep(self.time_limit))),
            Some(BodyState::Nothing) => self.waits = None,
            // It was only looked whether the piece can go.
            None => {}
        }
        let Some(waits) = &mut self.waits else { return Poll::Pending };
        ready!(waits.as_mut().poll(cx));
        tracing::info!(time_limit = ?self.time_limit, "a stream that nobody reads is reset");
        Poll::Ready(())
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt as _, Full};

    use super::*;

    #[tokio::test]
    async fn a_large_text_goes_in_pieces() {
        let text: Bytes = (0..PIECE * 2 + 17).map(|at| u8::try_from(at % 251).unwrap()).collect();
        let mut body = Paced::new(Full::new(text.clone()).boxed_unsync());
        assert_eq!(body.size_hint().exact(), Some(text.len() as u64));
        let mut lengths = Vec::new();
        let mut whole = Vec::new();
        while let Some(frame) = body.frame().await {
            let data = frame.unwrap().into_data().unwrap();
            lengths.push(data.len());
            whole.extend_from_slice(&data);
            assert_eq!(body.size_hint().exact(), Some((text.len() - whole.len()) as u64));
        }
        assert_eq!(lengths, [PIECE, PIECE, 17]);
        assert!(whole == text && body.is_end_stream());
    }
}
