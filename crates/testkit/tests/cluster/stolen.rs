//! A stolen identity of one node's agent: with every kind of ours it is tried on the objects of
//! another node and of the cluster, by every way to write, and nothing may come of it.
//!
//! On the real server the manifests in `deploy` must hold; on ours its own rules.

use std::collections::BTreeMap;

use netloom_api::{Kind, Owner};
use netloom_testkit::runner::{Ended, Outcome};
use serde_json::{Value, json};

use crate::{
    Stage, manifests,
    perform::Performer,
    script::{self, Step},
    servers::Server,
};

const OWN: &str = "worker-1";
const OTHER: &str = "worker-2";

/// The ways to be the agent of a node: a certificate's user and group, and a token that is bound to it.
const IDENTITIES: &[&str] = &[
    "@as netloom:agent:worker-1 netloom:agents,system:authenticated",
    "@as system:serviceaccount:netloom-system:netloom-agent system:serviceaccounts,system:authenticated\n\
     Impersonate-Extra-authentication.kubernetes.io%2fnode-name: worker-1",
];

/// Everything that a thief could send about one object, with `{{object}}` for it.
const ATTEMPTS: &str = "\
### create
POST {{collection}}

{{created}}

### replace
PUT {{path}}

{{object}}

### merge
PATCH merge {{path}}

{metadata: {labels: {stolen: \"yes\"}}}

### JSON patch
PATCH json {{path}}

[{op: add, path: /metadata/labels, value: {stolen: \"yes\"}}]

### apply
PATCH apply {{path}}?fieldManager=thief&force=true

{{object}}

### status
PATCH merge {{path}}/status

{status: {stolen: \"yes\"}}

### delete
DELETE {{path}}

### delete all
DELETE {{collection}}
";

/// Nothing of another node, and nothing of the cluster, changes on either server.
pub(crate) fn changes_nothing(stage: &Stage) -> Outcome {
    let examples = examples()?;
    let mut tried = 0;
    for (side, server) in &stage.servers {
        for kind in netloom_api::kinds() {
            let example = examples.get(kind.kind).ok_or_else(|| format!("{} has no example", kind.kind))?;
            for identity in IDENTITIES {
                tried += 1;
                steal(stage, server, kind, example, identity)
                    .map_err(|why| format!("with the {} server, {} by {identity}: {why}", side.name(), kind.kind))?;
            }
        }
    }
    Ok(Ended::Passed(Some(format!("{tried} kinds and identities"))))
}

/// One kind, one identity, one server.
fn steal(stage: &Stage, server: &Server, kind: &Kind, example: &Value, identity: &str) -> Result<(), String> {
    let victim = if kind.owner == Owner::Cluster { example.clone() } else { of_node(example, kind, OTHER) };
    let place = Place::of(kind, &victim);
    let apply = format!("### as it was\nPATCH apply {}?fieldManager=owner&force=true\n\n{victim}\n", place.path);
    let before = run(stage, server, &script::parse(&apply)?, &place);
    if before[0]["code"].as_u64().is_none_or(|code| code >= 300) {
        return Err(format!("the owner could not write it: {}", before[0]));
    }
    let look = script::parse(&format!("### look\nGET {}\n", place.collection))?;
    let before = run(stage, server, &look, &place);
    let attempts =
        ATTEMPTS.replace("{{created}}", &renamed(&victim, kind).to_string()).replace("{{object}}", &victim.to_string());
    let attempts = script::parse(&with_identity(&attempts, identity))?;
    let answers = run(stage, server, &attempts, &place);
    for (attempt, answer) in attempts.iter().zip(&answers) {
        let code = answer["code"].as_u64().unwrap_or_default();
        if !(400..500).contains(&code) {
            return Err(format!("{} was answered {answer}", attempt.title));
        }
    }
    let after = run(stage, server, &look, &place);
    if before == after { Ok(()) } else { Err(format!("it was {before:?}, now it is {after:?}")) }
}

/// Puts the identity into the head of every request.
fn with_identity(script: &str, identity: &str) -> String {
    let blocks = script.split("### ").skip(1).map(|block| {
        let mut lines = block.splitn(3, '\n');
        let (title, line, rest) = (lines.next(), lines.next(), lines.next());
        format!(
            "### {}\n{}\n{identity}\n{}",
            title.unwrap_or_default(),
            line.unwrap_or_default(),
            rest.unwrap_or_default()
        )
    });
    blocks.collect()
}

fn run(stage: &Stage, server: &Server, steps: &[Step], place: &Place) -> Vec<Value> {
    let saved = [("path".to_owned(), place.path.clone()), ("collection".to_owned(), place.collection.clone())].into();
    stage.runtime.block_on(Performer::new(&server.wire, saved).run(steps))
}

/// Where an object is served.
struct Place {
    path: String,
    collection: String,
}

impl Place {
    fn of(kind: &Kind, object: &Value) -> Self {
        let namespaced = kind.crd()["spec"]["scope"] == "Namespaced";
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
        let within = if namespaced { format!("/namespaces/{namespace}") } else { String::new() };
        let collection = format!("/apis/{}/{}{within}/{}", kind.group, kind.version, kind.plural);
        Self { path: format!("{collection}/{}", object["metadata"]["name"].as_str().unwrap_or_default()), collection }
    }
}

/// The example as an object of that node.
fn of_node(example: &Value, kind: &Kind, node: &str) -> Value {
    let mut object = example.clone();
    match kind.owner {
        Owner::Cluster => {}
        Owner::NodeOfName => object["metadata"]["name"] = json!(node),
        Owner::NodeOfSpec => {
            object["metadata"]["name"] = json!(node);
            object["spec"]["nodeName"] = json!(node);
        }
    }
    object
}

/// An object that is not there yet and is not the thief's either.
fn renamed(victim: &Value, kind: &Kind) -> Value {
    let mut object = of_node(victim, kind, "worker-3");
    if kind.owner == Owner::Cluster {
        object["metadata"]["name"] = json!("stolen");
    }
    object
}

/// The agent of a node may write what is its node's own: the restriction is not simply a refusal.
pub(crate) fn own_is_allowed(stage: &Stage) -> Outcome {
    let examples = examples()?;
    for (side, server) in &stage.servers {
        for kind in netloom_api::kinds().iter().filter(|kind| kind.owner != Owner::Cluster) {
            let example = examples.get(kind.kind).ok_or_else(|| format!("{} has no example", kind.kind))?;
            let own = of_node(example, kind, OWN);
            let place = Place::of(kind, &own);
            for identity in IDENTITIES {
                let label = format!(
                    "### label\nPATCH merge {}\n{identity}\n\n{{metadata: {{labels: {{own: \"yes\"}}}}}}\n",
                    place.path
                );
                let make = format!("### make\nPATCH apply {}?fieldManager=admin&force=true\n\n{own}\n", place.path);
                let steps = [script::parse(&make)?, script::parse(&label)?].concat();
                let answers = run(stage, server, &steps, &place);
                if let Some(bad) = answers.iter().find(|answer| answer["code"].as_u64().is_none_or(|code| code >= 300))
                {
                    return Err(format!("with the {} server, {} by {identity}: {bad}", side.name(), kind.kind));
                }
            }
        }
    }
    Ok(Ended::OK)
}

/// One example of each kind.
fn examples() -> Result<BTreeMap<String, Value>, String> {
    let mut examples = BTreeMap::new();
    for file in manifests::yaml_files(&manifests::root().join("examples/objects"))? {
        let text = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
        for document in text.split("\n---") {
            let object = script::json_of(document).map_err(|why| format!("{}: {why}", file.display()))?;
            if let Some(kind) = object["kind"].as_str() {
                let mut object = object.clone();
                object.as_object_mut().map(|fields| fields.remove("status"));
                examples.entry(kind.to_owned()).or_insert(object);
            }
        }
    }
    Ok(examples)
}
