//! `netloom server`: the embedded API server, and copies of what it stores.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use http_body_util::BodyExt;
use kube::{
    Client, Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use netloom_apiserver::{
    ca::{Authority, write_private},
    identity,
    rbac::MASTERS,
    resources::clock::{Source, System},
    server::{ADMINISTRATOR, BACKUP_PATH, Limits, Options, Server, StartError, authority_path, running_at, store_path},
};
use netloom_store::{OpenError, Store};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    args::cluster::{ServerArgs, ServerVerb},
    connection::{asynchronously, on_threads},
    failure::{Exit, Failure},
    logging, output,
};

pub(crate) fn run(args: ServerArgs) -> Result<Exit, Failure> {
    let ServerArgs { verb, data_dir, listen, allow_remote, kubeconfig_out, agent_taint } = args;
    match verb {
        None => {
            let options = Options {
                folder: data_dir,
                listen,
                remote: allow_remote,
                limits: Limits::default(),
                agent_taints: agent_taint,
            };
            serve(options, kubeconfig_out.as_deref())
        }
        Some(ServerVerb::Backup { file }) => backup(&data_dir, &file),
        Some(ServerVerb::Restore { file }) => restore(&data_dir, &file),
    }
}

fn serve(options: Options, kubeconfig: Option<&Path>) -> Result<Exit, Failure> {
    if let Some(path) = kubeconfig
        && let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir())
    {
        let (path, folder) = (path.display(), folder.display());
        return Err(Failure::usage(format_args!("cannot write {path}: {folder} is no folder; make it first")));
    }
    logging::start()?;
    on_threads(async {
        // Before anything is open: a signal that comes early must not be lost.
        let cannot = |error| Failure::usage(format_args!("cannot wait for signals: {error}"));
        let mut terminate = signal(SignalKind::terminate()).map_err(cannot)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot)?;
        let server = Server::start(options).await.map_err(|error| cannot_start(&error))?;
        if let Some(path) = kubeconfig {
            let text = server.administrator(System.now()).map_err(Failure::usage)?;
            write_private(path, text.as_bytes())
                .map_err(|error| Failure::usage(format_args!("cannot write {}: {error}", path.display())))?;
        }
        output::data(&format!("ready {}\n", server.url()))?;
        tokio::select! {
            _ = terminate.recv() => (),
            _ = interrupt.recv() => (),
        }
        server.stop().await;
        Ok(Exit::Done)
    })
}

/// Why there is no server, with the option that helps.
pub(crate) fn cannot_start(error: &StartError) -> Failure {
    let help = match error {
        StartError::Remote(_) => "; --allow-remote does that",
        StartError::Listen { .. } => "; --listen chooses another address",
        StartError::Folder { .. }
        | StartError::Store(_)
        | StartError::Read(_)
        | StartError::Authority(_)
        | StartError::Bootstrap(_)
        | StartError::Objects(_)
        | StartError::Tls(_) => "",
    };
    Failure::usage(format_args!("{error}{help}"))
}

/// Copies the store, whether a server runs on it or not.
fn backup(folder: &Path, file: &Path) -> Result<Exit, Failure> {
    if file.exists() {
        return Err(Failure::refused(format_args!("{} is there already; name a new file", file.display())));
    }
    let options = netloom_store::Options { create: false, ..netloom_store::Options::default() };
    match Store::open(&store_path(folder), options) {
        Ok(store) => store.backup(file).map(drop).map_err(Failure::failed)?,
        Err(OpenError::InUse { .. }) => asynchronously(fetch(folder, file)).map(drop)?,
        Err(error) => return Err(Failure::usage(error)),
    }
    output::data(&format!("{}\n", file.display()))?;
    Ok(Exit::Done)
}

/// Asks the server that runs on the folder for the copy, as somebody who holds its authority's key.
async fn fetch(folder: &Path, file: &Path) -> Result<Exit, Failure> {
    let server = running_at(folder).ok_or_else(|| {
        Failure::usage(format_args!("{} is in use, but not by a server that says where it listens", folder.display()))
    })?;
    let now = System.now();
    let authority = Authority::open(&authority_path(folder), now).map_err(Failure::usage)?;
    let credentials = authority.client(ADMINISTRATOR, &[MASTERS], now).map_err(Failure::usage)?;
    let config = identity::Kubeconfig {
        server: &server,
        authority: authority.certificate(),
        user: ADMINISTRATOR,
        credentials: &credentials,
    };
    let client = client(&config.text()).await?;
    let request = http::Request::get(BACKUP_PATH).body(Body::empty()).map_err(Failure::failed)?;
    let answer = client.send(request).await.map_err(Failure::failed)?;
    if !answer.status().is_success() {
        return Err(Failure::failed(format_args!("the server at {server} refused: {}", answer.status())));
    }
    receive(answer.into_body(), file).await?;
    Ok(Exit::Done)
}

/// Writes a body to a new file, which has its name only once it is whole.
async fn receive(mut body: Body, file: &Path) -> Result<(), Failure> {
    let mut name = file.as_os_str().to_owned();
    name.push(".part");
    let part = PathBuf::from(name);
    let cannot = |error: io::Error| Failure::failed(format_args!("cannot write {}: {error}", part.display()));
    let opened = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part);
    let mut written = opened.map_err(cannot)?;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Failure::failed(format_args!("the copy broke off: {error}")))?;
        if let Some(piece) = frame.data_ref() {
            written.write_all(piece).map_err(cannot)?;
        }
    }
    written.sync_all().map_err(cannot)?;
    fs::rename(&part, file).map_err(cannot)?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(cannot)
}

/// Makes the store of a folder from a copy.
fn restore(folder: &Path, file: &Path) -> Result<Exit, Failure> {
    File::open(file).map_err(|error| Failure::usage(format_args!("cannot read {}: {error}", file.display())))?;
    let new = !folder.exists();
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| Failure::usage(format_args!("cannot make {}: {error}", folder.display())))?;
    let revision = netloom_store::restore(file, &store_path(folder)).map_err(|error| {
        if new {
            // Only when it is empty; what is in it by now is somebody else's.
            drop(fs::remove_dir(folder));
        }
        Failure::refused(error)
    })?;
    output::data(&format!("revision {revision}\n"))?;
    Ok(Exit::Done)
}

async fn client(kubeconfig: &str) -> Result<Client, Failure> {
    let read = Kubeconfig::from_yaml(kubeconfig).map_err(Failure::failed)?;
    let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.map_err(Failure::failed)?;
    Client::try_from(config).map_err(Failure::failed)
}
