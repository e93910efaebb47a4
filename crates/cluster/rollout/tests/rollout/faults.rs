//! Seeded faults: nodes that die, answers lost, late and twice, clocks that jump, policies edited, pauses,
//! labels, new nodes, deciders killed in the middle. After them the cluster must settle.

use netloom_api::rollout::{Canary, FailureAction, RolloutPolicySpec, Share};
use netloom_rollout::Report;

use crate::world::{Content, Decider, World};

/// Dice that fall the same way for the same seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33
    }

    pub(crate) fn below(&mut self, sides: usize) -> usize {
        usize::try_from(self.roll()).unwrap_or_default() % sides.max(1)
    }
}

struct Play {
    world: World,
    dice: Dice,
    revisions: u64,
    /// Reports that went astray and may turn up again.
    astray: Vec<(String, Report)>,
}

impl Play {
    fn new(seed: u64, decider: Decider) -> Self {
        let mut dice = Dice::new(seed);
        let mut world = World::new(3 + dice.below(12));
        world.decider = decider;
        world.policy("p", spec(&mut dice));
        let mut play = Self { world, dice, revisions: 0, astray: Vec::new() };
        play.make_desired(false);
        play
    }

    fn node(&mut self) -> String {
        let i = self.dice.below(self.world.nodes.len());
        self.world.nodes.keys().nth(i).unwrap().clone()
    }

    fn make_desired(&mut self, bad: bool) {
        self.revisions += 1;
        let mut content = Content::new(self.revisions);
        if self.dice.below(3) == 0 && !bad {
            content = Content::new(1).with(&self.node(), self.revisions);
        }
        if self.dice.below(3) == 0 {
            content = content.by_class();
        }
        content.bad = bad;
        self.world.make_desired(&format!("r{:03}", self.revisions), content);
    }

    fn step(&mut self) {
        let node = self.node();
        match self.dice.below(24) {
            0..8 => self.world.answer(&node),
            8..12 => {
                let most = if self.dice.below(3) == 0 { self.dice.below(4) } else { usize::MAX };
                let decision = self.world.decision();
                self.world.carry_out(&decision, most);
            }
            12 => self.world.pass(1 + i64::try_from(self.dice.below(40)).unwrap()),
            13 => {
                if let Some(wake_at) = self.world.decision().wake_at {
                    self.world.now = wake_at;
                }
            }
            // Another one decides, whose clock is a little behind.
            14 => self.world.pass(-2),
            15 => self.agent(&node),
            16 => self.astray(&node),
            17 => {
                let ready = self.dice.below(2) == 0;
                self.world.ready(&node, ready);
            }
            18 => self.edit(),
            19 => {
                let class = ["edge", "core"][self.dice.below(2)];
                self.world.label(&node, class);
            }
            20 => self.make_desired(false),
            21 => self.make_desired(true),
            22 => {
                let name = format!("x{:03}", self.dice.below(5));
                if !self.world.nodes.contains_key(&name) {
                    self.world.join(&name);
                }
            }
            _ => self.lie(&node),
        }
    }

    fn agent(&mut self, node: &str) {
        let dead = self.dice.below(3) == 0;
        self.world.agents.get_mut(node).unwrap().dead = dead;
    }

    /// An answer is lost, and an older one arrives once more.
    fn astray(&mut self, node: &str) {
        if let Some(report) = self.world.nodes.get_mut(node).unwrap().report.take() {
            self.astray.push((node.to_owned(), report));
        }
        if !self.astray.is_empty() {
            let i = self.dice.below(self.astray.len());
            let (node, report) = self.astray[i].clone();
            self.world.nodes.get_mut(&node).unwrap().report = Some(report);
        }
    }

    /// A node claims what it was not assigned. One that guesses right what it will be assigned next cannot be
    /// distinguished from one that lies about what it was assigned, so it does not.
    fn lie(&mut self, node: &str) {
        let Some(assigned) = self.world.nodes[node].assigned.clone() else { return };
        let revision = format!("r{:03}", self.revisions);
        if assigned.revision != revision {
            let progress = netloom_rollout::Progress::Done;
            let report = Report { revision, generation: Some(assigned.generation), progress };
            self.world.nodes.get_mut(node).unwrap().report = Some(report);
        }
    }

    fn edit(&mut self) {
        let mut changed = spec(&mut self.dice);
        changed.paused = self.dice.below(3) == 0;
        if self.dice.below(4) == 0 {
            let i = self.dice.below(self.world.revisions.len());
            changed.pinned_revision = Some(self.world.revisions[i].name.clone());
        }
        self.world.most_canaries = self.world.most_canaries.max(changed.canary.nodes.of(self.world.nodes.len()));
        self.world.policy("p", changed);
    }

    /// Everything is well again and a good revision is desired: every node must get it.
    fn end(mut self) {
        let names: Vec<String> = self.world.nodes.keys().cloned().collect();
        for name in names {
            self.world.ready(&name, true);
            let agent = self.world.agents.get_mut(&name).unwrap();
            agent.dead = false;
            agent.answered = 0;
        }
        self.world.policy("p", RolloutPolicySpec { timeout_seconds: 10, ..RolloutPolicySpec::default() });
        self.world.run();
        self.revisions += 1;
        let last = format!("r{:03}", self.revisions);
        self.world.make_desired(&last, Content::new(self.revisions));
        self.world.run();
        assert!(self.world.all_have(&last), "{:#?}", self.world.decision().policies);
        let given = self.world.given.len();
        self.world.pass(100_000);
        self.world.run();
        assert_eq!(self.world.given.len(), given, "nothing is assigned twice");
    }
}

fn spec(dice: &mut Dice) -> RolloutPolicySpec {
    RolloutPolicySpec {
        canary: Canary { soak_seconds: [0, 5, 20][dice.below(3)], ..Canary::default() },
        waves: [vec![Share::Nodes(2)], vec![Share::Percent("25%".to_owned()), Share::Percent("50%".to_owned())]]
            [dice.below(2)]
        .clone(),
        max_unavailable: [Share::Nodes(2), Share::Percent("50%".to_owned())][dice.below(2)].clone(),
        timeout_seconds: 10,
        on_failure: [FailureAction::Revert, FailureAction::Revert, FailureAction::Pause][dice.below(3)],
        revision_history_limit: 4,
        ..RolloutPolicySpec::default()
    }
}

/// One run; it panics where a rule is broken.
pub(crate) fn play(seed: u64, decider: Decider) {
    let mut play = Play::new(seed, decider);
    for _ in 0..120 {
        play.step();
    }
    play.end();
}

#[test]
fn whatever_happens_the_rules_hold_and_the_cluster_settles() {
    let seeds = std::env::var("NETLOOM_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(60);
    for seed in 0..seeds {
        let result = std::panic::catch_unwind(|| play(seed, netloom_rollout::rollout));
        assert!(result.is_ok(), "seed {seed}");
    }
}
