//! How a verb gets to a cluster, and what it runs on meanwhile.

use std::{
    env,
    error::Error as _,
    path::{Path, PathBuf},
};

use kube::{
    Config,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};

use crate::failure::{Exit, Failure};

/// Runs a verb that talks to a cluster. One thread is enough for one request after the other.
pub(crate) fn asynchronously(verb: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::usage(format_args!("cannot start: {error}")))?;
    runtime.block_on(verb)
}

/// Runs a verb that stays, on several threads: whatever takes long in it must not hold up the rest.
#[cfg(feature = "cluster")]
pub(crate) fn on_threads(verb: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::usage(format_args!("cannot start: {error}")))?;
    runtime.block_on(verb)
}

/// What was named as a kubeconfig, unless that is empty: an empty `KUBECONFIG` counts as unset, as kubectl has it.
pub(crate) fn named(kubeconfig: Option<&Path>) -> Option<&Path> {
    kubeconfig.filter(|files| env::split_paths(files).any(|file| !file.as_os_str().is_empty()))
}

/// The files that `KUBECONFIG` lists, as one, or the single one that was named.
pub(crate) fn read(files: &Path) -> Result<Kubeconfig, Failure> {
    let mut whole = Kubeconfig::default();
    let several = || env::split_paths(files).filter(|file| file.exists()).collect::<Vec<PathBuf>>();
    let several = if files.exists() { Vec::new() } else { several() };
    let listed = if several.is_empty() { vec![files.to_owned()] } else { several };
    for file in listed {
        let unreadable = |error: KubeconfigError| {
            let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            Failure::usage(format_args!(
                "cannot read the kubeconfig {}: {why}; give another with --kubeconfig FILE or KUBECONFIG",
                file.display()
            ))
        };
        whole = Kubeconfig::read_from(&file).and_then(|read| whole.merge(read)).map_err(unreadable)?;
    }
    Ok(whole)
}

/// How to reach the cluster: by a kubeconfig, or by what the environment says.
pub(crate) async fn config(kubeconfig: Option<&Path>) -> Result<Config, Failure> {
    match named(kubeconfig) {
        Some(file) => {
            let read = read(file)?;
            Config::from_custom_kubeconfig(read, &KubeConfigOptions::default())
                .await
                .map_err(|error| Failure::usage(format_args!("cannot use {}: {error}", file.display())))
        }
        None => Config::infer().await.map_err(|error| {
            Failure::usage(format_args!(
                "no cluster is known: {error}; give --kubeconfig FILE or set KUBECONFIG (`netloom server` writes one)"
            ))
        }),
    }
}
