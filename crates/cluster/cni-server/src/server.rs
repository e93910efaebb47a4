//! The socket: who may call, how many at once, and what each caller is answered.

use std::{
    fs, io,
    os::unix::{
        fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _},
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use kube::Client;
use netloom_cnispec::{Answer, Call, Code, Config, Failure, Version};
use netloom_model::EngineError;
use netloom_netlink::{KernelHost, Namespace};
use netloom_podnet::Node;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use tokio::task::JoinSet;

use crate::{
    calls::{Calls, serve},
    follow::Follower,
    records::Records,
};

/// A caller that sends nothing for so long is none.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a server is told.
#[derive(Debug, Clone)]
pub struct Options {
    /// The node.
    pub node: String,
    /// The network namespace that is the node.
    pub netns: Namespace,
    /// The socket; records are beside it.
    pub socket: PathBuf,
    /// How long a call may wait for what the node does not know yet, and an interface may take.
    pub timeout: Duration,
    /// How many calls may be open.
    pub queue: usize,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The folder, the socket or a record cannot be used.
    #[error("cannot serve CNI on {socket}: {source}")]
    Socket {
        /// The socket.
        socket: String,
        /// What the system answered.
        source: io::Error,
    },
    /// The node's kernel cannot be talked to.
    #[error(transparent)]
    Kernel(#[from] EngineError),
}

/// A server that answers calls until it is dropped.
#[derive(Debug)]
pub struct Server {
    socket: PathBuf,
    /// Watches and requests.
    _following: JoinSet<()>,
}

impl Server {
    /// Begins to serve. What an earlier life left half made is taken away first.
    pub fn start(options: &Options, client: &Client) -> Result<Self, StartError> {
        let failed = |source| StartError::Socket { socket: options.socket.display().to_string(), source };
        let folder = options.socket.parent().unwrap_or_else(|| Path::new("."));
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        let records = Records::beside(&options.socket).map_err(failed)?;
        // Every look at this file gives another one.
        let session = fs::read_to_string("/proc/sys/kernel/random/uuid").map_err(failed)?;
        let node = Node::new(&options.node, session.trim(), records.load().map_err(failed)?);
        let kernel = KernelHost::open(options.netns.clone())?;
        let calls = Arc::new(Calls::new(node, records, kernel, own_netns(&options.netns), options.timeout));
        calls.clean();
        let listener = listen(&options.socket).map_err(failed)?;
        let following = Follower::new(options.node.clone(), client.clone(), Arc::clone(&calls)).start();
        let queue = options.queue;
        thread::Builder::new()
            .name("cni".to_owned())
            .spawn(move || accept(&listener, &calls, queue))
            .map_err(failed)?;
        Ok(Self { socket: options.socket.clone(), _following: following })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The thread waits for callers; there are none any more once the name is gone, and it ends with the process.
        fs::remove_file(&self.socket).ok();
    }
}

/// Listens under a name that nobody else listens under; what an earlier life left there is replaced.
fn listen(socket: &Path) -> io::Result<UnixListener> {
    match fs::remove_file(socket) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
        _ => {}
    }
    // The folder is open to its owner alone, so nobody can call before the mode is set.
    let listener = UnixListener::bind(socket)?;
    fs::set_permissions(socket, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// What tells the node's own namespace apart.
fn own_netns(netns: &Namespace) -> Option<(u64, u64)> {
    let file = netns.file().unwrap_or_else(|| PathBuf::from("/proc/self/ns/net"));
    fs::metadata(file).map(|file| (file.dev(), file.ino())).ok()
}

fn accept(listener: &UnixListener, calls: &Arc<Calls>, queue: usize) {
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        if !is_root(&stream) {
            continue;
        }
        let (calls, mine) = (Arc::clone(calls), Arc::clone(&open));
        let before = open.fetch_add(1, Ordering::AcqRel);
        let body = move || {
            call(stream, &calls, before < queue);
            mine.fetch_sub(1, Ordering::AcqRel);
        };
        if thread::Builder::new().name("cni-call".to_owned()).spawn(body).is_err() {
            // The caller sees that it was answered nothing, and asks again.
            open.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

fn is_root(stream: &UnixStream) -> bool {
    getsockopt(stream, PeerCredentials).is_ok_and(|caller| caller.uid() == 0)
}

fn call(mut stream: UnixStream, calls: &Calls, has_room: bool) {
    let timed = stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
    let Ok(call) = timed.and_then(|()| Call::receive(&mut stream)) else { return };
    let version = Config::version_of(call.config.as_bytes());
    let answer = if has_room {
        serve(calls, &call)
    } else {
        Err(Failure::new(Code::TryLater, "the agent of this node has as many calls as it takes; try again"))
    };
    let answer = answer.unwrap_or_else(|failure| refused(&failure, version));
    // A runtime that has gone asks again, and gets the same answer.
    answer.send(&mut stream).ok();
}

fn refused(failure: &Failure, version: Version) -> Answer {
    Answer { ok: false, output: failure.to_json(version).to_string() }
}
