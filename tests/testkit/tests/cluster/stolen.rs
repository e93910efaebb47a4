//! A stolen identity of one node's agent: with every kind of ours it is tried on the objects of
//! another node and of the cluster, by every way to write, and nothing may come of it.
//!
//! The identities are real ones: certificates of each server's authority, and tokens of the agents'
//! account bound to the node or to a pod there. On the real server the manifests in `deploy` must
//! hold; on ours its own rules.

mod identities;
mod leases;
mod nodes;
mod reports;

use std::collections::BTreeMap;

use netloom_api::{Kind, Owner};
use netloom_testkit::runner::{Ended, Outcome};
use serde_json::{Value, json};

use self::identities::{Identity, nameless, thieves};
pub(crate) use self::{leases::only_own_is_renewed, nodes::only_taints_go, reports::own_is_reported_only};
use crate::{
    Stage, manifests,
    perform::Performer,
    script::{self, Step},
    servers::{Server, Side},
    wire::Wire,
};

/// The node whose agent is the thief.
const OWN: &str = "node1";
const OTHER: &str = "node2";

/// Everything that a thief could send about one object, with `{{object}}` for it.
const ATTEMPTS: &str = "\
### create
POST {{collection}}

{{created}}

### replace
PUT {{path}}

{{current}}

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
        let mut identities = thieves(stage, *side, server)?;
        identities.push(nameless(stage, server)?);
        for kind in netloom_api::kinds() {
            let example =
                examples.get(&named(kind.group, kind.kind)).ok_or_else(|| format!("{} has no example", kind.kind))?;
            for identity in &identities {
                tried += 1;
                steal(stage, server, kind, example, identity).map_err(|why| {
                    format!("with the {} server, {} by {}: {why}", side.name(), kind.kind, identity.name)
                })?;
            }
        }
        if *side == Side::Ours {
            is_logged(server)?;
        }
    }
    Ok(Ended::Passed(Some(format!("{tried} kinds and identities"))))
}

/// Who tried what stands in the log: refusals by role, and those by the node that an object is of.
fn is_logged(server: &Server) -> Result<(), String> {
    let log = std::fs::read_to_string(server.folder.join("log")).map_err(|error| error.to_string())?;
    for user in [format!("netloom:agent:{OWN}"), "system:serviceaccount:netloom-system:netloom-agent".to_owned()] {
        let of_user: Vec<&str> = log.lines().filter(|line| line.contains("refused") && line.contains(&user)).collect();
        for (what, word) in [("by its role", "question="), ("by the rule about nodes", "may write only")] {
            if !of_user.iter().any(|line| line.contains(word)) {
                return Err(format!("no refusal {what} of {user} is in the log of the server"));
            }
        }
    }
    Ok(())
}

/// One kind, one identity, one server.
fn steal(stage: &Stage, server: &Server, kind: &Kind, example: &Value, identity: &Identity) -> Result<(), String> {
    let victim = if kind.owner == Owner::Cluster { example.clone() } else { of_node(example, kind, OTHER) };
    let place = Place::of(kind, &victim);
    let apply = format!("### as it was\nPATCH apply {}?fieldManager=owner&force=true\n\n{victim}\n", place.path);
    let before = run(stage, &server.wire, &script::parse(&apply)?, &place);
    if before[0]["code"].as_u64().is_none_or(|code| code >= 300) {
        return Err(format!("the owner could not write it: {}", before[0]));
    }
    let look = script::parse(&format!("### look\nGET {}\n", place.collection))?;
    let before = run(stage, &server.wire, &look, &place);
    let current = current(stage, server, &place, &victim)?;
    let attempts = ATTEMPTS
        .replace("{{created}}", &renamed(&victim, kind).to_string())
        .replace("{{current}}", &current.to_string())
        .replace("{{object}}", &victim.to_string());
    let mut attempts = script::parse(&with_head(&attempts, &identity.head))?;
    // Where there is no such path, nobody is refused anything.
    attempts.retain(|attempt| kind.has_status_subresource() || attempt.title != "status");
    let answers = run(stage, identity.wire(server), &attempts, &place);
    for (attempt, answer) in attempts.iter().zip(&answers) {
        // Anything else would say that the request was wrong, not that this one must not send it.
        if answer["code"] != 403 {
            return Err(format!("{} was answered {answer}", attempt.title));
        }
    }
    let after = run(stage, &server.wire, &look, &place);
    if before == after { Ok(()) } else { Err(format!("it was {before:?}, now it is {after:?}")) }
}

/// The object with the version that it has now, so that nothing but the thief is wrong with replacing it.
fn current(stage: &Stage, server: &Server, place: &Place, victim: &Value) -> Result<Value, String> {
    let steps = script::parse("### version\nGET {{path}}\n@save version /metadata/resourceVersion\n")?;
    let mut performer = Performer::new(&server.wire, place.saved());
    stage.runtime.block_on(performer.run(&steps));
    let version = performer.saved("version").ok_or("the object has no version")?;
    let mut object = victim.clone();
    object["metadata"]["resourceVersion"] = json!(version);
    object["metadata"]["labels"] = json!({ "stolen": "yes" });
    Ok(object)
}

/// Puts a line into the head of every request.
fn with_head(script: &str, head: &str) -> String {
    let blocks = script.split("### ").skip(1).map(|block| {
        let mut lines = block.splitn(3, '\n');
        let (title, line, rest) = (lines.next(), lines.next(), lines.next());
        format!("### {}\n{}\n{head}\n{}", title.unwrap_or_default(), line.unwrap_or_default(), rest.unwrap_or_default())
    });
    blocks.collect()
}

fn run(stage: &Stage, wire: &Wire, steps: &[Step], place: &Place) -> Vec<Value> {
    stage.runtime.block_on(Performer::new(wire, place.saved()).run(steps))
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

    /// Its names in a script.
    fn saved(&self) -> BTreeMap<String, String> {
        [("path", &self.path), ("collection", &self.collection)].map(|(name, at)| (name.to_owned(), at.clone())).into()
    }
}

/// The example as an object of that node.
fn of_node(example: &Value, kind: &Kind, node: &str) -> Value {
    let mut object = example.clone();
    match kind.owner {
        Owner::Cluster => {}
        Owner::Node(field) => {
            object["metadata"]["name"] = json!(node);
            let path = format!("/{}", field.path.replace('.', "/"));
            // What is reported is not part of an example, and says of some kinds whose they are.
            if let Some(name) = path.strip_prefix("/status/") {
                object["status"][name] = json!(node);
            }
            if let Some(named) = object.pointer_mut(&path) {
                *named = json!(node);
            }
        }
    }
    object
}

/// An object that is not there yet and is not the thief's either.
fn renamed(victim: &Value, kind: &Kind) -> Value {
    let mut object = of_node(victim, kind, "node3");
    if kind.owner == Owner::Cluster {
        object["metadata"]["name"] = json!("stolen");
    }
    object
}

/// Everything that an agent does with an object of its own node.
const OWN_WRITES: &str = "\
### replace
PATCH apply {{path}}?fieldManager=agent&force=true

{{object}}

### merge
PATCH merge {{path}}

{metadata: {labels: {own: \"yes\"}}}

### JSON patch
PATCH json {{path}}

[{op: add, path: /metadata/labels, value: {own: \"also\"}}]

### status
PATCH merge {{path}}/status

{metadata: {annotations: {written: \"by the agent\"}}}
";

/// What an agent does with an object of its own node that it only reports on.
const OWN_REPORTS: &str = "\
### merge
PATCH merge {{path}}

{status: {phase: \"Running\"}}

### JSON patch
PATCH json {{path}}

[{op: add, path: /status/phase, value: \"Failed\"}]
";

/// The agent of a node may write what is its node's own: the restriction is not simply a refusal.
pub(crate) fn own_is_allowed(stage: &Stage) -> Outcome {
    let examples = examples()?;
    for (side, server) in &stage.servers {
        for identity in &thieves(stage, *side, server)? {
            for kind in netloom_api::kinds().iter().filter(|kind| kind.owner != Owner::Cluster) {
                let example = examples
                    .get(&named(kind.group, kind.kind))
                    .ok_or_else(|| format!("{} has no example", kind.kind))?;
                let own = of_node(example, kind, OWN);
                let place = Place::of(kind, &own);
                let writes = if kind.reported_only {
                    // Somebody else makes it.
                    let made = format!("### made\nPATCH apply {{{{path}}}}?fieldManager=owner&force=true\n\n{own}\n");
                    run(stage, &server.wire, &script::parse(&made)?, &place);
                    OWN_REPORTS.to_owned()
                } else {
                    OWN_WRITES.replace("{{object}}", &own.to_string())
                };
                let text = with_head(&writes, &identity.head);
                let mut steps = script::parse(&text)?;
                let answers_itself = kind.has_status_subresource() && kind.status_by_owner;
                steps.retain(|step| answers_itself || step.title != "status");
                let answers = run(stage, identity.wire(server), &steps, &place);
                let refused = |answer: &&Value| answer["code"].as_u64().is_none_or(|code| code >= 300);
                if let Some(bad) = answers.iter().find(refused) {
                    return Err(format!("with the {} server, {} by {}: {bad}", side.name(), kind.kind, identity.name));
                }
            }
        }
    }
    Ok(Ended::OK)
}

/// What an example is found by: kinds of two groups may have one name.
fn named(group: &str, kind: &str) -> String {
    format!("{kind}.{group}")
}

/// One example of each kind, by what it is found by.
fn examples() -> Result<BTreeMap<String, Value>, String> {
    let mut examples = BTreeMap::new();
    for file in manifests::yaml_files(&manifests::root().join("examples/objects"))? {
        let text = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
        for document in text.split("\n---") {
            let object = script::json_of(document).map_err(|why| format!("{}: {why}", file.display()))?;
            let group =
                object["apiVersion"].as_str().and_then(|version| version.split_once('/')).map_or("", |parts| parts.0);
            if let Some(name) = object["kind"].as_str().map(|kind| named(group, kind)) {
                let mut object = object.clone();
                object.as_object_mut().map(|fields| fields.remove("status"));
                examples.entry(name).or_insert(object);
            }
        }
    }
    Ok(examples)
}
