//! How a verb gets to a cluster, and what it runs on meanwhile.

use std::path::Path;

use kube::{
    Config,
    config::{KubeConfigOptions, Kubeconfig},
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

/// How to reach the cluster: by a kubeconfig, or by what the environment says.
pub(crate) async fn config(kubeconfig: Option<&Path>) -> Result<Config, Failure> {
    match kubeconfig {
        Some(file) => {
            let read = Kubeconfig::read_from(file)
                .map_err(|error| Failure::usage(format_args!("cannot read {}: {error}", file.display())))?;
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
