//! The webhook over real TLS: it answers the API server's certificate and nobody else's.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::{fs, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use netloom_admission::Objects;
use netloom_controller::{
    view::Current,
    webhook::{Callers, TlsError, TlsFiles, Webhook},
};
use netloom_https::{Limits, serve};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::oneshot,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        self, ClientConfig, RootCertStore,
        pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _},
    },
};

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn certificate(authority: &Authority, name: &str) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    // Names of users have colons and are no host names.
    let mut params =
        CertificateParams::new(if name.contains(':') { Vec::new() } else { vec![name.to_owned()] }).unwrap();
    params.distinguished_name = DistinguishedName::new();
    if name.contains(':') {
        params.distinguished_name.push(DnType::CommonName, name);
    }
    let certificate = params.signed_by(&key, authority).unwrap();
    (certificate.pem(), key.serialize_pem())
}

/// A webhook that runs until this is dropped.
struct Running {
    address: SocketAddr,
    authority: Authority,
    _stop: oneshot::Sender<()>,
}

impl Running {
    async fn start(name: &str) -> Self {
        Self::start_for(name, Callers::default()).await
    }

    async fn start_for(name: &str, callers: Callers) -> Self {
        let webhook = Webhook::new(Current::of(Objects::default()), Arc::default(), callers);
        Self::run(name, webhook).await
    }

    async fn run(name: &str, webhook: Webhook) -> Self {
        let authority = authority();
        let (certificate, key) = certificate(&authority, "localhost");
        let files = files(name, [&certificate, &key, &authority.pem()]);
        let tls = files.load().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        tokio::spawn(serve(listener, tls, Limits::default(), Arc::new(webhook), async { drop(stopped.await) }));
        Self { address, authority, _stop: stop }
    }

    /// Sends a request and gives the whole answer, or why there is none.
    async fn ask(&self, identity: Option<(String, String)>, request: &str) -> std::io::Result<String> {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.der().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let config = match identity {
            None => config.with_no_client_auth(),
            Some((certificate, key)) => {
                let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
                config.with_client_auth_cert(vec![certificate], key).unwrap()
            }
        };
        let stream = TcpStream::connect(self.address).await?;
        let name = ServerName::try_from("localhost").unwrap();
        let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        // The server closes without saying goodbye in TLS; what was read before counts.
        if let Err(why) = stream.read_to_string(&mut answer).await
            && answer.is_empty()
        {
            return Err(why);
        }
        Ok(answer)
    }
}

fn files(name: &str, texts: [&str; 3]) -> TlsFiles {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    let [certificate, key, client_authority] = ["tls.crt", "tls.key", "ca.crt"].map(|file| folder.join(file));
    for (path, text) in [&certificate, &key, &client_authority].into_iter().zip(texts) {
        fs::write(path, text).unwrap();
    }
    TlsFiles { certificate, key, client_authority }
}

fn post(path: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn question(user: &str) -> String {
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "u-1", "operation": "CREATE", "name": "a",
            "kind": { "group": "nmstate.io", "version": "v1", "kind": "NodeNetworkState" },
            "resource": { "group": "nmstate.io", "version": "v1", "resource": "nodenetworkstates" },
            "userInfo": { "username": user, "groups": ["system:nodes", "system:authenticated"] },
            "object": {
                "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState",
                "metadata": { "name": "a" }, "spec": { "nodeName": "a", "managed": false },
            },
        },
    })
    .to_string()
}

fn body(answer: &str) -> Value {
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[tokio::test]
async fn the_api_server_is_answered() {
    let webhook = Running::start("answered").await;
    let identity = || Some(certificate(&webhook.authority, "kube-apiserver"));
    let own = webhook.ask(identity(), &post("/validate", &question("system:node:a"))).await.unwrap();
    assert_eq!(body(&own)["response"], json!({ "uid": "u-1", "allowed": true }), "{own}");
    let foreign = webhook.ask(identity(), &post("/validate", &question("system:node:b"))).await.unwrap();
    assert_eq!(body(&foreign)["response"]["allowed"], false, "{foreign}");
}

#[tokio::test]
async fn nobody_else_is_answered() {
    let webhook = Running::start("nobody-else").await;
    let request = post("/validate", &question("system:node:a"));
    assert!(webhook.ask(None, &request).await.is_err(), "a caller without a certificate was answered");
    let stranger = certificate(&authority(), "kube-apiserver");
    assert!(webhook.ask(Some(stranger), &request).await.is_err(), "a caller of another authority was answered");
}

#[tokio::test]
async fn of_one_authority_only_those_with_the_name_are_answered() {
    let callers = Callers::named(vec!["front-proxy".to_owned(), "kube-apiserver".to_owned()]);
    let webhook = Running::start_for("names", callers).await;
    let request = post("/validate", &question("system:node:a"));
    let ask = |name| webhook.ask(Some(certificate(&webhook.authority, name)), &request);
    assert!(ask("kube-apiserver").await.unwrap().starts_with("HTTP/1.1 200"));
    let kubelet = ask("system:node:a").await.unwrap();
    assert!(kubelet.starts_with("HTTP/1.1 403"), "{kubelet}");
    let printed = "only front-proxy, kube-apiserver may ask here, and the certificate says [\"system:node:a\"]";
    assert!(kubelet.trim_end().ends_with(printed), "{kubelet}");
}

#[tokio::test]
async fn a_question_that_never_comes_whole_is_ended() {
    let webhook = Webhook::new(Current::of(Objects::default()), Arc::default(), Callers::default());
    let webhook = Running::run("half", webhook.patient_for(Duration::from_millis(50))).await;
    let identity = Some(certificate(&webhook.authority, "kube-apiserver"));
    let head = "POST /validate HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 100\r\n\r\n{";
    let answer = webhook.ask(identity, head).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
}

#[tokio::test]
async fn what_is_no_question_gets_a_clear_status() {
    let webhook = Running::start("no-question").await;
    for (request, status) in [
        (post("/validate", "{"), "400"),
        (post("/elsewhere", "{}"), "404"),
        ("GET /validate HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".to_owned(), "405"),
        ("GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".to_owned(), "200"),
        (post("/validate", &" ".repeat(9 << 20)), "413"),
    ] {
        let identity = Some(certificate(&webhook.authority, "kube-apiserver"));
        let answer = webhook.ask(identity, &request).await.unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{status}: {answer}");
    }
}

#[test]
fn files_that_do_not_fit_are_named() {
    let authority = authority();
    let (certificate, key) = certificate(&authority, "localhost");
    let (certificate, key, root) = (certificate.as_str(), key.as_str(), authority.pem());
    for (texts, file) in
        [(["", key, &root], "tls.crt"), ([certificate, "no key", &root], "tls.key"), ([certificate, key, ""], "ca.crt")]
    {
        let why = files("unfit", texts).load().unwrap_err();
        assert!(why.to_string().contains(file), "{why}");
    }
    let mut missing = files("missing", [certificate, key, &root]);
    missing.key = PathBuf::from("/nowhere/tls.key");
    assert!(matches!(missing.load(), Err(TlsError::File { .. })));
}
