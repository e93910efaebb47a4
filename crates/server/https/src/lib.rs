//! A TLS listener that knows who its clients are.
//!
//! Accepts, shakes hands, and hands each request over together with the verified certificates of
//! its connection. HTTP/1.1 and HTTP/2, as the client chooses. Not here: who a certificate stands
//! for, and what it may do. The same without TLS is for what anybody may know, such as whether a
//! process is well.
//!
//! Bounded in everything that a client can hold: connections, in all and for one peer, the time of a
//! handshake and of a request's head, how long somebody who has not authenticated asks nothing, streams of one connection and what each of them buffers, how long a piece of an
//! answer waits to be taken, and how long a peer that went away is believed in.

mod connection;
mod limits;
mod paced;
mod places;
mod presence;

use std::{net::SocketAddr, sync::Arc};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, pki_types::CertificateDer},
};

pub use limits::Limits;
use places::Places;
use presence::Presence;

/// What answers are made of: whole texts and streams alike.
pub type Body = UnsyncBoxBody<Bytes, std::convert::Infallible>;

/// The other end of a connection.
#[derive(Debug)]
pub struct Peer {
    /// Where it connects from.
    pub address: SocketAddr,
    /// Its certificates, its own first; empty when it showed none, and without TLS. The TLS
    /// configuration has verified them.
    pub certificates: Vec<CertificateDer<'static>>,
    presence: Arc<Presence>,
}

impl Peer {
    /// Lets the connection stay open between requests, and gives it the whole share of its peer. A handler
    /// says so when a request proved who sends it, or at once where everybody is served.
    pub fn authenticated(&self) {
        self.presence.know();
    }
}

/// Answers requests.
pub trait Handler: Send + Sync + 'static {
    /// Answers one request.
    fn answer(&self, peer: &Arc<Peer>, request: Request<Incoming>) -> impl Future<Output = Response<Body>> + Send;
}

/// Serves until `stop`, then lets requests that are being answered end within their time.
pub async fn serve<H: Handler>(
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    limits: Limits,
    handler: Arc<H>,
    stop: impl Future<Output = ()>,
) {
    listen(listener, Some(TlsAcceptor::from(tls)), limits, handler, stop).await;
}

/// The same without TLS: anybody who reaches the address can ask, and on the way anybody can read.
pub async fn serve_plain<H: Handler>(
    listener: TcpListener,
    limits: Limits,
    handler: Arc<H>,
    stop: impl Future<Output = ()>,
) {
    listen(listener, None, limits, handler, stop).await;
}

async fn listen<H: Handler>(
    listener: TcpListener,
    acceptor: Option<TlsAcceptor>,
    limits: Limits,
    handler: Arc<H>,
    stop: impl Future<Output = ()>,
) {
    let places = Places::new(limits);
    let (stopping, stopped) = watch::channel(false);
    let mut connections = JoinSet::new();
    tokio::pin!(stop);
    loop {
        let (stream, address) = tokio::select! {
            () = &mut stop => break,
            accepted = accept(&listener, limits) => accepted,
            // Ended connections are released as they end.
            Some(_) = connections.join_next() => continue,
        };
        let presence = match places.take(address.ip()) {
            Ok(place) => Presence::new(place),
            Err(why) => {
                tracing::warn!(%address, %why, "too many connections: one more is turned away");
                continue;
            }
        };
        let (acceptor, handler, stopped) = (acceptor.clone(), Arc::clone(&handler), stopped.clone());
        let end = connection::End { address, presence };
        connections.spawn(async move {
            connection::serve(stream, end, acceptor.as_ref(), limits, handler, stopped).await;
        });
    }
    // Nobody listens any more when every connection has ended already.
    stopping.send(true).ok();
    let ended = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(limits.ending, ended).await.is_err() {
        tracing::info!(open = connections.len(), "connections that did not end in time are cut");
    }
}

/// The next connection. A failure to accept concerns one client, or the number of open files: then
/// a moment has to pass, because nothing tells when there is room again.
async fn accept(listener: &TcpListener, limits: Limits) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(why) => {
                tracing::warn!(%why, "cannot accept a connection");
                tokio::time::sleep(limits.breath).await;
            }
        }
    }
}
