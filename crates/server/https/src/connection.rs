//! One connection, from its handshake to its end.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};

use hyper::service::service_fn;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::conn::auto::Builder,
};
use socket2::{SockRef, TcpKeepalive};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::watch,
};
use tokio_rustls::{TlsAcceptor, rustls::pki_types::CertificateDer, server::TlsStream};

use crate::{
    Handler, Limits, Peer,
    paced::{PIECE, Paced, Streams},
    presence::Presence,
};

/// How often a silent end is asked for a sign of life before it is cut off.
const PROBES: u32 = 3;
/// The smallest buffer that the HTTP/1.1 reader takes.
const LEAST_BUFFER: usize = 8 << 10;

/// The other end, before anything is known of it but where it is.
pub(crate) struct End {
    pub(crate) address: SocketAddr,
    pub(crate) presence: Arc<Presence>,
}

/// Serves a connection until it ends, or until `stopped` and its requests have been answered.
pub(crate) async fn serve<H: Handler>(
    stream: TcpStream,
    end: End,
    acceptor: Option<&TlsAcceptor>,
    limits: Limits,
    handler: Arc<H>,
    stopped: watch::Receiver<bool>,
) {
    let End { address, presence } = end;
    if let Err(why) = prepare(&stream, limits.sign_of_life) {
        tracing::debug!(%address, %why, "a connection is slower, or believed in for longer, than it could be");
    }
    let Some(acceptor) = acceptor else {
        let peer = Peer { address, certificates: Vec::new(), presence };
        return answer(stream, peer, limits, handler, stopped).await;
    };
    let stream = match tokio::time::timeout(limits.handshake, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(why)) => return tracing::info!(%address, %why, "a handshake failed"),
        Err(_) => return tracing::info!(%address, "a handshake took too long"),
    };
    let peer = Peer { address, certificates: certificates(&stream), presence };
    answer(stream, peer, limits, handler, stopped).await;
}

/// Answers what is asked on a connection.
async fn answer<H: Handler>(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: Peer,
    limits: Limits,
    handler: Arc<H>,
    mut stopped: watch::Receiver<bool>,
) {
    let (address, presence, peer) = (peer.address, Arc::clone(&peer.presence), Arc::new(peer));
    let service = service_fn(move |request| {
        let (peer, handler, running) = (Arc::clone(&peer), Arc::clone(&handler), peer.presence.begin());
        // On its own in memory, so that it goes when it has answered: the place of a request that is
        // still being sent, such as a watch, then holds no more than what is being sent.
        Box::pin(async move {
            let answer = handler.answer(&peer, request).await.map(Paced::new);
            drop(running);
            Ok::<_, Infallible>(answer)
        })
    });
    let builder = builder(limits);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let stop = async { drop(stopped.wait_for(|stopped| *stopped).await) };
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = presence.silent(limits.silence) => {
            return tracing::info!(%address, "a connection that has not authenticated asked nothing for too long");
        }
        () = stop => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(why) = ended {
        tracing::debug!(%address, %why, "a connection broke");
    }
}

/// Answers are wanted at once. And while nothing is reported on a connection, as during a quiet watch over
/// HTTP/1.1, only the kernel can find out that the other end went without a word.
fn prepare(stream: &TcpStream, silence: Duration) -> io::Result<()> {
    let probes = TcpKeepalive::new().with_time(silence).with_interval(silence / PROBES).with_retries(PROBES);
    let socket = SockRef::from(stream);
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_keepalive(&probes)?;
    // The same for what was sent and never acknowledged.
    socket.set_tcp_user_timeout(Some(silence * 2))
}

fn certificates(stream: &TlsStream<TcpStream>) -> Vec<CertificateDer<'static>> {
    let (_, session) = stream.get_ref();
    let certificates = session.peer_certificates().unwrap_or_default();
    certificates.iter().map(|certificate| certificate.clone().into_owned()).collect()
}

fn builder(limits: Limits) -> Builder<Streams> {
    let mut builder = Builder::new(Streams { time_limit: limits.progress });
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(limits.head_bytes.max(LEAST_BUFFER))
        .keep_alive(true);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        // Of what a client does not take, no more than one piece is buffered beside the one that waits.
        .max_send_buf_size(PIECE)
        .max_header_list_size(u32::try_from(limits.head_bytes).unwrap_or(u32::MAX))
        .keep_alive_interval(limits.sign_of_life)
        .keep_alive_timeout(limits.sign_of_life);
    builder
}
