//! A listener as hostile clients find it: bounded in connections, heads and time.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::{
    convert::Infallible,
    net::{Ipv4Addr, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::{
    body::{Frame, Incoming},
    client::conn::http2,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use netloom_https::{Body, Handler, Limits, Peer, serve};
use rcgen::{CertificateParams, KeyPair};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::{mpsc, oneshot},
    task::JoinHandle,
    time::timeout,
};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        ClientConfig, RootCertStore, ServerConfig,
        crypto::aws_lc_rs,
        pki_types::{CertificateDer, PrivateKeyDer, ServerName},
    },
};

const TIME_LIMIT: Duration = Duration::from_secs(20);

/// Answers everything but what is to wait for ever. Tells when a body is given up.
struct Echo {
    dropped: mpsc::UnboundedSender<&'static str>,
}

/// A body that never ends: one has always more, the other one never.
struct Endless {
    name: &'static str,
    dropped: mpsc::UnboundedSender<&'static str>,
}

impl hyper::body::Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.name {
            "/much" => Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'x'; 8 << 10]))))),
            _ => Poll::Pending,
        }
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        self.dropped.send(self.name).ok();
    }
}

impl Handler for Echo {
    async fn answer(&self, peer: &Arc<Peer>, request: Request<Incoming>) -> Response<Body> {
        if request.uri().path() == "/known" {
            peer.authenticated();
        }
        if request.uri().path() == "/for-ever" {
            std::future::pending::<()>().await;
        }
        let endless = |name| Endless { name, dropped: self.dropped.clone() }.boxed_unsync();
        Response::new(match request.uri().path() {
            "/much" => endless("/much"),
            "/nothing" => endless("/nothing"),
            _ => Full::new(Bytes::from_static(b"well")).boxed_unsync(),
        })
    }
}

struct Scene {
    address: SocketAddr,
    root: CertificateDer<'static>,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
    dropped: mpsc::UnboundedReceiver<&'static str>,
}

impl Scene {
    async fn open(limits: Limits) -> Self {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
        let root = certificate.der().clone();
        let own = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let mut tls = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![root.clone()], own)
            .unwrap();
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let until = async { drop(stopped.await) };
        let (sender, dropped) = mpsc::unbounded_channel();
        let echo = Arc::new(Echo { dropped: sender });
        let serving = tokio::spawn(async move { serve(listener, Arc::new(tls), limits, echo, until).await });
        Self { address, root, stop: Some(stop), serving, dropped }
    }

    fn config(&self, protocol: &str) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.root.clone()).unwrap();
        let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        config
    }

    async fn connect(&self, protocol: &str) -> std::io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(self.address).await?;
        self.shake_hands(stream, self.config(protocol)).await
    }

    /// The same from another address of this machine.
    async fn connect_from(&self, own: Ipv4Addr) -> std::io::Result<TlsStream<TcpStream>> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((own, 0).into())?;
        let stream = socket.connect(self.address).await?;
        self.shake_hands(stream, self.config("http/1.1")).await
    }

    async fn shake_hands(&self, stream: TcpStream, config: ClientConfig) -> std::io::Result<TlsStream<TcpStream>> {
        TlsConnector::from(Arc::new(config)).connect(ServerName::try_from("localhost").unwrap(), stream).await
    }

    /// Stops the listener and waits until it has ended.
    async fn close(mut self) {
        drop(self.stop.take());
        timeout(TIME_LIMIT, self.serving).await.expect("it ends").unwrap();
    }
}

async fn ask(stream: &mut TlsStream<TcpStream>, path: &str) -> String {
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).await.unwrap();
    let mut printed = vec![0; 1024];
    let length = timeout(TIME_LIMIT, stream.read(&mut printed)).await.expect("it answers").unwrap();
    String::from_utf8_lossy(&printed[..length]).into_owned()
}

#[tokio::test]
async fn one_connection_too_many_is_turned_away_until_another_one_ends() {
    let scene = Scene::open(Limits { connections: 1, ..Limits::default() }).await;
    let mut first = scene.connect("http/1.1").await.unwrap();
    assert!(ask(&mut first, "/").await.starts_with("HTTP/1.1 200"));
    assert!(timeout(TIME_LIMIT, scene.connect("http/1.1")).await.expect("it is reported at once").is_err());
    assert!(ask(&mut first, "/").await.starts_with("HTTP/1.1 200"), "the first one is as it was");
    drop(first);
    let again = async {
        while scene.connect("http/1.1").await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    timeout(TIME_LIMIT, again).await.expect("a place is free again");
    scene.close().await;
}

#[tokio::test]
async fn heads_that_are_too_long_are_refused_over_both_protocols() {
    let scene = Scene::open(Limits { head_bytes: 8 << 10, ..Limits::default() }).await;
    let long = "x".repeat(32 << 10);
    let mut stream = scene.connect("http/1.1").await.unwrap();
    // The server may close before all of it is written.
    stream.write_all(format!("GET / HTTP/1.1\r\nHost: a\r\nX-Long: {long}\r\n\r\n").as_bytes()).await.ok();
    let mut printed = Vec::new();
    drop(timeout(TIME_LIMIT, stream.read_to_end(&mut printed)).await.expect("it is closed"));
    assert!(printed.is_empty() || printed.starts_with(b"HTTP/1.1 431"), "{}", String::from_utf8_lossy(&printed));
    let stream = scene.connect("h2").await.unwrap();
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    let driven = tokio::spawn(connection);
    let request =
        |value: &str| Request::get("https://localhost/").header("x-long", value).body(Full::new(Bytes::new())).unwrap();
    assert_eq!(sender.send_request(request("short")).await.unwrap().status(), 200);
    let refused = timeout(TIME_LIMIT, sender.send_request(request(&long))).await.expect("it is answered");
    assert!(refused.map_or(true, |answer| answer.status() == 431));
    driven.abort();
    scene.close().await;
}

#[tokio::test]
async fn silent_clients_are_cut_off() {
    let brief = Duration::from_millis(200);
    let scene = Scene::open(Limits { handshake: brief, head: brief, ..Limits::default() }).await;
    let mut half_open = TcpStream::connect(scene.address).await.unwrap();
    let mut printed = Vec::new();
    drop(timeout(TIME_LIMIT, half_open.read_to_end(&mut printed)).await.expect("a handshake has its time"));
    let mut slow = scene.connect("http/1.1").await.unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\nHost: ").await.unwrap();
    drop(timeout(TIME_LIMIT, slow.read_to_end(&mut printed)).await.expect("a head has its time"));
    scene.close().await;
}

/// As many connections as a default listener has in all, and as many again for the server's ends.
const SILENT: usize = 4096;

#[tokio::test]
async fn silent_connections_of_one_peer_keep_no_other_out() {
    nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE, 10_000, 10_000).unwrap();
    let limits = Limits { handshake: Duration::from_hours(1), silence: Duration::from_hours(1), ..Limits::default() };
    assert_eq!(limits.connections, SILENT);
    let scene = Scene::open(limits).await;
    let mut held = Vec::new();
    for _ in 0..SILENT {
        held.push(TcpStream::connect(scene.address).await.unwrap());
    }
    assert!(scene.connect("http/1.1").await.is_err(), "this peer has used up its share");
    let mut other = scene.connect_from(Ipv4Addr::new(127, 0, 0, 2)).await.unwrap();
    assert!(ask(&mut other, "/").await.starts_with("HTTP/1.1 200"));
    drop(held);
    scene.close().await;
}

#[tokio::test]
async fn a_connection_that_has_not_authenticated_must_ask_something() {
    let scene = Scene::open(Limits { silence: Duration::from_millis(200), ..Limits::default() }).await;
    let mut known = scene.connect("http/1.1").await.unwrap();
    assert!(ask(&mut known, "/known").await.starts_with("HTTP/1.1 200"));
    let mut printed = Vec::new();
    for protocol in ["http/1.1", "h2"] {
        let mut silent = scene.connect(protocol).await.unwrap();
        drop(timeout(TIME_LIMIT, silent.read_to_end(&mut printed)).await.expect("silence ends a connection"));
    }
    let mut unknown = scene.connect("http/1.1").await.unwrap();
    assert!(ask(&mut unknown, "/").await.starts_with("HTTP/1.1 200"));
    drop(timeout(TIME_LIMIT, unknown.read_to_end(&mut printed)).await.expect("an answer is no proof of who asked"));
    assert!(ask(&mut known, "/").await.starts_with("HTTP/1.1 200"), "one that has authenticated stays");
    scene.close().await;
}

#[tokio::test]
async fn requests_have_their_time_when_the_listener_stops() {
    let scene = Scene::open(Limits { ending: Duration::from_millis(200), ..Limits::default() }).await;
    let mut stream = scene.connect("http/1.1").await.unwrap();
    stream.write_all(b"GET /for-ever HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    // Answered on another connection, so the first one is with the handler by now or soon.
    assert!(ask(&mut scene.connect("http/1.1").await.unwrap(), "/").await.starts_with("HTTP/1.1 200"));
    scene.close().await;
    let mut printed = Vec::new();
    drop(timeout(TIME_LIMIT, stream.read_to_end(&mut printed)).await.expect("what did not end is cut"));
    assert!(printed.is_empty());
}

#[tokio::test]
async fn a_stream_that_nobody_reads_is_reset_and_a_quiet_one_is_not() {
    let mut scene = Scene::open(Limits { progress: Duration::from_millis(300), ..Limits::default() }).await;
    let stream = scene.connect("h2").await.unwrap();
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    let driven = tokio::spawn(connection);
    let request = |path: &str| Request::get(format!("https://localhost{path}")).body(Full::new(Bytes::new())).unwrap();
    let quiet = sender.send_request(request("/nothing")).await.unwrap();
    let unread = sender.send_request(request("/much")).await.unwrap();
    let given_up = timeout(TIME_LIMIT, scene.dropped.recv()).await.expect("what nobody reads is given up");
    assert_eq!(given_up, Some("/much"));
    assert_eq!(sender.send_request(request("/")).await.unwrap().status(), 200, "the connection goes on");
    let rest = timeout(TIME_LIMIT, unread.into_body().collect()).await.expect("it has an end");
    assert!(rest.is_err(), "its reader must not take that for a good end");
    assert!(scene.dropped.try_recv().is_err(), "a quiet stream waits");
    drop(quiet);
    assert_eq!(timeout(TIME_LIMIT, scene.dropped.recv()).await.unwrap(), Some("/nothing"));
    driven.abort();
    scene.close().await;
}
