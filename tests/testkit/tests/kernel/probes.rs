//! A change that breaks what worked before is taken back, in time.

use std::time::Duration;

use netloom_journal::{
    Cause, Clock as _, Moment, Outcome as Became, ProbeResult, Probes, Request, SystemClock, Transaction,
};
use netloom_model::{Engine as _, Scope};
use netloom_netlink::{
    KernelHost, Options,
    probe::{Answer, Probe},
};
use netloom_testkit::{
    play::{self, StateFolder},
    runner::{Ended, Outcome},
    space::{Space, ip},
};

/// How long a host may stay broken after the probe reported so.
const IN_TIME: Duration = Duration::from_secs(5);

/// Pings from a namespace; remembers when one first failed after the change.
struct Ping {
    host: KernelHost,
    probe: Probe,
    failed: Option<Moment>,
}

impl Probes for Ping {
    fn names(&self) -> Vec<String> {
        vec![self.probe.to_string()]
    }

    fn run(&mut self, _: &[String], limit: Duration) -> Vec<ProbeResult> {
        let asked = self.host.observe(Scope::default());
        let answers = asked.and_then(|observed| self.host.probe(std::slice::from_ref(&self.probe), &observed, limit));
        let verdict = match answers.map(|mut answers| answers.pop()) {
            Ok(Some(Answer::Reached)) => ProbeResult::Passed,
            Ok(Some(Answer::Failed(why))) => ProbeResult::Failed(why),
            Ok(Some(Answer::Refused(why))) => ProbeResult::Refused(why),
            Ok(Some(Answer::NotApplicable) | None) => ProbeResult::NotApplicable,
            Err(error) => ProbeResult::Failed(error.to_string()),
        };
        if matches!(verdict, ProbeResult::Failed(_)) && self.failed.is_none() {
            self.failed = Some(SystemClock.now());
        }
        vec![verdict]
    }
}

/// Two namespaces with a wire between them.
struct Pair {
    near: Space,
    _far: Space,
}

impl Pair {
    fn new() -> Result<Self, String> {
        let (near, far) = (Space::new()?, Space::new()?);
        ip(&["-n", near.name(), "link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns", far.name()])?;
        for (space, address) in [(&near, "192.0.2.1/24"), (&far, "192.0.2.2/24")] {
            ip(&["-n", space.name(), "address", "add", address, "dev", "wire"])?;
            ip(&["-n", space.name(), "link", "set", "wire", "up"])?;
        }
        Ok(Self { near, _far: far })
    }

    fn options(&self) -> Options {
        self.near.options()
    }
}

/// Sets a document with one probe, and gives what became of it and when the probe first failed.
fn set(pair: &Pair, document: &str, probe: &str) -> Result<(Became, Option<Moment>), String> {
    let mut stage = pair.near.stage()?;
    let observed = stage.observe(Scope::default()).map_err(|error| error.to_string())?;
    let desired = play::desired("site.yaml", document.as_bytes(), &observed)?;
    let host = KernelHost::open_with(pair.options()).map_err(|error| error.to_string())?;
    let mut ping = Ping { host, probe: probe.parse().map_err(|_| "no probe")?, failed: None };
    let folder = StateFolder::new();
    let store = folder.store()?;
    let text = |error: netloom_journal::Error| error.to_string();
    let life = netloom_journal::Incarnation::named("test");
    let mut transaction = Transaction::take(&store, &mut stage, &SystemClock, life, Duration::ZERO).map_err(text)?;
    let request = Request::new(&desired, "site.yaml");
    let prepared = transaction.prepare(&request).map_err(text)?;
    let became = transaction.run(&prepared, &request, &mut ping).map_err(text)?;
    Ok((became, ping.failed))
}

pub(crate) fn broken_is_rolled_back() -> Outcome {
    let pair = Pair::new()?;
    let mut stage = pair.near.stage()?;
    let before = stage.observe(Scope::default()).map_err(|error| error.to_string())?;
    let document = "interfaces: [{name: wire, type: veth, ipv4: {enabled: true, address: [{ip: 198.51.100.1, prefix-length: 24}]}}]";
    let (became, failed) = set(&pair, document, "ping:192.0.2.2")?;
    let back = SystemClock.now();
    match became {
        Became::RolledBack { why: Cause::Probe { .. }, .. } => {}
        other => return Err(format!("it ended otherwise: {other:?}")),
    }
    let after = stage.observe(Scope::default()).map_err(|error| error.to_string())?;
    play::same("the host after the rollback", &before.host, &after.host)?;
    let took = failed.ok_or("the probe never failed")?.until(back);
    if took < IN_TIME {
        Ok(Ended::Passed(Some(format!("{} ms after the failed probe", took.as_millis()))))
    } else {
        Err(format!("it took {took:?}"))
    }
}

pub(crate) fn failed_before_does_not_count() -> Outcome {
    let pair = Pair::new()?;
    let document = "interfaces: [{name: wire, type: veth, mtu: 1400}]";
    let (became, _) = set(&pair, document, "ping:192.0.2.99")?;
    if became == Became::Confirmed { Ok(Ended::OK) } else { Err(format!("it ended otherwise: {became:?}")) }
}
