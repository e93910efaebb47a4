//! How much a client can hold.

use std::time::Duration;

/// The bounds of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections at the same time. Each costs some 40 KiB of TLS buffers, so this bounds memory.
    pub connections: usize,
    /// Of these, how many one address may hold.
    pub of_peer: usize,
    /// Of those, how many may be connections that have not authenticated.
    pub unknown_of_peer: usize,
    /// How many all addresses of one IPv6 /64 may hold: more than one of them, and not all there are.
    pub of_subnet: usize,
    /// Of those, how many may be connections that have not authenticated.
    pub unknown_of_subnet: usize,
    /// Requests at the same time on one connection (HTTP/2). Every watch is one.
    pub streams: u32,
    /// For the handshake: a client that does not finish it is half open.
    pub handshake: Duration,
    /// Without a request on a connection that has not authenticated; then it is closed.
    pub silence: Duration,
    /// Bytes of the head of a request.
    pub head_bytes: usize,
    /// For the head of a request, and for an idle HTTP/1.1 connection between two requests.
    pub head: Duration,
    /// Between two questions whether the other end still lives, and for their answers.
    pub sign_of_life: Duration,
    /// For a piece of an answer to be taken over HTTP/2. A stream that makes no progress is reset.
    pub progress: Duration,
    /// For requests that are being answered when the listener stops.
    pub ending: Duration,
    /// After a failure to accept.
    pub breath: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            of_peer: 3072,
            unknown_of_peer: 1024,
            of_subnet: 3584,
            unknown_of_subnet: 2048,
            streams: 10_000,
            handshake: Duration::from_secs(10),
            silence: Duration::from_secs(10),
            head_bytes: 64 << 10,
            head: Duration::from_mins(2),
            sign_of_life: Duration::from_secs(30),
            progress: Duration::from_mins(1),
            ending: Duration::from_secs(5),
            breath: Duration::from_millis(100),
        }
    }
}
