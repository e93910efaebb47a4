//! How soon a changed policy is in place on a node, and how soon drift is named and repaired there.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use bench_client::Failure;
use bench_table::{Bound, Row, Series, Unit};
use http::Method;
use serde_json::{Value, json};

use crate::{
    ROUNDS,
    kernel::Kernel,
    sight::Sight,
    site::{self, NODE, POLICIES, Programs, Site, condition, ip, is_available},
};

/// Pairs of links that the node has beside what the policy makes.
pub const PAIRS: usize = 100;
/// What kubernetes-nmstate took for one VLAN in <https://github.com/nmstate/kubernetes-nmstate/issues/1242>.
const PUBLISHED: f64 = 60.0;
/// What the policy sets and others change.
const MTU: u32 = 1400;

pub async fn rows(programs: Programs<'_>, folder: &str) -> Result<Vec<Row>, Failure> {
    let [changed, reported, repaired] = changes(programs, folder).await?;
    let named = drifts(programs, folder).await?;
    eprintln!("bench: changed {changed:?}, reported {reported:?}, repaired {repaired:?}, named {named:?}");
    let row = |what: &str, figure: Series, bound: f64| Row {
        what: what.to_owned(),
        ours: None,
        peer: None,
        figure: (figure, Unit::Milliseconds),
        bound: Bound::AtMost(bound),
    };
    let published = Some(("kubernetes-nmstate, as published, more than", Series(vec![PUBLISHED]), Unit::Milliseconds));
    Ok(vec![
        Row { peer: published, ..row("a policy is changed: until its node has verified and reported it", changed, 0.3) },
        row("drift: until the node's status names the field", named, 0.1),
        row("drift that is repaired: until an event names the field", reported, 0.1),
        row("drift that is repaired: until the kernel has it as it was", repaired, 0.1),
    ])
}

/// Changes a policy, and then what it made: until that is reported and verified, until the drift is reported, until it
/// is repaired.
async fn changes(programs: Programs<'_>, folder: &str) -> Result<[Series; 3], Failure> {
    let (site, mut sight) = begin(programs, folder, &[]).await?;
    let [mut changed, mut reported, mut repaired] = [const { Series(Vec::new()) }; 3];
    for round in 1..=ROUNDS {
        changed.push(change(&site, &mut sight, round).await?.as_secs_f64());
        let (heard, set) = repair(&mut sight, round).await?;
        reported.push(heard.as_secs_f64());
        repaired.push(set.as_secs_f64());
    }
    end(site, ROUNDS).await?;
    Ok([changed, reported, repaired])
}

/// Changes what a policy made on a node that leaves it so: until that is reported.
async fn drifts(programs: Programs<'_>, folder: &str) -> Result<Series, Failure> {
    let (site, mut sight) = begin(programs, folder, &["--drift", "report"]).await?;
    let mut named = Series::default();
    for round in 1..=ROUNDS {
        named.push(drift(&mut sight, round).await?.as_secs_f64());
    }
    end(site, 0).await?;
    Ok(named)
}

/// A node with an agent, and the policy's first edition in place there.
async fn begin(programs: Programs<'_>, folder: &str, words: &[&str]) -> Result<(Site, Sight), Failure> {
    let mut site = Site::open(programs, folder).await?;
    site.control().await?;
    let mut sight = site.attend(words).await?;
    site.send(Method::POST, POLICIES, &policy(0)).await?;
    in_place(&mut sight, 0, "").await?;
    Ok((site, sight))
}

async fn end(site: Site, edition: u32) -> Result<(), Failure> {
    site.close().await?;
    ip(&format!("link del {}", bridge(edition))).await
}

/// Gives the node the links that a machine with containers has.
pub async fn lay_links(folder: &str) -> Result<(), Failure> {
    let mut lines = "link set lo up\n".to_owned();
    for number in 0..PAIRS {
        writeln!(lines, "link add w{number} type veth peer name x{number}")?;
        writeln!(lines, "link set w{number} up\nlink set x{number} up")?;
    }
    site::ip_batch(folder, &lines).await
}

/// A bridge of its own for every edition of the policy, with a port and an address.
fn policy(edition: u32) -> Value {
    json!({
        "apiVersion": "nmstate.io/v1", "kind": "NodeNetConfPolicy", "metadata": {"name": "bench"},
        "spec": {"matchRules": [{"name": "w0"}], "desiredState": desired(edition)},
    })
}

fn desired(edition: u32) -> Value {
    json!({"interfaces": [{
        "name": bridge(edition), "type": "linux-bridge", "state": "up", "mtu": MTU,
        "bridge": {"port": [{"name": "w0"}]},
        "ipv4": {"enabled": true, "address": [{"ip": format!("192.0.2.{}", edition + 1), "prefix-length": 24}]},
    }]})
}

fn bridge(edition: u32) -> String {
    format!("bench{edition}")
}

/// Changes the policy; how long until its node has reported that it is in place.
async fn change(site: &Site, sight: &mut Sight, edition: u32) -> Result<Duration, Failure> {
    let before = revision(sight).to_owned();
    // An open connection, as the client of a person who changes something has one.
    let mut client = site.access.connect().await?;
    let patch = json!({"spec": {"desiredState": desired(edition)}}).to_string();
    let began = Instant::now();
    client.send(Method::PATCH, &format!("{POLICIES}/bench"), patch.into()).await?;
    Ok(in_place(sight, edition, &before).await? - began)
}

fn revision(sight: &Sight) -> &str {
    sight.get("NodeNetworkConfig", NODE).and_then(|config| config["spec"]["revision"].as_str()).unwrap_or_default()
}

/// Waits until the node has verified another revision than `before` and reports the bridge of this edition.
async fn in_place(sight: &mut Sight, edition: u32, before: &str) -> Result<Instant, Failure> {
    let name = bridge(edition);
    let so = |sight: &Sight| {
        let (Some(config), Some(state)) = (sight.get("NodeNetworkConfig", NODE), sight.get("NodeNetworkState", NODE))
        else {
            return false;
        };
        let (spec, status) = (&config["spec"], &config["status"]);
        let interfaces = state["status"]["currentState"]["interfaces"].as_array();
        spec["revision"] != before
            && status["lastAppliedRevision"] == spec["revision"]
            && status["observedGeneration"] == config["metadata"]["generation"]
            && status["configStatus"] == "provisioned"
            && is_available(state)
            && interfaces.into_iter().flatten().any(|one| one["name"] == name.as_str())
    };
    sight.until("the policy is in place", so).await
}

/// Changes what the policy has set; how long until an event says so, and until it is set again.
async fn repair(sight: &mut Sight, edition: u32) -> Result<(Duration, Duration), Failure> {
    let (name, mtu) = (bridge(edition), MTU - edition);
    let mut kernel = Kernel::listen()?;
    let began = Instant::now();
    ip(&format!("link set {name} mtu {mtu}")).await?;
    let names = |event: &Value| {
        let note = event["note"].as_str().unwrap_or_default();
        event["reason"] == "Drifted" && note.contains(&format!("{name}.mtu")) && note.contains(&mtu.to_string())
    };
    let reported = sight.until("an event names the drift", |sight| sight.all("Event").any(names));
    let set = async {
        kernel.until(&name, mtu).await?;
        kernel.until(&name, MTU).await
    };
    let (reported, set) = tokio::try_join!(reported, set)?;
    Ok((reported - began, set - began))
}

/// Changes what the policy has set and is left alone; how long until the status says so.
async fn drift(sight: &mut Sight, round: u32) -> Result<Duration, Failure> {
    let (name, mtu) = (bridge(0), MTU - round);
    let began = Instant::now();
    ip(&format!("link set {name} mtu {mtu}")).await?;
    let says = |state: &Value| {
        condition(state, "Available").is_some_and(|reported| {
            let message = reported["message"].as_str().unwrap_or_default();
            reported["reason"] == "Drifted"
                && message.contains(&format!("{name}.mtu"))
                && message.contains(&mtu.to_string())
        })
    };
    let heard =
        sight.until("the status names the drift", |sight| sight.get("NodeNetworkState", NODE).is_some_and(says));
    Ok(heard.await? - began)
}
