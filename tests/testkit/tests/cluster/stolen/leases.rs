//! What an agent may do to Leases: renew the one of its node, which says that it is there.
//!
//! Its role speaks of all Leases beside it, also of the one that controllers take turns by. On the real server the policy
//! `netloom-agent-leases` of the manifests narrows that to the name of its node, on ours its rules do.

use netloom_testkit::runner::{Ended, Outcome};
use serde_json::{Value, json};

use super::{
    OTHER, OWN, Place,
    identities::{Identity, nameless, thieves},
    run, with_head,
};
use crate::{
    Stage,
    script::{self, Step},
    servers::Server,
};

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/netloom-system/leases";
/// The Lease that controllers take turns by.
const LOCK: &str = "netloom-controller";

/// What an agent sends to say that it is there, and every other way to the same end.
const RENEW: &str = "\
### apply
PATCH apply {{path}}?fieldManager=thief&force=true

{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: {{name}}},
 spec: {holderIdentity: thief, leaseDurationSeconds: 180}}

### merge
PATCH merge {{path}}

{spec: {holderIdentity: thief, leaseDurationSeconds: 180}}

### JSON patch
PATCH json {{path}}

[{op: add, path: /spec/holderIdentity, value: thief}]

### version
GET {{path}}
@save version /metadata/resourceVersion

### replace
PUT {{path}}

{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: {{name}}, resourceVersion: \"{{version}}\"},
 spec: {holderIdentity: thief, leaseDurationSeconds: 180}}
";

/// What no agent may do, to no Lease.
const NEVER: &str = "\
### delete
DELETE {{path}}

### delete all
DELETE {{collection}}
";

/// A Lease of nobody that the thief knows of.
const CREATE: &str = "\
### create
POST {{collection}}

{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: stolen}, spec: {holderIdentity: thief}}
";

/// Every identity of an agent renews its own Lease, and tries the same on those of others.
pub(crate) fn only_own_is_renewed(stage: &Stage) -> Outcome {
    let mut tried = 0;
    for (side, server) in &stage.servers {
        let agents = thieves(stage, *side, server)?;
        let nobody = nameless(stage, server)?;
        let attempts = agents.iter().flat_map(|agent| [(agent, OWN, 200), (agent, OTHER, 403), (agent, LOCK, 403)]);
        for (identity, name, code) in attempts.chain([(&nobody, OWN, 403), (&nobody, LOCK, 403)]) {
            let done = attempt(stage, server, identity, name, code);
            tried += done.map_err(|why| format!("{} server, {} on {name}: {why}", side.name(), identity.name))?;
        }
    }
    Ok(Ended::Passed(Some(format!("{tried} requests"))))
}

/// One identity and one Lease; gives how many requests were tried.
fn attempt(stage: &Stage, server: &Server, identity: &Identity, name: &str, code: u64) -> Result<usize, String> {
    let place = Place { path: format!("{LEASES}/{name}"), collection: LEASES.to_owned() };
    let owner = format!("### owner\nPATCH apply {{{{path}}}}?fieldManager=owner&force=true\n\n{}\n", of_owner(name));
    let set = run(stage, &server.wire, &script::parse(&owner)?, &place);
    if set[0]["code"].as_u64().is_none_or(|code| code >= 300) {
        return Err(format!("the owner could not write it: {}", set[0]));
    }
    let by_thief = |script: &str, code: u64| {
        let steps = script::parse(&with_head(&script.replace("{{name}}", name), &identity.head))?;
        let answers = run(stage, identity.wire(server), &steps, &place);
        // Looking is allowed to everybody who may renew.
        let wrong = |(step, answer): &(&Step, &Value)| answer["code"] != if step.method == "GET" { 200 } else { code };
        match steps.iter().zip(&answers).find(wrong) {
            None => Ok(steps.len()),
            Some((step, answer)) => Err(format!("{} was answered {answer}", step.title)),
        }
    };
    let mut tried = by_thief(NEVER, 403)? + by_thief(CREATE, 403)?;
    tried += by_thief(RENEW, code)?;
    let holder = if code == 200 { "thief" } else { "owner" };
    let look = run(stage, &server.wire, &script::parse("### look\nGET {{path}}\n")?, &place);
    let found = look[0].pointer("/body/spec/holderIdentity").cloned().unwrap_or_default();
    if found == holder { Ok(tried) } else { Err(format!("its holder is {found}")) }
}

fn of_owner(name: &str) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name},
        "spec": {"holderIdentity": "owner", "leaseDurationSeconds": 180},
    })
}
