//! Probes of the kernel's network, as the transaction wants them: by name, side by side, in time.

use std::time::Duration;

use netloom_journal::{ProbeResult, Probes};
use netloom_model::{Engine, EngineError, Observed, Scope};
use netloom_netlink::{
    KernelHost, Namespace,
    probe::{Answer, Probe},
};

/// Probes in one namespace.
#[derive(Debug)]
pub struct KernelProbes<'a> {
    namespace: Namespace,
    probes: &'a [Probe],
    /// What the first round finds the gateway in; later rounds look again, because the change may
    /// have moved it.
    before: Option<&'a Observed>,
}

impl<'a> KernelProbes<'a> {
    /// Probes on a host as it was just observed.
    pub fn new(namespace: Namespace, probes: &'a [Probe], observed: &'a Observed) -> Self {
        Self { namespace, probes, before: Some(observed) }
    }

    /// Asks through a connection of its own: that of the transaction is busy with the transaction.
    fn ask(&mut self, asked: &[Probe], limit: Duration) -> Result<Vec<Answer>, EngineError> {
        let mut host = KernelHost::open(self.namespace.clone())?;
        match self.before.take() {
            Some(observed) => host.probe(asked, observed, limit),
            None if asked.contains(&Probe::Gateway) => {
                let observed = host.observe(Scope::default())?;
                host.probe(asked, &observed, limit)
            }
            None => host.probe(asked, &Observed::default(), limit),
        }
    }
}

impl Probes for KernelProbes<'_> {
    fn names(&self) -> Vec<String> {
        self.probes.iter().map(ToString::to_string).collect()
    }

    fn run(&mut self, names: &[String], limit: Duration) -> Vec<ProbeResult> {
        let asked: Vec<Probe> =
            self.probes.iter().filter(|probe| names.contains(&probe.to_string())).cloned().collect();
        match self.ask(&asked, limit) {
            Ok(answers) => answers.into_iter().map(verdict).collect(),
            Err(error) => asked.iter().map(|_| ProbeResult::Failed(error.to_string())).collect(),
        }
    }
}

/// Probes in one namespace that a journal names.
#[derive(Debug)]
pub struct NamedProbes(pub Namespace);

impl Probes for NamedProbes {
    /// None by itself: which ones count was found out before the change.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    fn run(&mut self, names: &[String], limit: Duration) -> Vec<ProbeResult> {
        let probes: Vec<Probe> = names.iter().filter_map(|name| name.parse().ok()).collect();
        if probes.len() != names.len() {
            let why = "this version of netloom does not know the probe".to_owned();
            return names.iter().map(|_| ProbeResult::Failed(why.clone())).collect();
        }
        KernelProbes { namespace: self.0.clone(), probes: &probes, before: None }.run(names, limit)
    }
}

fn verdict(answer: Answer) -> ProbeResult {
    match answer {
        Answer::Reached => ProbeResult::Passed,
        Answer::Failed(why) => ProbeResult::Failed(why),
        Answer::Refused(why) => ProbeResult::Refused(why),
        Answer::NotApplicable => ProbeResult::NotApplicable,
    }
}
