//! HTTP/2 over TLS to a server on loopback. One [`Client`] is one connection.

use std::{error::Error, sync::Arc};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::{
    TlsConnector,
    rustls::{
        self, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
        client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        crypto::{CryptoProvider, aws_lc_rs},
        pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject as _},
    },
};

/// Why something could not be done.
pub type Failure = Box<dyn Error + Send + Sync>;

/// What a connection may have on its way: more than any figure needs, so that the client never
/// holds up the server.
const WINDOW: u32 = 16 << 20;

/// Where a server is, and how its administrator gets in.
#[derive(Clone)]
pub struct Access {
    port: u16,
    tls: Arc<ClientConfig>,
}

/// One connection.
#[derive(Clone)]
pub struct Client {
    port: u16,
    requests: http2::SendRequest<Full<Bytes>>,
}

impl Access {
    /// Reads a kubeconfig with everything inside it.
    pub fn read(kubeconfig: &str, port: u16) -> Result<Self, Failure> {
        let field = |name: &str| {
            let value = kubeconfig.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(": "));
            let value = value.ok_or_else(|| format!("the kubeconfig has no {name}"))?;
            Ok::<_, Failure>(BASE64_STANDARD.decode(value.trim().trim_matches('"'))?)
        };
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(&field("certificate-authority-data")?)?)?;
        let chain = vec![CertificateDer::from_pem_slice(&field("client-certificate-data")?)?];
        let key = PrivateKeyDer::from_pem_slice(&field("client-key-data")?)?;
        let config = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions()?;
        let tls = config.with_root_certificates(roots).with_client_auth_cert(chain, key)?;
        Ok(Self { port, tls: over_http2(tls) })
    }

    /// A new connection.
    pub async fn connect(&self) -> Result<Client, Failure> {
        connect(self.port, Arc::clone(&self.tls)).await
    }
}

impl Client {
    /// A request and its whole answer, which must be a good one.
    pub async fn send(&mut self, method: Method, path: &str, body: Bytes) -> Result<Bytes, Failure> {
        // What a patch says of the rest of an object is nothing.
        let content = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let answer = self.begin(method.clone(), path, content, body).await?;
        let status = answer.status();
        let whole = answer.into_body().collect().await?.to_bytes();
        if !status.is_success() {
            return Err(format!("{method} {path}: {status}: {}", String::from_utf8_lossy(&whole)).into());
        }
        Ok(whole)
    }

    /// A request whose answer does not end: its body, once the server has taken it.
    pub async fn follow(&mut self, path: &str) -> Result<Incoming, Failure> {
        let answer = self.begin(Method::GET, path, "application/json", Bytes::new()).await?;
        if answer.status() != StatusCode::OK {
            return Err(format!("GET {path}: {}", answer.status()).into());
        }
        Ok(answer.into_body())
    }

    /// A watch of what a path lists, from what is there on.
    pub async fn watch(&mut self, path: &str) -> Result<Watch, Failure> {
        Ok(Watch { body: self.follow(&format!("{path}?watch=true")).await?, rest: Vec::new() })
    }

    async fn begin(
        &mut self,
        method: Method,
        path: &str,
        content: &str,
        body: Bytes,
    ) -> Result<Response<Incoming>, Failure> {
        let uri = format!("https://127.0.0.1:{}{path}", self.port);
        let request = Request::builder().method(method).uri(uri).header("content-type", content);
        let request = request.header("user-agent", "netloom-bench").body(Full::new(body))?;
        self.requests.ready().await?;
        Ok(self.requests.send_request(request).await?)
    }
}

/// Events of a watch.
pub struct Watch {
    body: Incoming,
    /// The beginning of an event whose end has not come.
    rest: Vec<u8>,
}

impl Watch {
    /// The next event; an error when there will be none.
    pub async fn next(&mut self) -> Result<Value, Failure> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return Ok(serde_json::from_slice(&line)?);
            }
            let frame = self.body.frame().await.ok_or("the watch has ended")??;
            if let Some(data) = frame.data_ref() {
                self.rest.extend_from_slice(data);
            }
        }
    }
}

/// Whether a server says that it is ready. Nobody else is on a port of loopback that was free a
/// moment ago, so it need not prove who it is.
pub async fn is_ready(port: u16) -> bool {
    let config = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    let Ok(config) = config else { return false };
    let tls = config.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider()))).with_no_client_auth();
    let Ok(mut client) = connect(port, over_http2(tls)).await else { return false };
    client.send(Method::GET, "/readyz", Bytes::new()).await.is_ok()
}

async fn connect(port: u16, tls: Arc<ClientConfig>) -> Result<Client, Failure> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    let stream = TlsConnector::from(tls).connect(ServerName::try_from("127.0.0.1")?, stream).await?;
    let (requests, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_connection_window_size(WINDOW)
        .handshake(TokioIo::new(stream))
        .await?;
    // It ends with the server, which the requests on it tell better.
    tokio::spawn(async { drop(connection.await) });
    Ok(Client { port, requests })
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

fn over_http2(mut config: ClientConfig) -> Arc<ClientConfig> {
    config.alpn_protocols = vec![b"h2".to_vec()];
    Arc::new(config)
}

/// Takes every certificate.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
