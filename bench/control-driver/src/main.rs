//! The benchmarks of the control loop: `control-bench COMPILE ROLLOUT [NAME]`.
//!
//! What decides is pure, so programs of their own call it: COMPILE compiles a large cluster, ROLLOUT simulates
//! one. Prints a Markdown table on standard output and what it is doing on standard error. Exit status 1
//! when a figure misses its bound.

use std::{
    env,
    error::Error,
    process::{Command, ExitCode, Stdio},
};

use bench_table::{Bound, Row, Series, Unit};

type Failure = Box<dyn Error>;

/// Rounds of every figure; the median of an odd number is a real one.
const ROUNDS: usize = 5;
const NAMES: [&str; 2] = ["control-compile", "control-rollout"];

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::from(2)
        }
    }
}

/// Measures; whether every bound holds.
fn run() -> Result<bool, Failure> {
    let words: Vec<String> = env::args().skip(1).collect();
    let (compile, rollout, name) = match &words[..] {
        [compile, rollout] => (compile, rollout, None),
        [compile, rollout, name] => (compile, rollout, Some(name.as_str())),
        _ => return Err("usage: control-bench COMPILE ROLLOUT [NAME]".into()),
    };
    if let Some(name) = name.filter(|name| !NAMES.contains(name)) {
        return Err(format!("there is no benchmark {name:?}; there are: {}", NAMES.join(", ")).into());
    }
    let mut rows = Vec::new();
    if name.is_none_or(|name| name == "control-compile") {
        rows.extend(compiling(compile)?);
    }
    if name.is_none_or(|name| name == "control-rollout") {
        rows.extend(rolling(rollout)?);
    }
    Ok(bench_table::print(&rows))
}

/// What a program says about its figures.
struct Said {
    program: String,
    text: String,
}

impl Said {
    fn by(program: &str) -> Result<Self, Failure> {
        let output = Command::new(program).stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            return Err(format!("{program}: {}", output.status).into());
        }
        let text = String::from_utf8(output.stdout)?;
        eprintln!("bench: {}", text.lines().collect::<Vec<_>>().join("; "));
        Ok(Self { program: program.to_owned(), text })
    }

    fn value(&self, name: &str) -> Result<f64, Failure> {
        let line = self.text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let line = line.ok_or_else(|| format!("{} says nothing of {name}", self.program))?;
        Ok(line.split(' ').next().unwrap_or_default().parse()?)
    }
}

fn compiling(program: &str) -> Result<Vec<Row>, Failure> {
    let [mut all, mut zone, mut every] = [const { Series(Vec::new()) }; 3];
    for _ in 0..ROUNDS {
        let said = Said::by(program)?;
        all.push(said.value("from nothing")? / 1e3);
        zone.push(said.value("one policy of a zone")? / 1e3);
        every.push(said.value("one policy of all nodes")? / 1e3);
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
fn rolling(program: &str) -> Result<Vec<Row>, Failure> {
    const NODES: f64 = 1000.0;
    let said = Said::by(program)?;
    let of = |name: &str, part: f64| Ok::<Series, Failure>(Series(vec![said.value(name)? / part]));
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
            what: "nodes of 1000 that a bad change reaches".to_owned(),
            ours: None,
            peer: None,
            figure: (of("reached by a bad change", 1.0)?, Unit::Pieces),
            bound: Bound::AtMost(1.0),
        },
    ])
}
