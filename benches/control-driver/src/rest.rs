//! What an agent costs that has nothing to do: memory, requests, wake-ups, time.

use std::{fmt::Write as _, time::Duration};

use bench_client::Failure;
use bench_table::{Bound, Row, Series, Unit};
use bytes::Bytes;
use http::Method;
use serde_json::Value;
use tokio::time::sleep;

use crate::{
    Said,
    acts::PAIRS,
    process::{Done, Memory},
    site::{LEASES, NODE, POLICIES, Programs, Site, ip, ip_batch},
};

/// How long it is watched: the host is read once in that time though it does not change.
const WATCHED: Duration = Duration::from_secs(75);
const VLANS: usize = 4094;
const ROUTES: usize = 50_000;
/// In the lab all of this is memory.
const IN_MEMORY: &str = "/run/netloom-bench";

pub async fn rows(programs: Programs<'_>, folder: &str) -> Result<Vec<Row>, Failure> {
    let mut site = Site::open(programs, folder).await?;
    site.attend(&[]).await?;
    let agent = site.agent()?;
    // What the start leaves to be done is not rest.
    sleep(Duration::from_secs(5)).await;
    let (before, written) = (Done::by(agent)?, revision(&site).await?);
    sleep(WATCHED).await;
    let (after, then) = (Done::by(agent)?, revision(&site).await?);
    let signs = signs_of_life(&site, written, then).await?;
    let memory = Memory::of(agent)?;
    site.close().await?;
    eprintln!("bench: at rest: {memory:?}, {before:?}, {after:?}");
    let a_minute = 60.0 / WATCHED.as_secs_f64();
    let row = |what: String, figure: f64, unit: Unit, bound: f64| Row {
        what,
        ours: None,
        peer: None,
        figure: (Series(vec![figure]), unit),
        bound: Bound::AtMost(bound),
    };
    let anonymous = Some((Series(vec![memory.anonymous]), Unit::Mebibytes));
    let published = Some(("kubernetes-nmstate, as published", Series(vec![22.0]), Unit::Mebibytes));
    let links = format!("an idle agent with {} links: resident memory", 2 * PAIRS);
    Ok(vec![
        Row { ours: anonymous, peer: published, ..row(links, memory.resident, Unit::Mebibytes, 15.0) },
        Row {
            peer: Some(("signs of life in that time", Series(vec![signs]), Unit::Pieces)),
            ..row("the same: API writes, signs of life aside".to_owned(), then - written - signs, Unit::Pieces, 0.0)
        },
        row("the same: wake-ups in a minute".to_owned(), (after.waits - before.waits) * a_minute, Unit::Pieces, 60.0),
        row(
            "the same: processor time in a minute".to_owned(),
            (after.busy - before.busy) * a_minute,
            Unit::Milliseconds,
            0.06,
        ),
    ])
}

/// The number of everything that was ever written to the server.
async fn revision(site: &Site) -> Result<f64, Failure> {
    let list = site.send(Method::GET, &format!("{POLICIES}?limit=1"), &Value::Null).await?;
    Ok(list["metadata"]["resourceVersion"].as_str().ok_or("a list without a revision")?.parse()?)
}

/// How often the agent renewed its Lease between two revisions: that it is there has to be reported, and by nothing
/// else.
async fn signs_of_life(site: &Site, from: f64, to: f64) -> Result<f64, Failure> {
    let path = format!("{LEASES}?watch=true&resourceVersion={from}&timeoutSeconds=1");
    let reported = site.access.connect().await?.send(Method::GET, &path, Bytes::new()).await?;
    let mut signs = 0.0;
    for event in serde_json::Deserializer::from_slice(&reported).into_iter::<Value>() {
        let event = event?;
        let lease = &event["object"]["metadata"];
        let revision: f64 = lease["resourceVersion"].as_str().ok_or("a Lease without a revision")?.parse()?;
        if lease["name"] == NODE && revision <= to {
            signs += 1.0;
        }
    }
    Ok(signs)
}

/// What the lab says of a node with very much on it.
pub async fn large(programs: Programs<'_>, lab: &str) -> Result<Vec<Row>, Failure> {
    let own = std::env::current_exe()?;
    let Programs { netloom, agent } = programs;
    let reported = Said::by(lab, &["lab", "--", &own.to_string_lossy(), "--in-the-lab", netloom, agent]).await?;
    let memory = |name: &str| Ok::<_, Failure>((Series(vec![reported.value(name)?]), Unit::Mebibytes));
    Ok(vec![Row {
        what: format!("an agent with {VLANS} VLANs and {ROUTES} routes: resident memory"),
        ours: Some(memory("anonymous")?),
        peer: Some(("at its peak", memory("most")?.0, Unit::Mebibytes)),
        figure: memory("resident")?,
        bound: Bound::AtMost(60.0),
    }])
}

/// The other side of [`large`]: makes such a node, and says what its agent has.
pub async fn say_large(programs: Programs<'_>) -> Result<(), Failure> {
    let mut lines = "link set lo up\nlink add base0 up type dummy\naddr add 10.0.0.1/8 dev base0\n".to_owned();
    for vlan in 1..=VLANS {
        writeln!(lines, "link add v{vlan} link base0 type vlan id {vlan}")?;
    }
    for route in 0..ROUTES {
        writeln!(lines, "route add 172.{}.{}.{}/32 via 10.0.0.2", 16 + (route >> 16), route >> 8 & 255, route & 255)?;
    }
    ip_batch(IN_MEMORY, &lines).await?;
    eprintln!("bench: the node has its links and routes");
    let mut site = Site::open(programs, IN_MEMORY).await?;
    let mut sight = site.attend(&[]).await?;
    // Once more with everything in place: what two observations take must not add up.
    ip("link add extra0 type dummy").await?;
    let reported = |state: &Value| state["status"]["currentState"].to_string().contains("\"extra0\"");
    sight.until("the new link is reported", |sight| sight.get("NodeNetworkState", NODE).is_some_and(reported)).await?;
    sleep(Duration::from_secs(5)).await;
    let memory = Memory::of(site.agent()?)?;
    site.close().await?;
    println!("resident: {:.1} MiB", memory.resident);
    println!("anonymous: {:.1} MiB", memory.anonymous);
    println!("most: {:.1} MiB", memory.most);
    Ok(())
}
