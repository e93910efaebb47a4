//! The agent dies at each call of a story, before it was carried out or after, and another one takes over: the end is that
//! of the story in which nobody dies.

use netloom_machine::{
    domain::Plugins,
    lane::{Lane, Want},
};
use serde_json::{Value, json};

use crate::{
    fake::{BASE, Death, Fake, Folder},
    instance, spec,
};

/// What a person asks for, one after the other.
fn steps() -> Vec<Value> {
    vec![
        spec(&[("default", "masquerade", ""), ("blue", "", "down")]),
        spec(&[("default", "masquerade", "down"), ("blue", "", "up")]),
        spec(&[("default", "masquerade", ""), ("blue", "", ""), ("red", "", "down")]),
        spec(&[("default", "masquerade", ""), ("blue", "", "absent"), ("red", "", "up")]),
        spec(&[("default", "masquerade", ""), ("red", "", "down")]),
    ]
}

/// Plays the story; says how many calls there were, what the status is in the end, and what runs.
fn play(death: Option<Death>) -> (usize, Value, String) {
    let mut object = instance(&[], json!({"nodeName": "n1", "phase": "Scheduled"}));
    let mut fake = Fake { death, ..Fake::default() };
    let fresh = |object: &Value| {
        let mut lane = Lane::new("n1", Plugins::new());
        lane.listed(vec![object.clone()]);
        lane
    };
    let mut version = 1;
    let mut lane = fresh(&object);
    for step in steps() {
        object["spec"] = step;
        lane.put(object.clone());
        for turn in 0.. {
            assert!(turn < 20, "it never rests");
            let Ok(wants) = lane.turn(turn * 10_000, "t", &mut fake, &Folder(Some(BASE))) else {
                // It is dead: what it knew is gone.
                lane = fresh(&object);
                continue;
            };
            if wants.is_empty() {
                break;
            }
            for want in wants {
                let Want::Write { patch, .. } = want else { continue };
                for (name, value) in patch["status"].as_object().unwrap() {
                    object["status"][name] = value.clone();
                }
                version += 1;
                object["metadata"]["resourceVersion"] = version.to_string().into();
                lane.put(object.clone());
            }
        }
    }
    assert_eq!(fake.domains.len(), 1);
    (fake.calls, object["status"].clone(), fake.domains["default_a"].0.clone())
}

#[test]
fn another_agent_brings_every_story_to_the_same_end() {
    let (calls, status, domain) = play(None);
    assert_eq!(status["interfaces"].as_array().unwrap().len(), 2, "{status}");
    assert!(calls > 20, "{calls}");
    for at in 1..=calls {
        for after in [false, true] {
            let (_, ended, runs) = play(Some(Death { at, after }));
            assert_eq!((&ended, &runs), (&status, &domain), "it dies at call {at}, after it was carried out: {after}");
        }
    }
}
