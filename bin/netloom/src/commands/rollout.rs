//! `netloom rollout`: what a person decides about a change that is on its way.
//!
//! Only asks: the controller decides whether and when, and says so in the revision.

use http::{Request, header::CONTENT_TYPE};
use netloom_api::{
    fabric::{GROUP, NetworkConfigRevision},
    rollout::annotation,
};
use serde_json::json;

use crate::{
    args::cluster::{RetryArgs, RolloutArgs, RolloutVerb},
    cluster::Cluster,
    connection::asynchronously,
    failure::{Exit, Failure},
    output::Output,
};

pub(crate) fn run(args: &RolloutArgs) -> Result<Exit, Failure> {
    let RolloutArgs { verb } = args;
    match verb {
        RolloutVerb::Retry(args) => asynchronously(retry(args)),
    }
}

async fn retry(args: &RetryArgs) -> Result<Exit, Failure> {
    let RetryArgs { revision: name, kubeconfig } = args;
    let cluster = Cluster::connect(kubeconfig.as_deref()).await?;
    let all = cluster.all(&format!("{GROUP}/v1alpha1"), "NetworkConfigRevision").await?;
    let all: Vec<NetworkConfigRevision> = all.into_iter().filter_map(|one| serde_json::from_value(one).ok()).collect();
    let attempts = attempts(name, &all)?;
    let patch = json!({"metadata": {"annotations": {annotation::RETRY: attempts.to_string()}}});
    let address = format!("/apis/{GROUP}/v1alpha1/networkconfigrevisions/{name}?fieldManager=netloom");
    let request = Request::patch(address).header(CONTENT_TYPE, "application/merge-patch+json");
    let body = patch.to_string().into_bytes();
    cluster.send(request.body(body).map_err(Failure::usage)?).await?;
    Output::new(false).note(&format!(
        "revision {name} is tried again, on one node first; `netloom get networkconfigrevisions {name}` says how it goes"
    ));
    Ok(Exit::Done)
}

/// How often the revision failed, which is what another attempt is asked for by.
fn attempts(name: &str, revisions: &[NetworkConfigRevision]) -> Result<u32, Failure> {
    let named = |revision: &&NetworkConfigRevision| revision.metadata.name.as_deref() == Some(name);
    let revision = revisions.iter().find(named).ok_or_else(|| {
        Failure::refused(format_args!(
            "there is no NetworkConfigRevision {name:?}; `netloom get networkconfigrevisions` lists those that are"
        ))
    })?;
    let status = revision.status.clone().unwrap_or_default();
    if !status.is_invalid {
        let phase = status.phase.map_or_else(|| "new".to_owned(), |phase| format!("{phase:?}"));
        return Err(Failure::refused(format_args!(
            "revision {name} has not failed (it is {phase}), so there is nothing to try again"
        )));
    }
    Ok(status.attempts.max(1))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn revision(name: &str, status: &Value) -> NetworkConfigRevision {
        serde_json::from_value(json!({
            "apiVersion": "network.t-caas.telekom.com/v1alpha1", "kind": "NetworkConfigRevision",
            "metadata": {"name": name}, "spec": {"revision": "a".repeat(64)}, "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn only_what_failed_is_tried_again() {
        let all = [
            revision("bad", &json!({"isInvalid": true, "phase": "Failed", "attempts": 3})),
            revision("given-up", &json!({"isInvalid": true, "phase": "Failed"})),
            revision("good", &json!({"phase": "Active"})),
        ];
        assert_eq!(attempts("bad", &all).ok(), Some(3));
        assert_eq!(attempts("given-up", &all).ok(), Some(1), "by an earlier version, which did not count");
        let why = |name: &str| attempts(name, &all).unwrap_err().message;
        assert!(why("good").contains("has not failed (it is Active)"), "{}", why("good"));
        assert!(why("gone").contains("there is no NetworkConfigRevision \"gone\""), "{}", why("gone"));
    }
}
