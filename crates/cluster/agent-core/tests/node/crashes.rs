//! The agent is killed at every effect in turn, and another takes over: with nothing but disk, host and
//! server, with a list from before, with events that never came. In the end everything must be as if
//! nothing had happened, and no revision may ever be answered for that was not brought about.

use netloom_agent_core::Settings;
use netloom_model::Step;
use serde_json::{Value, json};

use crate::model::{Death, Mistake, Rig, condition, dummy};

/// What else goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    None,
    /// Who takes over is first given what the server had at the beginning of the chapter.
    StaleCache,
    /// No event of a chapter arrives; its end is a fresh list.
    MissedEvents,
}

/// One thing after the other that happens to a node.
const CHAPTERS: [fn(&mut Rig); 10] = [
    |_| {},
    |rig| desire(rig, "", &dummy("d0", 1400)),
    |rig| {
        config(rig, "r1");
        desire(rig, "r1", &dummy("d0", 1300));
    },
    |rig| rig.delete("NodeNetworkState"),
    |rig| {
        config(rig, "r2");
        desire(rig, "r2", &dummy("d1", 1300));
    },
    |rig| rig.meddle(&Step::DeleteLink { name: "d1".parse().unwrap() }),
    |rig| {
        rig.host.cursed = Some("d2");
        config(rig, "r3");
        desire(rig, "r3", &dummy("d2", 1300));
    },
    |rig| {
        config(rig, "r4");
        desire(rig, "r4", &dummy("d3", 1300));
    },
    |rig| rig.edit("NodeNetworkState", &json!({"spec": {"managed": false}})),
    |rig| {
        rig.edit("NodeNetworkState", &json!({"spec": {"managed": true}}));
        config(rig, "r5");
        desire(rig, "r5", &dummy("d3", 1350));
    },
];

fn config(rig: &mut Rig, revision: &str) {
    rig.write(json!({
        "apiVersion": "network.t-caas.telekom.com/v1alpha1", "kind": "NodeNetworkConfig",
        "metadata": {"name": "n"}, "spec": {"revision": revision, "digest": revision, "stateDigest": revision},
        "status": rig.api.get("NodeNetworkConfig", "n").map_or(Value::Null, |config| config["status"].clone()),
    }));
    rig.answer_early();
}

fn desire(rig: &mut Rig, revision: &str, document: &Value) {
    let annotations = json!({"netloom.dev/revision": revision, "netloom.dev/digest": revision});
    rig.edit(
        "NodeNetworkState",
        &json!({"metadata": {"annotations": annotations}, "spec": {"desiredState": document}}),
    );
}

/// The whole story, with one death somewhere.
fn story(life: Option<(usize, Death)>, trouble: Trouble, mistake: Option<Mistake>) -> Rig {
    let mut rig = Rig::new(Settings::of("n"));
    rig.life = life;
    rig.mistake = mistake;
    for chapter in CHAPTERS {
        rig.stale = (trouble == Trouble::StaleCache).then(|| rig.api.clone());
        rig.hears = trouble != Trouble::MissedEvents;
        chapter(&mut rig);
        if trouble == Trouble::MissedEvents {
            rig.run();
            rig.relist();
        }
        rig.run();
    }
    rig
}

/// Everything that counts in the end.
fn ending(rig: &Rig) -> Value {
    let links: Vec<String> = rig.host.sim.observed().links.keys().map(ToString::to_string).collect();
    let conditions = ["Managed", "Available", "Progressing", "Degraded"].map(|kind| condition(rig.state(), kind));
    let status = &rig.api.get("NodeNetworkConfig", "n").unwrap()["status"];
    let mut disk = json!(rig.disk);
    // Objects that were recreated have other names and times.
    for field in ["uid", "created"] {
        disk["wish"][field] = Value::Null;
        disk[field] = Value::Null;
        disk["wish"]["config"][field] = Value::Null;
    }
    json!({
        "links": links,
        "mtu": rig.mtu("d3"),
        "spec": rig.state()["spec"],
        "report": rig.state()["status"]["currentState"]["interfaces"].as_array().map(Vec::len),
        "conditions": conditions,
        "answer": [status["configStatus"], status["lastAppliedRevision"]],
        "current": status["observedGeneration"] == rig.api.get("NodeNetworkConfig", "n").unwrap()["metadata"]["generation"],
        "disk": disk,
        "owned": rig.host.owned.claims.keys().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

#[test]
fn the_story_ends_well_when_nothing_goes_wrong() {
    let rig = story(None, Trouble::None, None);
    let end = ending(&rig);
    assert_eq!(end["links"], json!(["d0", "d3", "eth0", "lo"]), "d0 was wanted by an object that was deleted");
    assert_eq!((&end["mtu"], &end["answer"]), (&json!(1350), &json!(["provisioned", "r5"])));
    assert_eq!(rig.violations, Vec::<String>::new());
    assert!(rig.effects.len() > 50, "{}", rig.effects.len());
}

fn ends_the_same(trouble: Trouble, deaths: &[Death]) {
    let whole = story(None, trouble, None);
    let wanted = ending(&whole);
    for death in deaths {
        for effects in 0..whole.effects.len() {
            let rig = story(Some((effects, *death)), trouble, None);
            let place = format!("{trouble:?}, killed {death:?} effect {effects}");
            assert_eq!(ending(&rig), wanted, "{place}");
            assert_eq!(rig.violations, Vec::<String>::new(), "{place}");
        }
    }
}

#[test]
fn a_death_at_any_effect_changes_nothing_in_the_end() {
    ends_the_same(Trouble::None, &[Death::Before, Death::After]);
}

#[test]
fn nor_does_a_death_followed_by_a_list_from_before() {
    ends_the_same(Trouble::StaleCache, &[Death::After]);
}

#[test]
fn nor_does_a_death_among_events_that_never_came() {
    ends_the_same(Trouble::MissedEvents, &[Death::After]);
}

/// Whether some run of the story tells that something is wrong.
fn is_noticed(mistake: Mistake) -> bool {
    let whole = story(None, Trouble::None, None);
    (0..whole.effects.len()).any(|effects| {
        let rig = story(Some((effects, Death::After)), Trouble::None, Some(mistake));
        !rig.violations.is_empty() || ending(&rig) != ending(&whole)
    })
}

#[test]
fn every_planted_mistake_is_noticed() {
    for mistake in [Mistake::ForgetsToKeep, Mistake::ForgetsToAbandon, Mistake::AnswersEarly] {
        assert!(is_noticed(mistake), "{mistake:?}");
    }
}

#[test]
fn equal_events_give_equal_effects() {
    let (one, other) = (story(None, Trouble::None, None), story(None, Trouble::None, None));
    assert_eq!(one.effects, other.effects);
    assert_eq!(one.api.writes, other.api.writes);
    assert_eq!(one.api.objects, other.api.objects);
}
