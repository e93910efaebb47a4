//! What the controller may write of definitions and webhook configurations, and agents of Leases: those of their own names, on
//! both servers. A node can be called like the lock of controllers, which is not its own for that.
//!
//! Each right has a neighbour that is refused. Whether a request is refused for its rights shows in its code alone:
//! where it is not, the real server may still find nothing under that name, and ours does not serve webhook
//! configurations at all.

use std::collections::BTreeMap;

use netloom_admission::agent;
use netloom_api::{NAMESPACE, foreign::CONTROLLER_LOCK};
use netloom_testkit::runner::{Ended, Outcome};
use serde_json::Value;

use crate::{
    Stage, manifests,
    perform::Performer,
    script::{self, Step},
};

/// Everything that the controller tries, each with what must come of it before its title.
const TRIED: &str = "\
### fine: read every definition
GET {{definitions}}?limit=1

### fine: apply its own definition
PATCH apply {{definitions}}/{{own}}?fieldManager=netloom-controller&force=true&dryRun=All

{{definition}}

### refused: apply another definition
PATCH apply {{definitions}}/things.example.dev?fieldManager=netloom-controller&dryRun=All

{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.example.dev}, spec: {group: example.dev, names: {plural: things, kind: Thing}, scope: Cluster, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}

### refused: create a definition
POST {{definitions}}?dryRun=All

{{definition}}

### refused: delete its own definition
DELETE {{definitions}}/{{own}}?dryRun=All

### allowed: read its own configuration
GET {{hooks}}/netloom

### allowed: watch its own configuration
GET {{hooks}}?fieldSelector=metadata.name%3Dnetloom

### allowed: replace its own configuration
PUT {{hooks}}/netloom?dryRun=All

{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: netloom}}

### refused: read another configuration
GET {{hooks}}/other

### refused: read every configuration
GET {{hooks}}

### refused: replace another configuration
PUT {{hooks}}/other?dryRun=All

{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: other}}

### refused: create a configuration
POST {{hooks}}?dryRun=All

{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: netloom}}

### refused: apply its own configuration
PATCH apply {{hooks}}/netloom?fieldManager=netloom-controller&dryRun=All

{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: netloom}}

### refused: delete its own configuration
DELETE {{hooks}}/netloom?dryRun=All
";

/// What the agent of a node tries with the Lease of its name. A new policy is heeded after a moment.
const OWN_LEASE: &str = "\
### {{expected}}: create the Lease of its name
POST {{leases}}?dryRun=All
@until code = {{code}}

{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: {{node}}}}

### {{expected}}: apply it
PATCH apply {{leases}}/{{node}}?fieldManager=agent&force=true&dryRun=All

{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: {{node}}}, spec: {holderIdentity: {{node}}}}

### refused: apply that of another node
PATCH apply {{leases}}/other?fieldManager=agent&force=true&dryRun=All

{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: other}}
";

/// No agent writes the lock of controllers on either server, and its neighbour gives its signs of life.
pub(crate) fn agents(stage: &Stage) -> Outcome {
    manifests::rights(stage)?;
    let mut steps = Vec::new();
    for (node, expected, code) in [(CONTROLLER_LOCK, "refused", "403"), ("netloom-controller1", "fine", "201")] {
        let text = OWN_LEASE.replace("{{expected}}", expected).replace("{{code}}", code).replace("{{node}}", node);
        let user = format!("{}{node}", agent::USER_PREFIX);
        steps.extend(script::parse(&text)?.into_iter().map(|mut step| {
            step.who = script::Who::As { user: user.clone(), groups: vec![agent::GROUP.to_owned()] };
            step
        }));
    }
    let leases = format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases");
    as_expected(stage, &steps, &[("leases".to_owned(), leases)].into())
}

/// The controller keeps to its names on either server.
pub(crate) fn controller(stage: &Stage) -> Outcome {
    manifests::rights(stage)?;
    let kind = netloom_api::kinds().first().ok_or("there is no kind")?;
    let text = TRIED.replace("{{definition}}", &kind.crd().to_string());
    let mut steps = script::parse(&text)?;
    for step in &mut steps {
        step.who = script::Who::As { user: "netloom:controller".into(), groups: vec!["netloom:controllers".into()] };
    }
    let names = [
        ("definitions", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_owned()),
        ("hooks", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations".to_owned()),
        ("own", format!("{}.{}", kind.plural, kind.group)),
    ];
    let names: BTreeMap<String, String> = names.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    as_expected(stage, &steps, &names)
}

/// Plays requests on every server; each must end as its title says.
fn as_expected(stage: &Stage, steps: &[Step], names: &BTreeMap<String, String>) -> Outcome {
    for (side, server) in &stage.servers {
        let answers = stage.runtime.block_on(Performer::new(&server.wire, names.clone()).run(steps));
        for (step, answer) in steps.iter().zip(&answers) {
            judged(step, answer).map_err(|why| format!("with the {} server: {why}", side.name()))?;
        }
    }
    Ok(Ended::Passed(Some(format!("{} requests", steps.len()))))
}

fn judged(step: &Step, answer: &Value) -> Result<(), String> {
    let code = answer["code"].as_u64().unwrap_or_default();
    let right = match step.title.split(':').next() {
        Some("fine") => (200..300).contains(&code),
        Some("allowed") => matches!(code, 200..300 | 404),
        Some("refused") => code == 403,
        _ => false,
    };
    if right { Ok(()) } else { Err(format!("{} was answered {answer}", step.title)) }
}
