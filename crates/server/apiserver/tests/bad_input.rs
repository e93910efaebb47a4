//! Everything that a broken or hostile client can send, over a real connection: it is refused with a
//! clear status or cut off, memory stays bounded, and others are served on.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::{path::PathBuf, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use netloom_apiserver::{
    ca::{Authority, Credentials},
    server::{ADMINISTRATOR, Limits, Options, Server, authority_path},
    tokens::{AUDIENCE, Claims, Tokens},
};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::aws_lc_rs,
        pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _},
    },
};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const MASTERS: &str = "system:masters";
const TIME_LIMIT: Duration = Duration::from_mins(1);

/// A server in a folder of its own, with a client of any kind.
struct Scene {
    server: Server,
    folder: PathBuf,
}

impl Scene {
    async fn open(name: &str, limits: Limits) -> Self {
        let folder = std::env::temp_dir().join(format!("netloom-bad-{name}-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&folder));
        let listen = "127.0.0.1:0".parse().unwrap();
        let server =
            Server::start(Options { folder: folder.clone(), listen, remote: false, limits, agent_taints: Vec::new() })
                .await
                .unwrap();
        Self { server, folder }
    }

    async fn close(self) {
        self.server.stop().await;
        drop(std::fs::remove_dir_all(&self.folder));
    }

    fn administrator(&self) -> Credentials {
        self.server.authority().client(ADMINISTRATOR, &[MASTERS], Timestamp::now()).unwrap()
    }

    async fn connect(&self, credentials: Option<Credentials>) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.server.authority().certificate_der().unwrap()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let config = match credentials {
            None => config.with_no_client_auth(),
            Some(Credentials { certificate, key }) => {
                let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
                config.with_client_auth_cert(vec![certificate], key).unwrap()
            }
        };
        let stream = TcpStream::connect(self.server.address()).await?;
        TlsConnector::from(Arc::new(config)).connect(ServerName::try_from("localhost").unwrap(), stream).await
    }

    /// Sends bytes as the administrator and reads until the server has sent everything.
    async fn exchange(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect(Some(self.administrator())).await.unwrap();
        // A server that has heard enough closes before everything is written.
        stream.write_all(bytes).await.ok();
        stream.flush().await.ok();
        rest(&mut stream).await
    }

    /// The code and the status of an answer to one request.
    async fn ask(&self, line: &str, headers: &str, body: &[u8]) -> (u16, Value) {
        let head = format!(
            "{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n",
            body.len()
        );
        answer(&self.exchange(&[head.as_bytes(), body].concat()).await)
    }

    async fn is_ready(&self) {
        assert_eq!(self.ask("GET /readyz", "", b"").await.0, 200);
    }
}

async fn rest(stream: &mut TlsStream<TcpStream>) -> String {
    let mut all = Vec::new();
    drop(timeout(TIME_LIMIT, stream.read_to_end(&mut all)).await.expect("the server ends the connection"));
    String::from_utf8_lossy(&all).into_owned()
}

fn answer(text: &str) -> (u16, Value) {
    let code = text.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default();
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
    (code, serde_json::from_str(body).unwrap_or_default())
}

fn nested(open: &str, close: &str, levels: usize) -> Vec<u8> {
    let inner = format!("{}1{}", open.repeat(levels), close.repeat(levels));
    format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"a"}},"data":{inner}}}"#).into_bytes()
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_are_no_objects_are_refused() {
    let scene = Scene::open("bodies", Limits::default()).await;
    let json = "Content-Type: application/json\r\n";
    let yaml = "Content-Type: application/yaml\r\n";
    let whole = br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}"#;
    let twice = br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"},"data":{"k":"w"}}"#;
    let post = format!("POST {MAPS}");
    for cut in [0, 1, 17, whole.len() - 1] {
        let (code, status) = scene.ask(&post, json, &whole[..cut]).await;
        assert_eq!((code, &status["kind"]), (400, &Value::from("Status")), "cut at {cut}: {status}");
    }
    let cases: [(&str, Vec<u8>, u16); 13] = [
        (json, b"\xff\xfe\x00".to_vec(), 400),
        (yaml, b"\xff\xfe\x00".to_vec(), 400),
        (json, nested("[", "]", 200), 400),
        (json, nested("{\"a\":", "}", 100_000), 400),
        (yaml, nested("[", "]", 20_000), 400),
        (yaml, b"a: &a [*a, *a]\n".to_vec(), 400),
        (json, b"null".to_vec(), 422),
        (json, b"[]".to_vec(), 400),
        (json, b"1e999".to_vec(), 400),
        (json, [b"{\"data\":\"".as_slice(), &vec![b'x'; 4 << 20], b"\"}"].concat(), 413),
        ("Content-Type: text/plain\r\n", whole.to_vec(), 415),
        ("Content-Type: application/x-www-form-urlencoded\r\n", whole.to_vec(), 415),
        ("Content-Type: multipart/form-data; boundary=x\r\n", whole.to_vec(), 415),
    ];
    for (headers, body, expected) in cases {
        let (code, status) = scene.ask(&post, headers, &body).await;
        let shown = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
        assert_eq!((code, &status["status"]), (expected, &Value::from("Failure")), "{headers} {shown}: {status}");
    }
    let strict = format!("{post}?fieldValidation=Strict");
    let (code, status) = scene.ask(&strict, json, twice).await;
    assert!(code == 400 && status["message"].as_str().unwrap().contains("duplicate field"), "{status}");
    assert_eq!(scene.ask(&post, json, whole).await.0, 201, "none of them was stored");
    scene.is_ready().await;
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn patches_selectors_and_marks_that_mean_nothing_are_refused() {
    let scene = Scene::open("patches", Limits::default()).await;
    let whole = br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}"#;
    assert_eq!(scene.ask(&format!("POST {MAPS}"), "Content-Type: application/json\r\n", whole).await.0, 201);
    for (kind, body) in [
        ("json-patch+json", "{}"),
        ("json-patch+json", "[{\"op\":\"explode\",\"path\":\"/data\"}]"),
        ("json-patch+json", "[{\"op\":\"add\",\"path\":\"data\",\"value\":1}]"),
        ("json-patch+json", "[{\"op\":\"remove\",\"path\":\"/nothing/here\"}]"),
        ("json-patch+json", "[{\"op\":\"add\"}]"),
        ("json-patch+json", "[1,2"),
        ("merge-patch+json", "[]"),
        ("merge-patch+json", "{\"data\":"),
        ("merge-patch+json", "{\"data\":{\"k\":1}}"),
        ("strategic-merge-patch+json", "7"),
        ("strategic-merge-patch+json", "{\"metadata\":{\"$patch\":\"explode\"}}"),
        ("apply-patch+yaml", "a: ["),
        ("apply-patch+yaml", "- 1"),
        ("nothing-known", "{}"),
    ] {
        let line = format!("PATCH {MAPS}/a?fieldManager=m");
        let (code, status) = scene.ask(&line, &format!("Content-Type: application/{kind}\r\n"), body.as_bytes()).await;
        assert!((400..500).contains(&code) && status["kind"] == "Status", "{kind} {body}: {code} {status}");
    }
    for query in [
        "labelSelector=a%20in%20(",
        "labelSelector=!!a",
        "labelSelector=a=b%20c",
        "fieldSelector=spec.nope=1",
        "fieldSelector=metadata.name",
        "limit=many",
        "continue=rubbish",
        "continue=eyJ2IjoibWV0YSJ9",
        "resourceVersion=soon",
        "resourceVersion=1&resourceVersionMatch=Never",
        "watch=true&resourceVersion=-1",
        "watch=true&timeoutSeconds=never",
    ] {
        let (code, status) = scene.ask(&format!("GET {MAPS}?{query}"), "", b"").await;
        assert!((400..500).contains(&code) && status["kind"] == "Status", "{query}: {code} {status}");
    }
    for line in ["GET /api/v1/namespaces//configmaps", "GET /api/v1/namespaces/a/configmaps/%ff", "BREW /api/v1/pods"] {
        let (code, _) = scene.ask(line, "", b"").await;
        assert!((400..500).contains(&code), "{line}: {code}");
    }
    let (_, stored) = scene.ask(&format!("GET {MAPS}/a"), "", b"").await;
    assert_eq!(stored["data"], serde_json::json!({ "k": "v" }), "it is as it was");
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_shall_never_end_is_one_that_ends_later() {
    let scene = Scene::open("endless", Limits::default()).await;
    for seconds in [i64::MAX, i64::MAX / 1_000, i64::from(u32::MAX)] {
        let mut stream = scene.connect(Some(scene.administrator())).await.unwrap();
        let head = format!("GET {MAPS}?watch=1&timeoutSeconds={seconds} HTTP/1.1\r\nHost: a\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut beginning = [0; 15];
        timeout(TIME_LIMIT, stream.read_exact(&mut beginning)).await.unwrap().unwrap();
        assert_eq!(&beginning, b"HTTP/1.1 200 OK", "{seconds}");
    }
    scene.is_ready().await;
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_break_off_end_there() {
    // A length that never comes is waited for as long as for any request.
    let scene = Scene::open("broken", Limits { request_time: Duration::from_secs(2), ..Limits::default() }).await;
    let head = format!("POST {MAPS} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\n");
    let mut stream = scene.connect(Some(scene.administrator())).await.unwrap();
    stream.write_all(format!("{head}Content-Length: 1000\r\n\r\n{{\"metadata\":").as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let printed = rest(&mut stream).await;
    assert!(printed.is_empty() || answer(&printed).0 == 400, "{printed}");
    for wrong in [
        format!("{head}Transfer-Encoding: chunked\r\n\r\nnonsense\r\n"),
        format!("{head}Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"),
        format!("{head}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
        format!("{head}Content-Length: -1\r\n\r\n"),
        "GET\r\n\r\n".to_owned(),
        "\x16\x03\x01 not a request\r\n\r\n".to_owned(),
        format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(200 << 10)),
        format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(200 << 10)),
    ] {
        let printed = scene.exchange(wrong.as_bytes()).await;
        let code = answer(&printed).0;
        let refused = printed.is_empty() || (400..500).contains(&code) || code == 504;
        assert!(refused, "{}: {printed}", &wrong[..wrong.len().min(60)]);
    }
    scene.is_ready().await;
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_clients_lose_their_place() {
    let mut limits = Limits { request_time: Duration::from_millis(500), ..Limits::default() };
    limits.listener.head = Duration::from_millis(500);
    let scene = Scene::open("slow", limits).await;
    // A head that never ends.
    let mut stream = scene.connect(Some(scene.administrator())).await.unwrap();
    stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: a\r\nX-Slow: ").await.unwrap();
    let printed = rest(&mut stream).await;
    assert!(printed.is_empty() || answer(&printed).0 == 408, "{printed}");
    // A body that never ends.
    let mut stream = scene.connect(Some(scene.administrator())).await.unwrap();
    let head =
        format!("POST {MAPS} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{{");
    stream.write_all(head.as_bytes()).await.unwrap();
    let (code, status) = answer(&rest(&mut stream).await);
    assert_eq!((code, &status["reason"]), (504, &Value::from("Timeout")), "{status}");
    scene.is_ready().await;
    scene.close().await;
}

/// Pages of this process that are in memory, in bytes.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_wait_for_their_end_take_bounded_memory() {
    const CLIENTS: usize = 64;
    const SENT: usize = 2 << 20;
    let limits = Limits { bodies: 8 << 20, request_time: Duration::from_secs(20), ..Limits::default() };
    let scene = Scene::open("memory", limits).await;
    let before = resident();
    let piece: Arc<[u8]> = vec![b' '; 64 << 10].into();
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let mut stream = scene.connect(Some(scene.administrator())).await.unwrap();
        let piece = Arc::clone(&piece);
        clients.push(tokio::spawn(async move {
            let head = format!(
                "POST {MAPS} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                3 << 20
            );
            stream.write_all(head.as_bytes()).await.ok();
            for _ in 0..SENT / piece.len() {
                if stream.write_all(&piece).await.is_err() {
                    return;
                }
            }
            std::future::pending::<()>().await;
        }));
    }
    // Those without a body need no room, so they are answered while the others wait for theirs.
    for _ in 0..20 {
        scene.is_ready().await;
        assert_eq!(scene.ask(&format!("GET {MAPS}"), "", b"").await.0, 200);
    }
    let more = resident().saturating_sub(before);
    assert!(more < CLIENTS * SENT / 2, "{} MiB for {CLIENTS} bodies of {} MiB", more >> 20, SENT >> 20);
    clients.iter().for_each(tokio::task::JoinHandle::abort);
    scene.close().await;
}

/// A request that goes on for as long as its connection.
async fn ask_and_stay(scene: &Scene, credentials: Credentials, request: &str) -> (TlsStream<TcpStream>, String) {
    let mut stream = scene.connect(Some(credentials)).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut beginning = vec![0; 12];
    timeout(TIME_LIMIT, stream.read_exact(&mut beginning)).await.expect("the server answers").unwrap();
    (stream, String::from_utf8(beginning).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn one_who_watches_too_much_leaves_places_for_others() {
    let scene = Scene::open("watches", Limits { watches: 4, ..Limits::default() }).await;
    let other = || scene.server.authority().client("other", &[MASTERS], Timestamp::now()).unwrap();
    let watch = format!("GET {MAPS}?watch=1 HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut open = Vec::new();
    for _ in 0..3 {
        let (stream, printed) = ask_and_stay(&scene, scene.administrator(), &watch).await;
        assert_eq!(printed, "HTTP/1.1 200");
        open.push(stream);
    }
    let (code, status) = scene.ask(&format!("GET {MAPS}?watch=1"), "", b"").await;
    assert_eq!((code, &status["reason"]), (429, &Value::from("TooManyRequests")));
    assert_eq!(status["details"]["retryAfterSeconds"], 1);
    assert_eq!(ask_and_stay(&scene, other(), &watch).await.1, "HTTP/1.1 200", "another one has places left");
    assert_eq!(scene.ask(&format!("GET {MAPS}"), "", b"").await.0, 200, "what is no watch goes on");
    open.pop();
    let again = async {
        while ask_and_stay(&scene, scene.administrator(), &watch).await.1 != "HTTP/1.1 200" {
            tokio::task::yield_now().await;
        }
    };
    timeout(TIME_LIMIT, again).await.expect("a place that was left can be taken");
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_who_asks_too_much_leaves_places_for_others() {
    let scene = Scene::open("share", Limits { requests: 4, ..Limits::default() }).await;
    let head = format!("POST {MAPS} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n");
    let slow = |length: &str| format!("{head}{length}\r\n\r\n");
    let bob = scene.server.authority().client("bob", &[MASTERS], Timestamp::now()).unwrap();
    let mut stream = scene.connect(Some(bob.clone())).await.unwrap();
    stream.write_all(slow("Content-Length: 90").as_bytes()).await.unwrap();
    let get = format!("GET {MAPS} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let turned_away = async {
        while ask_and_stay(&scene, bob.clone(), &get).await.1 != "HTTP/1.1 429" {
            tokio::task::yield_now().await;
        }
    };
    timeout(TIME_LIMIT, turned_away).await.expect("a quarter of four places is one");
    assert_eq!(scene.ask(&format!("GET {MAPS}"), "", b"").await.0, 200, "another one is answered");
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_without_a_length_take_room_as_they_come() {
    // Room for four of the longest, a quarter of it for each user.
    let scene = Scene::open("chunked", Limits { bodies: 12 << 20, ..Limits::default() }).await;
    let head = format!(
        "POST {MAPS} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    let mut slow = Vec::new();
    for _ in 0..8 {
        let mut stream = scene.connect(Some(scene.administrator())).await.unwrap();
        stream.write_all(format!("{head}1\r\n{{\r\n").as_bytes()).await.unwrap();
        slow.push(stream);
    }
    let whole = br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#;
    let post = format!("POST {MAPS}");
    let asked = scene.ask(&post, "Content-Type: application/json\r\n", whole);
    let (code, status) = timeout(Duration::from_secs(20), asked).await.expect("others have room");
    assert_eq!(code, 201, "{status}");
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_that_stop_in_a_list_take_bounded_memory() {
    const OBJECTS: usize = 48;
    const READERS: usize = 12;
    let scene = Scene::open("readers", Limits::default()).await;
    for number in 0..OBJECTS {
        let data = "x".repeat(1 << 20);
        let map = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"m{number}"}},"data":{{"k":"{data}"}}}}"#
        );
        let made = scene.ask(&format!("POST {MAPS}"), "Content-Type: application/json\r\n", map.as_bytes()).await;
        assert_eq!(made.0, 201);
    }
    let before = resident();
    let mut readers = Vec::new();
    for _ in 0..READERS {
        let list = format!("GET {MAPS} HTTP/1.1\r\nHost: a\r\n\r\n");
        let (stream, printed) = ask_and_stay(&scene, scene.administrator(), &list).await;
        assert_eq!(printed, "HTTP/1.1 200");
        readers.push(stream);
    }
    for _ in 0..20 {
        scene.is_ready().await;
    }
    let more = resident().saturating_sub(before);
    // Each has the object that is sent, the one behind it and the one being read, as stored and as text.
    assert!(more < READERS * (8 << 20), "{} MiB for {READERS} readers of {OBJECTS} MiB", more >> 20);
    drop(readers);
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_credentials_are_none() {
    let scene = Scene::open("credentials", Limits::default()).await;
    let line = format!("GET {MAPS} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n");
    let ask = async |credentials: Option<Credentials>, headers: &str| -> u16 {
        // A certificate that does not count may end the connection instead of the request.
        let Ok(mut stream) = scene.connect(credentials).await else { return 401 };
        if stream.write_all(format!("{line}{headers}\r\n").as_bytes()).await.is_err() {
            return 401;
        }
        let printed = rest(&mut stream).await;
        if printed.is_empty() { 401 } else { answer(&printed).0 }
    };
    assert_eq!(ask(Some(scene.administrator()), "").await, 200);
    assert_eq!(ask(None, "").await, 401);
    let elsewhere = scene.folder.join("elsewhere");
    let stranger = Authority::open(&elsewhere, Timestamp::now()).unwrap();
    let forged = stranger.client(ADMINISTRATOR, &[MASTERS], Timestamp::now()).unwrap();
    assert_eq!(ask(Some(forged), "").await, 401, "somebody else's authority");
    let long_ago = Timestamp::now().saturating_sub(SignedDuration::from_hours(24 * 400)).unwrap();
    let old = scene.server.authority().client(ADMINISTRATOR, &[MASTERS], long_ago).unwrap();
    assert_eq!(ask(Some(old), "").await, 401, "its time is over");
    for token in ["", "rubbish", "a.b.c", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.", &"x".repeat(40 << 10)] {
        assert_eq!(ask(None, &format!("Authorization: Bearer {token}\r\n")).await, 401);
    }
    assert_eq!(ask(None, "Authorization: Basic YTpi\r\n").await, 401);

    let made = br#"{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"robot"}}"#;
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let (code, made) = scene.ask(&format!("POST {accounts}"), "Content-Type: application/json\r\n", made).await;
    assert_eq!(code, 201, "{made}");
    let tokens = Tokens::open(&authority_path(&scene.folder), [0; 32]).unwrap();
    let claims = Claims {
        namespace: "default".into(),
        account: "robot".into(),
        uid: made["metadata"]["uid"].as_str().unwrap().into(),
        audiences: vec![AUDIENCE.into()],
        id: "1".into(),
        ..Claims::default()
    };
    let hour = SignedDuration::from_hours(1);
    let bearer = |from: Timestamp| format!("Authorization: Bearer {}\r\n", tokens.issue(&claims, from, hour));
    assert_eq!(ask(None, &bearer(Timestamp::now())).await, 403, "the account is known, and may nothing");
    let earlier = Timestamp::now().saturating_sub(SignedDuration::from_hours(2)).unwrap();
    assert_eq!(ask(None, &bearer(earlier)).await, 401, "the token has expired");
    scene.close().await;
}
