//! What an agent may do to objects that it only reports on: nothing but report.

use netloom_testkit::runner::{Ended, Outcome};

use super::{OWN, Place, examples, identities::thieves, named, of_node, run, with_head};
use crate::{Stage, script};

/// What no agent does even with an object of its own node that it only reports on.
const OWN_REFUSED: &str = "\
### its specification
PATCH json {{path}}

[{op: add, path: /spec/stolen, value: \"yes\"}]

### its specification with a report
PATCH merge {{path}}

{spec: {stolen: \"yes\"}, status: {phase: Failed}}

### labels
PATCH merge {{path}}

{metadata: {labels: {stolen: \"yes\"}}}

### annotations
PATCH merge {{path}}

{metadata: {annotations: {stolen: \"yes\"}}}

### finalizers
PATCH json {{path}}

[{op: add, path: /metadata/finalizers, value: [stolen/yes]}]

### another node
PATCH merge {{path}}

{status: {nodeName: node2}}

### no node
PATCH json {{path}}

[{op: remove, path: /status/nodeName}]

### delete
DELETE {{path}}
";

/// Of what an agent only reports on, it changes nothing but the report.
pub(crate) fn own_is_reported_only(stage: &Stage) -> Outcome {
    let examples = examples()?;
    let mut tried = 0;
    for (side, server) in &stage.servers {
        for identity in &thieves(stage, *side, server)? {
            for kind in netloom_api::kinds().iter().filter(|kind| kind.reported_only) {
                let example = examples.get(&named(kind.group, kind.kind)).ok_or("a kind has no example")?;
                let own = of_node(example, kind, OWN);
                let place = Place::of(kind, &own);
                let made = format!("### made\nPATCH apply {{{{path}}}}?fieldManager=owner&force=true\n\n{own}\n");
                run(stage, &server.wire, &script::parse(&made)?, &place);
                let look = script::parse("### look\nGET {{path}}\n")?;
                let before = run(stage, &server.wire, &look, &place);
                let attempts = script::parse(&with_head(OWN_REFUSED, &identity.head))?;
                for (attempt, answer) in attempts.iter().zip(run(stage, identity.wire(server), &attempts, &place)) {
                    tried += 1;
                    if answer["code"] != 403 {
                        let (side, by) = (side.name(), identity.name);
                        return Err(format!("with the {side} server, {} by {by}: {answer}", attempt.title));
                    }
                }
                let after = run(stage, &server.wire, &look, &place);
                if before != after || before[0]["code"] != 200 {
                    return Err(format!("it was {before:?}, now it is {after:?}"));
                }
            }
        }
    }
    Ok(Ended::Passed(Some(format!("{tried} requests"))))
}
