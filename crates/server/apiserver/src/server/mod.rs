//! The server as a whole: from a folder and an address to something that answers.
//!
//! The order of a start is that nothing is touched before the folder is ours, and nobody is let in
//! before everything is there; so whoever connects finds a server that is ready.

mod about;
mod answer;
mod compress;
mod documents;
mod front;
mod gather;
mod open;
mod paths;
mod places;

use std::{
    fs, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use self::front::{Front, Parts};
pub use self::paths::{BACKUP_PATH, IDENTITY_PATH};
use jiff::Timestamp;
use netloom_admission::taints::TaintKey;
use netloom_store::Store;
use tokio::{
    net::TcpListener,
    task::{JoinHandle, JoinSet},
};
use tokio_rustls::rustls;

use crate::{
    authn::Authenticator,
    bootstrap::{self, BootstrapError},
    ca::{Authority, CaError, write_passing},
    identity::{Certificates, Kubeconfig},
    rbac::{Access, MASTERS},
    resources::{
        Api,
        clock::{Source, System},
    },
    tokens::Tokens,
};

const STORE_FILE: &str = "store.redb";
const PKI_FOLDER: &str = "pki";
const ADDRESS_FILE: &str = "address";
/// Names under which programs inside a cluster look for their server.
const NAMES: [&str; 5] =
    ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"];
/// The user of the kubeconfig that a start writes.
pub const ADMINISTRATOR: &str = "netloom:administrator";

/// How much one client, and all of them together, may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// What connections may take.
    pub listener: netloom_https::Limits,
    /// Requests that are being answered at once, watches not counted; each user has a quarter of them.
    /// More are asked to come again in a second.
    pub requests: usize,
    /// Watches at once; each user has three quarters of them. More are asked to come again in a second.
    pub watches: usize,
    /// Bytes of one body.
    pub body: usize,
    /// Bytes of all bodies that are being read or worked on; each user has a quarter of them. More wait
    /// for their turn.
    pub bodies: usize,
    /// Time for a request, from its headers to the beginning of its answer.
    pub request_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        // A watch over HTTP/1.1 holds a connection of its own, so there are as many as watches, and a peer has as
        // many as one user has watches: all nodes may be behind one address.
        let listener = netloom_https::Limits {
            connections: 16_384,
            of_peer: 12_288,
            unknown_of_peer: 4_096,
            of_subnet: 14_336,
            unknown_of_subnet: 8_192,
            ending: Duration::from_secs(2),
            ..netloom_https::Limits::default()
        };
        Self {
            listener,
            requests: 1_024,
            watches: 16_384,
            body: 3 << 20,
            bodies: 96 << 20,
            request_time: Duration::from_mins(1),
        }
    }
}

/// What a server is started with.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where everything is kept.
    pub folder: PathBuf,
    /// Where to listen; port 0 takes any.
    pub listen: SocketAddr,
    /// Whether other machines may be let in.
    pub remote: bool,
    /// How much clients may take.
    pub limits: Limits,
    /// The keys of taints that agents may take off their Nodes.
    pub agent_taints: Vec<TaintKey>,
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is open to other machines and nobody confirmed that this is meant.
    #[error(
        "{0} can be reached from other machines; this server listens on loopback unless configured to allow others"
    )]
    Remote(SocketAddr),
    /// The folder cannot be used.
    #[error("cannot use the folder {}: {source}; name another data folder, or let this user write there", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The store does not open.
    #[error(transparent)]
    Store(#[from] netloom_store::OpenError),
    /// The store does not answer.
    #[error(transparent)]
    Read(#[from] netloom_store::ReadError),
    /// There is no authority.
    #[error(transparent)]
    Authority(#[from] CaError),
    /// What must be there from the start cannot be written.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    /// Objects cannot be served.
    #[error("{0}")]
    Objects(String),
    /// TLS cannot be set up.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// The address is taken, or not ours.
    #[error("cannot listen on {address}: {source}; stop what listens there, or name another address")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

impl StartError {
    /// A stable word for it.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Remote(_) => "NotLoopback",
            Self::Folder { .. } => "DataFolder",
            Self::Store(error) => error.reason(),
            Self::Read(error) => error.reason(),
            Self::Authority(error) => error.reason(),
            Self::Bootstrap(error) => error.reason(),
            Self::Objects(_) => "Objects",
            Self::Tls(_) => "Tls",
            Self::Listen { .. } => "Listen",
        }
    }
}

/// A server that answers.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    authority: Arc<Authority>,
    folder: PathBuf,
    stop: open::Stop,
    accepting: JoinHandle<()>,
    /// Ends with the server.
    background: JoinSet<()>,
}

impl Server {
    /// Opens a folder and answers from it. When this returns, the server is ready.
    ///
    /// # Panics
    /// Never: the task that makes the keys neither panics nor is stopped.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let Options { folder, listen, remote, limits, agent_taints } = options;
        if !remote && !listen.ip().is_loopback() {
            return Err(StartError::Remote(listen));
        }
        // Before anything is made: a server that cannot listen leaves nothing behind.
        let listener = TcpListener::bind(listen).await;
        let listener = listener.map_err(|source| StartError::Listen { address: listen, source })?;
        let address = listener.local_addr().map_err(|source| StartError::Listen { address: listen, source })?;
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(|source| StartError::Folder { path: folder.clone(), source })?;
        // The store locks its file, so from here on the folder is ours.
        let store = Store::open(&folder.join(STORE_FILE), netloom_store::Options::default())?;
        let source: Arc<dyn Source> = Arc::new(System);
        let now = source.now();
        // Keys are made beside the first objects: most of both is waiting for the disk.
        let (pki, fresh) = (folder.join(PKI_FOLDER), fresh_key(&*source));
        let keys = tokio::task::spawn_blocking(move || keys(&pki, fresh, now));
        bootstrap::install(&store, &*source).await?;
        let access = Arc::new(Access::open(store.clone())?);
        let guard = Arc::clone(&access);
        let api = Api::open(store.clone(), Arc::clone(&source), Some(agent_taints), guard).await;
        let api = api.map_err(|status| StartError::Objects(status.message().to_owned()))?;
        let mut background = JoinSet::new();
        background.spawn(gather::follow(store.clone(), Arc::clone(&access), Arc::clone(&api)));
        let (authority, tokens) = keys.await.expect("making keys does not panic, and nobody stops it")?;
        let certificates = Certificates::of(authority.certificate_der()?)?;
        let tls = tls(&authority, &certificates, address.ip(), now)?;
        let authenticator = Authenticator::new(certificates, tokens, store);
        let authority = Arc::new(authority);
        let (stop, ending) = open::end();
        let parts = Parts {
            api,
            access,
            authenticator,
            authority: Arc::clone(&authority),
            source,
            folder: folder.clone(),
            ending: ending.clone(),
        };
        let front = Arc::new(Front::new(parts, address, limits));
        let path = folder.join(ADDRESS_FILE);
        let written = write_passing(&path, url(address).as_bytes());
        written.map_err(|source| StartError::Folder { path: folder.clone(), source })?;
        let accepting = tokio::spawn(netloom_https::serve(listener, tls, limits.listener, front, ending.come()));
        Ok(Self { address, authority, folder, stop, accepting, background })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address for clients.
    pub fn url(&self) -> String {
        url(self.address)
    }

    /// The authority that signs for it.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The kubeconfig of an administrator.
    pub fn administrator(&self, now: Timestamp) -> Result<String, CaError> {
        let credentials = self.authority.client(ADMINISTRATOR, &[MASTERS], now)?;
        let (server, authority) = (self.url(), self.authority.certificate());
        Ok(Kubeconfig { server: &server, authority, user: ADMINISTRATOR, credentials: &credentials }.text())
    }

    /// Lets nobody in any more, ends watches, gives requests in progress a moment, and ends.
    pub async fn stop(mut self) {
        drop(fs::remove_file(self.folder.join(ADDRESS_FILE)));
        self.stop.now();
        if let Err(error) = self.accepting.await {
            tracing::error!(%error, "the server did not end well");
        }
        self.background.shutdown().await;
    }
}

/// Where the store of a folder is.
pub fn store_path(folder: &Path) -> PathBuf {
    folder.join(STORE_FILE)
}

/// Where the authority of a folder is.
pub fn authority_path(folder: &Path) -> PathBuf {
    folder.join(PKI_FOLDER)
}

/// The address of the server that runs on a folder, if one does.
pub fn running_at(folder: &Path) -> Option<String> {
    fs::read_to_string(folder.join(ADDRESS_FILE)).ok()
}

fn url(address: SocketAddr) -> String {
    // One that listens everywhere is reached here under a name that its certificate has.
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    format!("https://{}", SocketAddr::new(ip, address.port()))
}

/// The keys of the folder, made where they are missing.
fn keys(pki: &Path, fresh: [u8; 32], now: Timestamp) -> Result<(Authority, Tokens), CaError> {
    Ok((Authority::open(pki, now)?, Tokens::open(pki, fresh)?))
}

fn fresh_key(source: &dyn Source) -> [u8; 32] {
    let mut key = [0; 32];
    let (left, right) = key.split_at_mut(16);
    left.copy_from_slice(&source.random());
    right.copy_from_slice(&source.random());
    key
}

fn tls(
    authority: &Authority,
    certificates: &Certificates,
    own: IpAddr,
    now: Timestamp,
) -> Result<Arc<rustls::ServerConfig>, StartError> {
    let mut addresses = vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    if !own.is_unspecified() && !addresses.contains(&own) {
        addresses.push(own);
    }
    let pair = authority.server(&NAMES, &addresses, now)?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(certificates.verifier())
        .with_single_cert(pair.chain, pair.key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
