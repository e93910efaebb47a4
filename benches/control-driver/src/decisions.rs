//! What the pure parts cost: compiling a large cluster, and rollouts in simulated time.

use bench_client::Failure;
use bench_table::{Bound, Row, Series, Unit};

use crate::{ROUNDS, Said};

const MEBIBYTE: f64 = 1_048_576.0;

pub async fn compiling(program: &str) -> Result<Vec<Row>, Failure> {
    let [mut all, mut zone, mut every] = [const { Series(Vec::new()) }; 3];
    for _ in 0..ROUNDS {
        let reported = Said::by(program, &[]).await?;
        all.push(reported.value("from nothing")? / 1e3);
        zone.push(reported.value("one policy of a zone")? / 1e3);
        every.push(reported.value("one policy of all nodes")? / 1e3);
    }
    let change = |what: &str, change: &Series| Row {
        what: format!("compile: {what} has changed, against everything"),
        ours: Some((change.clone(), Unit::Milliseconds)),
        peer: None,
        figure: (change.over(&all), Unit::Times),
        bound: Bound::AtMost(0.02),
    };
    let changes = [change("one policy of a zone", &zone), change("one policy of all nodes", &every)];
    let everything = Row {
        what: "compile: 5000 nodes and 50 policies, from nothing".to_owned(),
        ours: None,
        peer: None,
        figure: (all, Unit::Milliseconds),
        bound: Bound::AtMost(2.0),
    };
    Ok([everything].into_iter().chain(changes).collect())
}

/// Times are simulated ones: every round would be the same.
pub async fn rolling(program: &str) -> Result<Vec<Row>, Failure> {
    const NODES: f64 = 1000.0;
    let reported = Said::by(program, &[]).await?;
    let of = |name: &str, part: f64| Ok::<Series, Failure>(Series(vec![reported.value(name)? / part]));
    let (waves, one_by_one) = (of("in waves", 1e3)?, of("one by one", 1e3)?);
    Ok(vec![
        Row {
            what: "rollout to 1000 simulated nodes, the first watched for 30 s".to_owned(),
            figure: (waves.over(&one_by_one), Unit::Times),
            ours: Some((waves, Unit::Milliseconds)),
            peer: Some(("one by one", one_by_one, Unit::Milliseconds)),
            bound: Bound::AtMost(0.05),
        },
        Row {
            what: "API writes for each of 1000 simulated nodes, status aside".to_owned(),
            ours: None,
            peer: Some(("writes of status", of("status", NODES)?, Unit::Times)),
            figure: (of("writes", NODES)?, Unit::Times),
            bound: Bound::AtMost(2.0),
        },
        Row {
            what: "simulated nodes of 1000 that a bad change reaches".to_owned(),
            ours: None,
            peer: None,
            figure: (of("reached by a bad change", 1.0)?, Unit::Pieces),
            bound: Bound::AtMost(1.0),
        },
        Row {
            what: "256 host networks on 100 simulated nodes: writes of their status for each node and object"
                .to_owned(),
            ours: Some((of("status by nodes with host networks", 100.0)?, Unit::Pieces)),
            // Each node writes each object once, and each write wakes every node for the object.
            peer: Some(("harvester, by its rule and not measured: wake-ups", Series(vec![100.0]), Unit::Pieces)),
            figure: (of("status of host networks", 256.0 * 100.0)?, Unit::Times),
            bound: Bound::AtMost(2.0),
        },
        Row {
            what: "the same cluster: API writes when one node gets another address, the edit among them, status aside"
                .to_owned(),
            ours: None,
            peer: Some(("writes of status", of("status for another address", 1.0)?, Unit::Pieces)),
            figure: (of("writes for another address", 1.0)?, Unit::Pieces),
            bound: Bound::AtMost(3.0),
        },
        Row {
            what: "the same: changes of the other 99 nodes".to_owned(),
            ours: None,
            peer: None,
            figure: (of("changes elsewhere for another address", 1.0)?, Unit::Pieces),
            bound: Bound::AtMost(0.0),
        },
    ])
}

/// A fleet whose nodes do at once what they are assigned. Times and memory are those of the machine, for information.
pub async fn fleet(program: &str) -> Result<Vec<Row>, Failure> {
    let reported = Said::by(program, &["fleet"]).await?;
    let of = |name: &str, part: f64| Ok::<Series, Failure>(Series(vec![reported.value(name)? / part]));
    if reported.value("refused as too large")? > 0.0 {
        return Err("something was asked for that no server stores".into());
    }
    Ok(vec![
        Row {
            what: "256 host networks on 5000 simulated nodes: API writes when one node gets another address, the edit \
                   among them, status aside"
                .to_owned(),
            ours: Some((of("edited", 1e3)?, Unit::Milliseconds)),
            peer: Some(("writes of status", of("status", 1.0)?, Unit::Pieces)),
            figure: (of("writes", 1.0)?, Unit::Pieces),
            bound: Bound::AtMost(3.0),
        },
        Row {
            what: "the same: changes of the other 4999 nodes".to_owned(),
            ours: None,
            peer: None,
            figure: (of("elsewhere", 1.0)?, Unit::Pieces),
            bound: Bound::AtMost(0.0),
        },
        Row {
            what: "the same: the largest object that was written".to_owned(),
            ours: Some((of("rolled out", 1e3)?, Unit::Milliseconds)),
            peer: Some(("memory of the whole simulation", of("memory", MEBIBYTE)?, Unit::Mebibytes)),
            figure: (of("largest object", MEBIBYTE)?, Unit::Mebibytes),
            bound: Bound::AtMost(1.0),
        },
    ])
}
