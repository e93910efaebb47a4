//! Hosts that scenarios are played on: the simulated one here, the real one in [`crate::space`].

use std::time::Duration;

use netloom_kernel_sim::SimHost;
use netloom_model::{Engine, EngineError, KernelFeatures, Observed, Scope, Step, StepError};
use netloom_types::{IfName, MacAddr};

use crate::{play::Stage, scenario::Scenario};

/// The simulated host, with its writes counted.
#[derive(Debug)]
pub struct SimStage {
    host: SimHost,
    writes: u64,
}

impl SimStage {
    /// A fresh host with the cards that the scenario needs.
    pub fn new(scenario: &Scenario) -> Result<Self, String> {
        Self::with_kernel(scenario, KernelFeatures::default())
    }

    /// The same with another kernel.
    pub fn with_kernel(scenario: &Scenario, kernel: KernelFeatures) -> Result<Self, String> {
        let mut host = SimHost::with_kernel(kernel);
        for (number, name) in (1..).zip(scenario.cards()) {
            let name: IfName = name.parse().map_err(|error| format!("host.yaml: {error}"))?;
            host.add_ethernet(name, MacAddr::new([0x02, 0, 0, 0, 0xec, number]));
        }
        Ok(Self { host, writes: 0 })
    }
}

impl Engine for SimStage {
    fn observe(&mut self, scope: Scope) -> Result<Observed, EngineError> {
        self.host.observe(scope)
    }

    fn execute(&mut self, steps: &[Step]) -> Result<Vec<Result<(), StepError>>, EngineError> {
        self.writes += steps.len() as u64;
        self.host.execute(steps)
    }

    fn wait_for_change(&mut self, at_most: Duration) -> Result<bool, EngineError> {
        self.host.wait_for_change(at_most)
    }
}

impl Stage for SimStage {
    fn writes(&self) -> u64 {
        self.writes
    }
}
