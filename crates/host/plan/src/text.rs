//! A plan as a person reads it.

use netloom_model::{Plan, RoutingChange, RoutingLine, Step, StepKind};
use netloom_types::IfName;

/// One line of a plan: `+` comes, `~` changes, `-` goes, `-/+` is recreated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The symbol.
    pub symbol: &'static str,
    /// What it is about.
    pub text: String,
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:>3} {}", self.symbol, self.text)
    }
}

/// How many things come, change and go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Things that come.
    pub add: usize,
    /// Things that change.
    pub change: usize,
    /// Things that go.
    pub remove: usize,
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} to add, {} to change, {} to remove", self.add, self.change, self.remove)
    }
}

/// The lines of a plan, in the order in which it is carried out.
pub fn lines(plan: &Plan) -> Vec<Line> {
    plan.steps.iter().flat_map(|planned| lines_of(plan, &planned.step)).collect()
}

/// The lines of one step: one, but each line of a routing daemon is one of its own.
fn lines_of(plan: &Plan, step: &Step) -> Vec<Line> {
    let Step::ChangeRouting(RoutingChange { add, remove }) = step else {
        return vec![Line { symbol: symbol(plan, step), text: step.to_string() }];
    };
    let line = |symbol| move |line: &RoutingLine| Line { symbol, text: format!("routing {line}") };
    remove.iter().map(line("-")).chain(add.iter().map(line("+"))).collect()
}

/// Counts a plan; a link that is recreated counts as one change.
pub fn summary(plan: &Plan) -> Summary {
    let mut summary = Summary::default();
    for planned in &plan.steps {
        if let Step::ChangeRouting(RoutingChange { add, remove }) = &planned.step {
            summary.add += add.len();
            summary.remove += remove.len();
            continue;
        }
        match symbol(plan, &planned.step) {
            "+" => summary.add += 1,
            "-" => summary.remove += 1,
            "-/+" if matches!(planned.step, Step::DeleteLink { .. }) => {}
            _ => summary.change += 1,
        }
    }
    summary
}

fn symbol(plan: &Plan, step: &Step) -> &'static str {
    match step {
        Step::CreateLink { name, .. } if deletes(plan, *name) => "-/+",
        Step::DeleteLink { name } if creates(plan, *name) => "-/+",
        step => match step.traits().kind {
            StepKind::Add => "+",
            StepKind::Change => "~",
            StepKind::Remove => "-",
        },
    }
}

fn creates(plan: &Plan, wanted: IfName) -> bool {
    plan.steps.iter().any(|planned| matches!(planned.step, Step::CreateLink { name, .. } if name == wanted))
}

fn deletes(plan: &Plan, wanted: IfName) -> bool {
    plan.steps.iter().any(|planned| matches!(planned.step, Step::DeleteLink { name } if name == wanted))
}
