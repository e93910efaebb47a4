//! Whose objects an agent may write, over all kinds.

use netloom_admission::{
    User,
    agent::{self, Identity},
};
use netloom_api::{Owner, kinds};
use serde_json::{Value, json};

use crate::cluster::{Cluster, refusals, with};

fn state(name: &str, node: &str) -> Value {
    json!({
        "apiVersion": "nmstate.io/v1",
        "kind": "NodeNetworkState",
        "metadata": {"name": name, "namespace": "netloom-system"},
        "spec": {"managed": true, "nodeName": node},
    })
}

/// The same agent in the three ways in which one can come.
fn agents(node: &str) -> [User; 3] {
    let mut bound = User::new(agent::SERVICE_ACCOUNT, &["system:serviceaccounts"]);
    bound.extra.insert(agent::NODE_CLAIM.to_owned(), vec![node.to_owned()]);
    [
        User::new(format!("system:node:{node}"), &["system:nodes"]),
        User::new(format!("netloom:agent:{node}"), &[agent::GROUP]),
        bound,
    ]
}

#[test]
fn identities_are_reported_apart() {
    let [node, own, bound] = agents("n1");
    for user in [&node, &own, &bound] {
        assert_eq!(agent::identify(user), Identity::Node("n1"), "{}", user.name);
    }
    for nameless in
        [User::new(agent::SERVICE_ACCOUNT, &[]), User::new("mallory", &[agent::GROUP]), User::new("system:node:", &[])]
    {
        assert_eq!(agent::identify(&nameless), Identity::Nameless, "{}", nameless.name);
    }
    for other in [User::new("alice", &[]), User::new("netloom:controller", &["netloom:controllers"])] {
        assert_eq!(agent::identify(&other), Identity::Other, "{}", other.name);
    }
}

#[test]
fn a_state_is_written_by_the_agent_of_its_node_only() {
    let stored = || [state("n1", "n1"), state("n2", "n2"), state("odd", "n1")];
    for user in agents("n1") {
        let cluster = || Cluster::new(stored()).by(user.clone());
        let empty = Cluster::default().by(user.clone());
        let own_only = r#"the agent of node "n1" may write only a NodeNetworkState whose spec.nodeName is "n1", before and after the write"#;
        let own_name = |name: &str| {
            format!("the agent of node \"n1\" may write only the NodeNetworkState of that name, not {name:?}")
        };

        assert_eq!(refusals(&empty.create(&state("n1", "n1"))), [""; 0], "create its own");
        assert_eq!(refusals(&empty.create(&state("n2", "n2"))), [own_name("n2")], "create another node's");
        assert_eq!(refusals(&empty.create(&state("n2", "n1"))), [own_name("n2")], "take another node's name");
        assert_eq!(refusals(&empty.create(&state("n1", "n2"))), [own_only], "speak for another node");

        let unmanaged = |object| with(&object, &[("/spec/managed", json!(false))]);
        assert_eq!(refusals(&cluster().update(&unmanaged(state("n1", "n1")))), [""; 0], "update its own");
        assert_eq!(
            refusals(&cluster().update(&unmanaged(state("odd", "n1")))),
            [""; 0],
            "update its own under another name"
        );
        assert_eq!(refusals(&cluster().update(&unmanaged(state("n2", "n2")))), [own_only], "update another node's");
        assert_eq!(refusals(&cluster().update(&state("n2", "n1"))), [own_only], "take over");
        assert_eq!(refusals(&cluster().update(&state("n1", "n2"))), [own_only], "give away");
        assert_eq!(refusals(&cluster().update_status(&state("n1", "n1"))), [""; 0], "report");
        assert_eq!(refusals(&cluster().update_status(&state("n2", "n2"))), [own_only], "report for another node");
        assert_eq!(refusals(&cluster().delete(&state("n1", "n1"))), [""; 0], "delete its own");
        assert_eq!(refusals(&cluster().delete(&state("n2", "n2"))), [own_only], "delete another node's");
    }
}

#[test]
fn people_and_the_controller_are_not_restricted() {
    let cluster = Cluster::new([state("n2", "n2")]);
    assert_eq!(refusals(&cluster.update(&state("n2", "n1"))), [""; 0]);
    let cluster = cluster.by(User::new("system:serviceaccount:netloom-system:netloom-controller", &[]));
    assert_eq!(refusals(&cluster.delete(&state("n2", "n2"))), [""; 0]);
}

#[test]
fn every_kind_says_whose_it_is_and_the_rule_holds_for_it() {
    for kind in kinds() {
        let object = |name: &str, node: &str| {
            let bare = json!({"apiVersion": kind.api_version(), "kind": kind.kind, "metadata": {"name": name}});
            match kind.owner {
                Owner::Node(field) if !field.is_name() => {
                    with(&bare, &[(&format!("/{}", field.path.replace('.', "/")), json!(node))])
                }
                Owner::Node(_) | Owner::Cluster => bare,
            }
        };
        let judge =
            |operation: fn(&Cluster, &Value) -> netloom_admission::ReviewResult, object: &Value, user: &User| {
                operation(&Cluster::new([object.clone()]).by(user.clone()), object).forbidden
            };
        for user in agents("n1") {
            let (own, foreign) = (object("n1", "n1"), object("n2", "n2"));
            // Of some an agent writes the status alone; that has a test of its own.
            let wanted = kind.owner != Owner::Cluster && !kind.reported_only;
            let status = Some(Cluster::update_status as fn(&Cluster, &Value) -> netloom_admission::ReviewResult)
                .filter(|_| kind.owner == Owner::Cluster || kind.status_by_owner && !kind.reported_only);
            let always: [fn(&Cluster, &Value) -> netloom_admission::ReviewResult; 2] =
                [Cluster::create, Cluster::delete];
            for operation in always.into_iter().chain(status) {
                assert_eq!(judge(operation, &own, &user).is_none(), wanted, "{} of its own node", kind.kind);
                let why = judge(operation, &foreign, &user).unwrap_or_default();
                let expected = match kind.owner {
                    Owner::Cluster => {
                        format!("the agent of node \"n1\" may not write objects of kind {}", kind.kind)
                    }
                    Owner::Node(field) if field.is_name() => {
                        format!("the agent of node \"n1\" may write only the {} of that name, not \"n2\"", kind.kind)
                    }
                    // Which of its two rules it breaks depends on what is done; both are given elsewhere.
                    Owner::Node(_) => {
                        format!("the agent of node \"n1\" may write only {}", why.split("only ").nth(1).unwrap_or("?"))
                    }
                };
                assert_eq!(why, expected, "{} of another node", kind.kind);
            }
        }
        let nameless = User::new(agent::SERVICE_ACCOUNT, &[]);
        let why = judge(Cluster::create, &object("n1", "n1"), &nameless);
        assert_eq!(
            why.as_deref(),
            Some(
                "user \"system:serviceaccount:netloom-system:netloom-agent\" is an agent of no node and may write nothing"
            ),
            "{}",
            kind.kind
        );
    }
}

#[test]
fn nodes_and_leases_are_written_by_their_own_agent_and_other_builtin_kinds_are_not_ours() {
    let object =
        |api: &str, kind: &str, name: &str| json!({"apiVersion": api, "kind": kind, "metadata": {"name": name}});
    for user in agents("n1") {
        let kubelet = user.name.starts_with("system:node:");
        let cluster = Cluster::default().by(user);
        for (api, kind) in [("v1", "Node"), ("coordination.k8s.io/v1", "Lease")] {
            let taints_only = "the agent of node \"n1\" may only take taints off its Node, and change nothing else";
            let made: &[&str] = if kubelet || kind == "Lease" { &[] } else { &[taints_only] };
            assert_eq!(refusals(&cluster.create(&object(api, kind, "n1"))), made);
            let wanted = format!("the agent of node \"n1\" may write only the {kind} of that name, not \"n2\"");
            assert_eq!(refusals(&cluster.create(&object(api, kind, "n2"))), [wanted]);
        }
        assert_eq!(refusals(&cluster.create(&object("v1", "ConfigMap", "anything"))), [""; 0]);
    }
}

#[test]
fn a_node_that_is_called_like_the_lock_of_controllers_does_not_write_it() {
    let lease = |namespace: &str, name: &str| json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name, "namespace": namespace}});
    let lock = "netloom-controller";
    let why = "the agent of node \"netloom-controller\" may not write the Lease of that name: it is the lock of the controllers; give the node another name";
    for user in agents(lock) {
        let cluster = Cluster::default().by(user.clone());
        let own = lease("netloom-system", lock);
        assert_eq!(refusals(&cluster.create(&own)), [why], "{}", user.name);
        assert_eq!(refusals(&cluster.replace(&own, &own)), [why], "{}", user.name);
        // A kubelet keeps its own sign of life under its name elsewhere.
        let kubelet = user.name.starts_with("system:node:");
        assert_eq!(refusals(&cluster.create(&lease("kube-node-lease", lock))).is_empty(), kubelet, "{}", user.name);
    }
    for user in agents("netloom-controller1") {
        let cluster = Cluster::default().by(user);
        assert_eq!(refusals(&cluster.create(&lease("netloom-system", "netloom-controller1"))), [""; 0]);
        assert_eq!(refusals(&cluster.create(&lease("netloom-system", lock))).len(), 1);
    }
    let controller = Cluster::default().by(User::new("netloom:controller", &["netloom:controllers"]));
    assert_eq!(refusals(&controller.create(&lease("netloom-system", lock))), [""; 0]);
}

#[test]
fn an_agent_takes_taints_off_its_node_and_changes_nothing_else_of_it() {
    let taint = |key: &str| json!({"key": key, "effect": "NoSchedule"});
    let node = |name: &str, taints: Value, label: &str| {
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"zone": label}, "resourceVersion": taints.to_string().len().to_string()},
            "spec": {"podCIDR": "10.0.0.0/24", "taints": taints},
        })
    };
    let both = json!([taint("a"), taint("b")]);
    let [of_node, agents @ ..] = agents("n1");
    let refused = |user: &User, object: &Value| {
        let old = node(object["metadata"]["name"].as_str().unwrap(), both.clone(), "z");
        !refusals(&Cluster::default().by(user.clone()).replace(&old, object)).is_empty()
    };
    let mut bare = node("n1", json!([]), "z");
    bare["spec"].as_object_mut().unwrap().remove("taints");
    let mut moved = node("n1", both.clone(), "z");
    moved["spec"]["podCIDR"] = json!("10.0.9.0/24");
    for user in &agents {
        for fine in [&node("n1", json!([taint("b")]), "z"), &bare, &node("n1", both.clone(), "z")] {
            assert!(!refused(user, fine), "{} {fine}", user.name);
        }
        let other = json!([taint("a"), {"key": "b", "effect": "NoExecute"}]);
        for bad in [
            node("n2", json!([]), "z"),
            node("n1", json!([taint("a"), taint("b"), taint("c")]), "z"),
            node("n1", other, "z"),
            node("n1", json!([]), "y"),
            moved.clone(),
        ] {
            assert!(refused(user, &bad), "{} {bad}", user.name);
        }
    }
    assert!(!refused(&of_node, &node("n1", json!([]), "y")), "that is for other rules to say");
}

fn event(reporter: Option<&str>) -> Value {
    json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "told", "namespace": "default"},
        "reportingController": "netloom.dev/agent",
        "reportingInstance": reporter,
    })
}

#[test]
fn an_agent_tells_of_its_own_node_and_changes_nobody_elses_words() {
    let own_only =
        r#"the agent of node "n1" may write only Events whose reportingInstance is "n1", before and after the write"#;
    let [of_node, agents @ ..] = agents("n1");
    for user in agents {
        let empty = Cluster::default().by(user.clone());
        assert_eq!(refusals(&empty.create(&event(Some("n1")))), [""; 0]);
        assert_eq!(refusals(&empty.create(&event(Some("n2")))), [own_only]);
        assert_eq!(refusals(&empty.create(&event(None))), [own_only]);
        let of = |reporter: &str| Cluster::new([event(Some(reporter))]).by(user.clone());
        assert_eq!(refusals(&of("n1").update(&event(Some("n1")))), [""; 0]);
        assert_eq!(refusals(&of("n2").update(&event(Some("n1")))), [own_only], "take over");
        assert_eq!(refusals(&of("n1").update(&event(Some("n2")))), [own_only], "give away");
    }
    for other in [of_node, User::new("alice", &[])] {
        assert_eq!(refusals(&Cluster::default().by(other).create(&event(Some("n2")))), [""; 0]);
    }
    let nameless = Cluster::default().by(User::new(agent::SERVICE_ACCOUNT, &[]));
    assert_eq!(refusals(&nameless.create(&event(Some("n1")))).len(), 1);
}

/// Agents select their objects by the field that says whose they are, so servers must be able to.
#[test]
fn every_field_that_names_the_node_of_an_object_can_be_selected_by() {
    for kind in kinds() {
        let Owner::Node(field) = kind.owner else { continue };
        let crd = kind.crd();
        let listed = crd.pointer("/spec/versions/0/selectableFields").and_then(Value::as_array);
        let path = format!(".{}", field.path);
        let selectable = listed.into_iter().flatten().any(|entry| entry["jsonPath"] == path);
        assert!(field.is_name() || selectable, "{} is not selectable by {path}", kind.kind);
    }
}
