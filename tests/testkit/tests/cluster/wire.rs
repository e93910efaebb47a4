//! Plain HTTPS requests, exactly as a script says them.
//!
//! No client library stands between: odd headers, broken bodies and half-read watches are what the
//! scripts are about. Every request has a connection of its own, so that none can spoil the next.

use std::{path::Path, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use netloom_testkit::timeouts::stretched;
use serde_json::Value;
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::aws_lc_rs,
        pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _},
    },
};

use crate::script::json_of;

/// No answer takes longer: the longest that is asked for is a read of a version that never comes.
const TIME_LIMIT: Duration = Duration::from_secs(40);

/// A server, and how to be its administrator or nobody.
pub(crate) struct Wire {
    authority: String,
    admin: TlsConnector,
    nobody: TlsConnector,
    token: Option<String>,
}

/// Whose credentials go with a request.
pub(crate) enum Credentials<'a> {
    Admin,
    Token(&'a str),
    None,
}

/// A whole answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
}

/// An answer that goes on: a watch, line by line.
pub(crate) struct Lines {
    pub(crate) code: u16,
    pub(crate) headers: Vec<(String, String)>,
    body: Incoming,
    buffer: BytesMut,
}

impl Wire {
    /// Reads how to reach a server from a kubeconfig.
    pub(crate) fn new(kubeconfig: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(kubeconfig).map_err(|error| format!("{}: {error}", kubeconfig.display()))?;
        let config = json_of(&text)?;
        let (cluster, user) = (&config["clusters"][0]["cluster"], &config["users"][0]["user"]);
        let authority = cluster["server"]
            .as_str()
            .and_then(|server| server.strip_prefix("https://"))
            .ok_or("the server is not https")?;
        let data = |value: &Value| value.as_str().map(pem).transpose();
        let roots = roots(&data(&cluster["certificate-authority-data"])?.ok_or("no authority's certificate")?)?;
        let identity = data(&user["client-certificate-data"])?.zip(data(&user["client-key-data"])?);
        Ok(Self {
            authority: authority.trim_end_matches('/').to_owned(),
            admin: connector(&roots, identity)?,
            nobody: connector(&roots, None)?,
            token: user["token"].as_str().map(str::to_owned),
        })
    }

    /// HOST:PORT.
    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    /// Sends a request and reads the whole answer.
    pub(crate) async fn send(&self, request: Request<Bytes>, who: &Credentials<'_>) -> Result<Answer, String> {
        timeout(stretched(TIME_LIMIT), async {
            let response = self.begin(request, who).await?;
            let (code, headers) = head(&response);
            let body =
                response.into_body().collect().await.map_err(|error| format!("the answer breaks off: {error}"))?;
            Ok(Answer { code, headers, body: body.to_bytes() })
        })
        .await
        .map_err(|_| format!("no answer within {:?}", stretched(TIME_LIMIT)))?
    }

    /// Sends a request whose answer is read line by line.
    pub(crate) async fn open(&self, request: Request<Bytes>, who: &Credentials<'_>) -> Result<Lines, String> {
        let response = timeout(stretched(TIME_LIMIT), self.begin(request, who))
            .await
            .map_err(|_| format!("no answer within {:?}", stretched(TIME_LIMIT)))??;
        let (code, headers) = head(&response);
        Ok(Lines { code, headers, body: response.into_body(), buffer: BytesMut::new() })
    }

    async fn begin(&self, mut request: Request<Bytes>, who: &Credentials<'_>) -> Result<Response<Incoming>, String> {
        let (connector, token) = match who {
            Credentials::Admin => (&self.admin, self.token.as_deref()),
            Credentials::Token(token) => (&self.nobody, Some(*token)),
            Credentials::None => (&self.nobody, None),
        };
        let headers = request.headers_mut();
        headers.insert("host", self.authority.parse().map_err(|_| "the host is no header value")?);
        if let Some(token) = token {
            headers
                .insert("authorization", format!("Bearer {token}").parse().map_err(|_| "a token with odd characters")?);
        }
        let stream = TcpStream::connect(&self.authority).await.map_err(|error| format!("connect: {error}"))?;
        let host = self.authority.rsplit_once(':').map_or(self.authority.as_str(), |(host, _)| host).to_owned();
        let name = ServerName::try_from(host).map_err(|error| error.to_string())?;
        let stream = connector.connect(name, stream).await.map_err(|error| format!("TLS: {error}"))?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
        // It ends with the answer, or when the answer is dropped.
        tokio::spawn(connection);
        sender.send_request(request.map(Full::new)).await.map_err(|error| format!("request: {error}"))
    }
}

impl Lines {
    /// The next line, or nothing when the server has ended the answer.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, String> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(end + 1);
                return Ok(Some(String::from_utf8_lossy(&line[..end]).into_owned()));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => self.buffer.extend_from_slice(frame.data_ref().map_or(&[], |data| &data[..])),
                Some(Err(error)) => return Err(format!("the answer breaks off: {error}")),
                None if self.buffer.is_empty() => return Ok(None),
                None => return Ok(Some(String::from_utf8_lossy(&self.buffer.split()).into_owned())),
            }
        }
    }
}

fn head(response: &Response<Incoming>) -> (u16, Vec<(String, String)>) {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = response.headers().iter().map(|(name, value)| (name.to_string(), text(value)));
    (response.status().as_u16(), headers.collect())
}

fn pem(base64: &str) -> Result<Vec<u8>, String> {
    STANDARD.decode(base64).map_err(|error| format!("a kubeconfig with broken base64: {error}"))
}

fn roots(pem: &[u8]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    Ok(roots)
}

fn connector(roots: &RootCertStore, identity: Option<(Vec<u8>, Vec<u8>)>) -> Result<TlsConnector, String> {
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots.clone());
    let config = match identity {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&certificate).collect();
            let key = PrivateKeyDer::from_pem_slice(&key).map_err(|error| error.to_string())?;
            builder
                .with_client_auth_cert(chain.map_err(|error| error.to_string())?, key)
                .map_err(|error| error.to_string())?
        }
    };
    Ok(TlsConnector::from(Arc::new(config)))
}
