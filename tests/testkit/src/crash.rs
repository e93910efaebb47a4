//! Death at any moment: hosts that end the process, or the world, after a number of steps.
//!
//! A process that is killed cannot clean up, so the test program starts itself again as a child with
//! [`Order`]s on its command line, and the child kills itself. Nothing is simulated about that: it is
//! `SIGKILL`, right after the kernel acknowledged what was sent: one step, or a whole batch of them.

use std::{
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use netloom_model::{Engine, EngineError, Observed, Scope, Step, StepError};
use nix::sys::signal::{Signal, kill};

/// What a child is asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The scenario and the round whose document is set; none to recover.
    pub set: Option<(String, usize)>,
    /// The namespace.
    pub namespace: String,
    /// The state folder.
    pub state: PathBuf,
    /// What stands for `/`.
    pub root: PathBuf,
    /// How many steps the child sends at once.
    pub batch: usize,
    /// After how many sends the child dies; 0 for never.
    pub dies_after: usize,
}

/// How a child ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Death {
    /// It killed itself, as it was ordered.
    Killed,
    /// It did all that it had to do before it was its time.
    Finished,
}

impl Order {
    /// The word that makes a program a child.
    pub const MARK: &'static str = "--as-a-child";

    /// The order on a command line, when there is one.
    pub fn parse(words: &[String]) -> Option<Result<Self, String>> {
        let (mark, rest) = words.split_first()?;
        (mark == Self::MARK).then(|| Self::of(rest).ok_or_else(|| format!("no order: {rest:?}")))
    }

    fn of(words: &[String]) -> Option<Self> {
        let [scenario, round, namespace, state, root, batch, dies_after] = words else { return None };
        let round: usize = round.parse().ok()?;
        let set = (round > 0).then(|| (scenario.clone(), round));
        let (batch, dies_after) = (batch.parse().ok()?, dies_after.parse().ok()?);
        Some(Self { set, namespace: namespace.clone(), state: state.into(), root: root.into(), batch, dies_after })
    }

    /// Starts this program again as a child and waits for its end.
    pub fn carry_out(&self) -> Result<Death, String> {
        let (scenario, round) = self.set.as_ref().map_or(("-", 0), |(name, round)| (name.as_str(), *round));
        let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
        let ended = Command::new(program)
            .args([Self::MARK, scenario, &round.to_string(), &self.namespace])
            .args([&self.state, &self.root])
            .args([self.batch.to_string(), self.dies_after.to_string()])
            .output()
            .map_err(|error| format!("a child: {error}"))?;
        match (ended.status.success(), ended.status.signal()) {
            (true, _) => Ok(Death::Finished),
            (false, Some(9)) => Ok(Death::Killed),
            (false, _) => Err(format!(
                "the child failed ({}): {}{}",
                ended.status,
                String::from_utf8_lossy(&ended.stdout),
                String::from_utf8_lossy(&ended.stderr)
            )),
        }
    }
}

/// A host on which the process dies right after a number of sends, each carried out as a whole.
pub struct Deadly<E> {
    /// The host.
    pub host: E,
    /// Sends until then; 0 for never.
    pub left: usize,
}

impl<E: Engine> Engine for Deadly<E> {
    fn observe(&mut self, scope: Scope) -> Result<Observed, EngineError> {
        self.host.observe(scope)
    }

    fn execute(&mut self, steps: &[Step]) -> Result<Vec<Result<(), StepError>>, EngineError> {
        let results = self.host.execute(steps)?;
        if self.left == 1 {
            // Does not return: no process survives this signal.
            kill(nix::unistd::Pid::this(), Signal::SIGKILL).ok();
        }
        self.left = self.left.saturating_sub(1);
        Ok(results)
    }

    fn wait_for_change(&mut self, at_most: Duration) -> Result<bool, EngineError> {
        self.host.wait_for_change(at_most)
    }
}

/// A host that is gone after a number of steps, as when the power fails: every later call fails.
pub struct PowerCut<'a> {
    /// The host.
    pub host: &'a mut dyn Engine,
    /// Steps until then.
    pub left: usize,
}

impl PowerCut<'_> {
    fn alive(&self) -> Result<(), EngineError> {
        if self.left > 0 {
            return Ok(());
        }
        Err(EngineError { doing: "talk to the host".to_owned(), why: "the power is gone".to_owned() })
    }
}

impl Engine for PowerCut<'_> {
    fn observe(&mut self, scope: Scope) -> Result<Observed, EngineError> {
        self.alive()?;
        self.host.observe(scope)
    }

    fn execute(&mut self, steps: &[Step]) -> Result<Vec<Result<(), StepError>>, EngineError> {
        let mut results = Vec::with_capacity(steps.len());
        for step in steps {
            self.alive()?;
            results.extend(self.host.execute(std::slice::from_ref(step))?);
            self.left -= 1;
        }
        Ok(results)
    }

    fn wait_for_change(&mut self, at_most: Duration) -> Result<bool, EngineError> {
        self.alive()?;
        self.host.wait_for_change(at_most)
    }
}

/// The journal that a transaction left in a state folder, if it left one.
pub fn journal(store: &Path) -> Option<Vec<u8>> {
    std::fs::read(store.join("journal")).ok()
}

/// The plans that are killed after every step: scenario and round. Every kind of change is here.
pub const PLANS: &[(&str, usize)] = &[
    ("address/primary-goes", 2),
    ("bond/create", 1),
    ("bond/delete", 2),
    ("bond/mode-change", 2),
    ("bond/uplink", 1),
    ("bond/uplink", 2),
    ("bond/uplink", 3),
    ("bridge/vlan-native", 2),
    ("merge/2-lists-replace", 2),
    ("merge/6-absent-children", 2),
    ("merge/9-order", 1),
    ("order/bridge-to-bond", 2),
    ("order/delete-many", 2),
    ("order/mixed", 2),
    ("order/mtu-down", 2),
    ("order/recreate-vrf-port", 2),
    ("ownership/given-back", 2),
    ("route/absent-wildcard", 2),
    ("rule/absent", 2),
    ("vlan/id-change", 2),
    ("vrf/move-port", 2),
    ("vrf/table-change", 2),
];

/// The plans that are killed after whole batches too. The last deletes so many links one after
/// another that the kernel is asked to delete them together.
pub const BATCHED: &[(&str, usize)] =
    &[("order/mixed", 2), ("merge/9-order", 1), ("order/bridge-to-bond", 2), ("order/delete-many", 2)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_known_by_its_mark() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let order = Order::parse(&words("--as-a-child vlan/create 2 blue /state /root 256 7")).unwrap().unwrap();
        assert_eq!(order.set, Some(("vlan/create".to_owned(), 2)));
        assert_eq!((order.namespace.as_str(), order.batch, order.dies_after), ("blue", 256, 7));
        assert!(Order::parse(&words("--as-a-child - 0 blue /state /root 1 0")).unwrap().unwrap().set.is_none());
        assert!(Order::parse(&words("--as-a-child vlan/create")).unwrap().is_err());
        assert!(Order::parse(&words("vlan")).is_none());
    }
}
