//! What an agent may do to Nodes: take the configured taints off its own, and nothing else.
//!
//! On the real server that is held by the policy `netloom-agent-nodes` of the manifests, on ours by its rules.

use std::collections::BTreeMap;

use netloom_testkit::runner::{Ended, Outcome};
use serde_json::{Value, json};

use super::{
    OTHER, OWN, Place,
    identities::{Identity, nameless, thieves},
    run, with_head,
};
use crate::{Stage, script, servers::Server};

/// The Nodes as they are before anybody tries something.
const BEFORE: &str = "\
### a Node with taints
PATCH apply /api/v1/nodes/{{node}}?fieldManager=owner&force=true

{apiVersion: v1, kind: Node, metadata: {name: {{node}}, labels: {site: a}, annotations: {site: a}},
 spec: {taints: [{key: netloom.dev/starting, value: x, effect: NoSchedule}, {key: kept, value: x, effect: NoSchedule}]}}
";

/// What no agent may do, to no Node.
const NEVER: &str = "\
### a label
PATCH merge {{path}}

{metadata: {labels: {stolen: \"yes\"}}}

### without a label
PATCH json {{path}}

[{op: remove, path: /metadata/labels/site}]

### an annotation
PATCH merge {{path}}

{metadata: {annotations: {stolen: \"yes\"}}}

### a finalizer
PATCH merge {{path}}

{metadata: {finalizers: [stolen/yes]}}

### one more taint
PATCH json {{path}}

[{op: add, path: /spec/taints/-, value: {key: stolen, effect: NoExecute}}]

### another effect of a taint
PATCH json {{path}}

[{op: replace, path: /spec/taints/0/effect, value: PreferNoSchedule}]

### no taint, and no new pods
PATCH merge {{path}}

{spec: {taints: [], unschedulable: true}}

### without a taint that is not configured
PATCH merge {{path}}

{spec: {taints: [{key: netloom.dev/starting, value: x, effect: NoSchedule}]}}

### without any taint
PATCH merge {{path}}

{spec: {taints: null}}

### another machine
PATCH merge {{path}}

{spec: {providerID: stolen}}

### all of it
PATCH apply {{path}}?fieldManager=thief&force=true

{apiVersion: v1, kind: Node, metadata: {name: {{node}}, labels: {stolen: \"yes\"}}}

### the status
PATCH merge {{path}}/status

{status: {conditions: [{type: Ready, status: \"False\"}]}}

### no Node
DELETE {{path}}

### one more Node
POST {{collection}}

{apiVersion: v1, kind: Node, metadata: {name: stolen}}
";

/// What the agent of that Node may do.
const OFF: &str = "\
### without a taint
PATCH merge {{path}}

{spec: {taints: [{key: kept, value: x, effect: NoSchedule}]}}
";

/// Every identity of an agent tries everything on its own Node and on another.
pub(crate) fn only_taints_go(stage: &Stage) -> Outcome {
    let mut tried = 0;
    for (side, server) in &stage.servers {
        let agents = thieves(stage, *side, server)?;
        let nobody = nameless(stage, server)?;
        let attempts = agents.iter().flat_map(|agent| [(agent, OWN, true), (agent, OTHER, false)]);
        for (identity, node, own) in attempts.chain([(&nobody, OWN, false)]) {
            let done = attempt(stage, server, identity, node, own);
            tried += done.map_err(|why| format!("{} server, {} on {node}: {why}", side.name(), identity.name))?;
        }
    }
    Ok(Ended::Passed(Some(format!("{tried} requests"))))
}

/// One identity and one Node; gives how many requests were tried.
fn attempt(stage: &Stage, server: &Server, identity: &Identity, node: &str, own: bool) -> Result<usize, String> {
    let place = Place { path: format!("/api/v1/nodes/{node}"), collection: "/api/v1/nodes".to_owned() };
    let asked = |script: &str, wire| {
        let steps = script::parse(&script.replace("{{node}}", node))?;
        Ok::<_, String>((steps.clone(), run(stage, wire, &steps, &place)))
    };
    let by_thief = |script: &str| asked(&with_head(script, &identity.head), identity.wire(server));
    let (_, set) = asked(BEFORE, &server.wire)?;
    expect(&set[0], 200, 201)?;
    let before = looked(stage, server, &place)?;
    let never = if own { NEVER.to_owned() } else { format!("{NEVER}\n{OFF}") };
    let (steps, answers) = by_thief(&never)?;
    for (step, answer) in steps.iter().zip(&answers) {
        expect(answer, 403, 403).map_err(|why| format!("{}: {why}", step.title))?;
    }
    let after = looked(stage, server, &place)?;
    if before != after {
        return Err(format!("it was {before}, now it is {after}"));
    }
    if own {
        let (_, answers) = by_thief(OFF)?;
        expect(&answers[0], 200, 200)?;
        let taints = looked(stage, server, &place)?["taints"].clone();
        if taints != json!([{"key": "kept", "value": "x", "effect": "NoSchedule"}]) {
            return Err(format!("after one taint was taken off there is {taints}"));
        }
    }
    Ok(steps.len() + usize::from(own))
}

fn expect(answer: &Value, least: u64, most: u64) -> Result<(), String> {
    let code = answer["code"].as_u64().unwrap_or_default();
    if (least..=most).contains(&code) { Ok(()) } else { Err(format!("it was answered {answer}")) }
}

/// What people see of a Node.
fn looked(stage: &Stage, server: &Server, place: &Place) -> Result<Value, String> {
    let request = http::Request::get(&place.path).body(bytes::Bytes::new()).map_err(|error| error.to_string())?;
    let sent = stage.runtime.block_on(server.wire.send(request, &crate::wire::Credentials::Admin))?;
    let node: Value = serde_json::from_slice(&sent.body).map_err(|error| error.to_string())?;
    let parts = [
        ("labels", &node["metadata"]["labels"]),
        ("annotations", &node["metadata"]["annotations"]),
        ("finalizers", &node["metadata"]["finalizers"]),
        ("taints", &node["spec"]["taints"]),
        ("unschedulable", &node["spec"]["unschedulable"]),
        ("providerID", &node["spec"]["providerID"]),
        ("conditions", &node["status"]["conditions"]),
    ];
    Ok(json!(parts.into_iter().collect::<BTreeMap<_, _>>()))
}
