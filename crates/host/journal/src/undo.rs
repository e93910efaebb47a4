//! Taking a change back, and making sure of it.
//!
//! Every undo step may be carried out again and again: what is gone stays gone, what is there is
//! taken as it is. So an undo that was interrupted is simply begun again. Nothing stops it: refusals
//! are collected, and what counts is what the host shows in the end.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use netloom_model::{EngineError, Observed, Route, Step, Target};
use netloom_plan::{Difference, converge, differences};

use crate::{already, executor::Executor, record::Log, regained::Unreached};

/// How often the host may be brought closer to what it was, when the undo steps did not do it.
const ROUNDS: usize = 3;

/// When the host is read back after the first time; short, so that three rounds fit in a second.
const CHECKS: [Duration; 3] = [Duration::from_millis(20), Duration::from_millis(100), Duration::from_millis(300)];

/// What an undo took.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UndoReport {
    /// How many steps were carried out.
    pub steps: usize,
    /// Steps that were refused although all is as it was now, for a person.
    pub refused: Vec<String>,
    /// Probes that passed before the change and do not pass after the undo; where there are any, the undo is not verified.
    pub unreached: Vec<Unreached>,
}

impl UndoReport {
    /// What is not reached any more although everything was put back; none when the undo is verified.
    pub fn unreached_text(&self) -> Option<String> {
        let texts: Vec<String> = self.unreached.iter().map(ToString::to_string).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    }

    /// How it ended, to be reported after what was undone.
    pub fn ending(&self) -> String {
        match self.unreached_text() {
            None => "the host is as it was, and that was verified".to_owned(),
            Some(unreached) => format!("its configuration is as it was, but {unreached}"),
        }
    }

    /// The names of the probes that are not reached any more.
    pub fn unreached_names(&self) -> Vec<&str> {
        self.unreached.iter().map(|probe| probe.name.as_str()).collect()
    }
}

/// What to do to take a change back, and what to see when it is.
#[derive(Debug)]
pub(crate) struct Undo {
    pub(crate) steps: Vec<Step>,
    pub(crate) before: Target,
}

impl Undo {
    /// Takes back every step that was sent, last first, but those that met somebody else's object.
    pub(crate) fn of(log: &Log<'_>) -> Self {
        Self::without(log, &log.not_ours)
    }

    /// The same after a process that ended before it could note whose objects its steps met: a link
    /// that the steps should have made and that does not look like theirs is somebody else's.
    pub(crate) fn of_cut(log: &Log<'_>, observed: &Observed) -> Self {
        let steps = &log.begin.steps[..log.sent];
        let aliases = already::aliases(steps);
        let foreign = |at: &usize| already::is_foreign(observed, &steps[*at].step, &aliases);
        let met: BTreeSet<usize> = (0..log.sent).filter(foreign).chain(log.not_ours.iter().copied()).collect();
        Self::without(log, &met)
    }

    fn without(log: &Log<'_>, not_ours: &BTreeSet<usize>) -> Self {
        let mut before = log.begin.before.clone().into_owned();
        let mut steps = Vec::new();
        // Steps behind the one that should have made the link were refused: it was not there.
        let mut foreign = BTreeMap::new();
        for &number in not_ours {
            if let Step::CreateLink { name, .. } = &log.begin.steps[number].step {
                foreign.entry(*name).or_insert(number);
            }
        }
        for number in (0..log.sent).rev() {
            let planned = &log.begin.steps[number];
            let link = planned.step.link();
            if not_ours.contains(&number) {
                already::forget(&mut before, &planned.step);
            } else if link.and_then(|link| foreign.get(&link)).is_none_or(|made| *made >= number) {
                steps.extend(planned.undo.iter().cloned());
            }
        }
        Self { steps, before }
    }

    /// Puts files back after the kernel that was changed is gone.
    ///
    /// Which steps were sent is not asked: that may not have reached the disk. A file is put back
    /// when it holds what the change wrote, or nothing; anything else somebody wrote since.
    pub(crate) fn of_files(log: &Log<'_>, observed: &Observed) -> Self {
        let mut undo = Self { steps: Vec::new(), before: Target::default() };
        for planned in log.begin.steps.iter().rev().filter(|planned| planned.step.is_persistent()) {
            let Step::Set(setting) = &planned.step else { continue };
            let (key, wrote) = (setting.key(), already::shows(observed, &planned.step));
            if wrote || observed.settings.get(key).is_none_or(|there| there.is_empty()) {
                undo.steps.extend(planned.undo.iter().filter(|step| step.is_persistent()).cloned());
                undo.before.settings.extend(log.begin.before.settings.get(&key).map(|was| (key, was.clone())));
            }
        }
        undo
    }

    /// The same after so much time: addresses and routes that end are put back for what is left of them, and those that
    /// have ended meanwhile are not.
    pub(crate) fn after(mut self, passed: Duration) -> Self {
        self.steps.retain_mut(|step| match step {
            Step::AddAddress { address, .. } => address.after(passed).inspect(|later| *address = *later).is_some(),
            Step::AddRoute(route) | Step::ReplaceRoute(route) if route.extra.expires.is_some() => {
                route.clone().after(passed).inspect(|later| route.clone_from(later)).is_some()
            }
            _ => true,
        });
        self.before.routes.retain(|_, was| {
            let Some(route) = was.as_mut().filter(|route| route.extra.expires.is_some()) else { return true };
            route.clone().after(passed).inspect(|later| route.clone_from(later)).is_some()
        });
        for link in self.before.links.values_mut().flatten() {
            link.addresses = link.addresses.iter().filter_map(|address| address.after(passed)).collect();
        }
        self
    }

    /// Carries the undo out. The inner error lists what is not as it was.
    pub(crate) fn carry_out(
        self,
        executor: &mut Executor<'_>,
        batch: usize,
    ) -> Result<Result<UndoReport, (UndoReport, Vec<Difference>)>, EngineError> {
        let mut report = UndoReport::default();
        executor.with_derived = self.before.routes.values().flatten().any(Route::is_dynamic);
        let mut refused = send(executor, &self.steps, batch, &mut report)?;
        let mut rounds = 0;
        loop {
            let (observed, left) =
                executor.read_back(&CHECKS, |observed| differences(&self.before, observed), |_| false)?;
            if left.is_empty() {
                return Ok(Ok(report));
            }
            let repair: Vec<Step> = match converge(&observed, &self.before) {
                Ok(plan) => plan.steps.into_iter().map(|planned| planned.step).collect(),
                Err(error) => {
                    report.refused.push(error.to_string());
                    Vec::new()
                }
            };
            if rounds == ROUNDS || repair.is_empty() {
                let left = differences(&without_withdrawn(self.before, &refused), &observed);
                return Ok(if left.is_empty() { Ok(report) } else { Err((report, left)) });
            }
            rounds += 1;
            refused = send(executor, &repair, batch, &mut report)?;
        }
    }
}

/// Without the routes of others that were put back, and taken away again: their owner does not want them any more. `refused` are
/// the steps of the last attempt that did not work.
fn without_withdrawn(mut before: Target, refused: &[Step]) -> Target {
    let is_refused = |route: &Route| {
        refused
            .iter()
            .any(|step| matches!(step, Step::AddRoute(wanted) | Step::ReplaceRoute(wanted) if wanted == route))
    };
    before.routes.retain(|_, was| was.as_ref().is_none_or(|route| !route.is_dynamic() || is_refused(route)));
    before
}

/// Carries steps out and gives back those that were refused.
fn send(
    executor: &mut Executor<'_>,
    steps: &[Step],
    batch: usize,
    report: &mut UndoReport,
) -> Result<Vec<Step>, EngineError> {
    let mut refused = Vec::new();
    for steps in steps.chunks(batch) {
        let carried = executor.carry_out(steps)?;
        report.steps += steps.len();
        report.refused.extend(carried.refused.iter().map(|(at, error)| format!("{}: {error}", steps[*at])));
        refused.extend(carried.refused.iter().map(|(at, _)| steps[*at].clone()));
    }
    Ok(refused)
}

#[cfg(test)]
mod tests {
    use std::{borrow::Cow, net::IpAddr};

    use netloom_model::{Address, Alias, Attrs, Link, LinkKind, PlannedStep, RouteExtra, RouteMetrics, RouteType};
    use netloom_types::{IfName, Protocol, RouteTable};

    use super::*;
    use crate::record::{Phase, tests::begin};

    #[test]
    fn a_link_that_took_the_name_is_left_alone_after_a_kill() {
        let name: IfName = "new0".parse().unwrap();
        let kind = LinkKind::Dummy;
        let alias = Some(Alias::raw("ours"));
        let steps = vec![
            PlannedStep {
                step: Step::CreateLink { name, kind: kind.clone(), attrs: Attrs::new(), controller: None, up: false },
                undo: vec![Step::DeleteLink { name }],
                origin: None,
            },
            PlannedStep {
                step: Step::SetAlias { name, alias: alias.clone() },
                undo: vec![Step::SetAlias { name, alias: None }],
                origin: None,
            },
        ];
        let mut begin = begin(0);
        begin.steps = Cow::Owned(steps);
        begin.before.to_mut().links.insert(name, None);
        let log = Log { begin, sent: 2, not_ours: [].into(), phase: Phase::Running, whole: 0 };
        let seen = |alias: Option<Alias>| {
            let mut observed = Observed::default();
            observed.host.links.insert(name, Link { alias, ..Link::new(name, kind.clone()) });
            Undo::of_cut(&log, &observed)
        };
        let theirs = seen(Some(Alias::raw("theirs")));
        assert!(theirs.steps.is_empty() && theirs.before.links.is_empty());
        for alias in [alias, None] {
            let ours = seen(alias);
            assert_eq!((ours.steps.len(), ours.before.links.len()), (2, 1));
        }
        assert_eq!(Undo::of_cut(&log, &Observed::default()).steps.len(), 2);
    }

    #[test]
    fn an_address_that_ends_is_put_back_for_what_is_left_of_it() {
        let name: IfName = "eth0".parse().unwrap();
        let address =
            |last: u8, seconds| Address::new(IpAddr::from([192, 0, 2, last]), 24, Protocol::NETLOOM).lasting(seconds);
        let forever = Address::new(IpAddr::from([10, 0, 0, 1]), 24, Protocol::NETLOOM);
        let all = [address(1, 100), address(2, 30), forever];
        let mut before = Target::default();
        let link = Link { addresses: all.to_vec(), ..Link::new(name, LinkKind::Ethernet) };
        before.links.insert(name, Some(link));
        let mut steps: Vec<Step> = all.iter().map(|&address| Step::AddAddress { name, address }).collect();
        steps.push(Step::SetUp { name, up: true });
        let undo = Undo { steps, before }.after(Duration::from_secs(40));
        let left = [address(1, 60), forever];
        assert_eq!(undo.before.links[&name].as_ref().unwrap().addresses, left);
        let mut wanted: Vec<Step> = left.iter().map(|&address| Step::AddAddress { name, address }).collect();
        wanted.push(Step::SetUp { name, up: true });
        assert_eq!(undo.steps, wanted);
    }

    fn advertised(expires: Option<u32>) -> Route {
        Route {
            table: RouteTable::MAIN,
            destination: "::/0".parse().unwrap(),
            metric: 1024,
            kind: RouteType::Unreachable,
            next_hops: Vec::new(),
            source: None,
            protocol: Protocol::RA,
            metrics: RouteMetrics::default(),
            extra: RouteExtra { expires, preference: 0 },
        }
    }

    #[test]
    fn a_route_that_ends_is_put_back_for_what_is_left_of_it() {
        let passed = |expires, seconds| {
            let route = advertised(expires);
            let before = Target { routes: [(route.key(), Some(route.clone()))].into(), ..Target::default() };
            Undo { steps: vec![Step::AddRoute(route)], before }.after(Duration::from_secs(seconds))
        };
        let later = passed(Some(1800), 60);
        assert_eq!(later.steps, [Step::AddRoute(advertised(Some(1740)))]);
        assert_eq!(later.before.routes.values().flatten().collect::<Vec<_>>(), [&advertised(Some(1740))]);
        let ended = passed(Some(30), 60);
        assert!(ended.steps.is_empty() && ended.before.routes.is_empty());
        assert_eq!(passed(None, 60).steps.len(), 1);
    }

    #[test]
    fn a_route_that_its_owner_withdrew_is_not_missed_and_one_that_was_refused_is() {
        let route = advertised(None);
        let before = Target { routes: [(route.key(), Some(route.clone()))].into(), ..Target::default() };
        assert!(without_withdrawn(before.clone(), &[]).routes.is_empty());
        assert_eq!(without_withdrawn(before.clone(), &[Step::AddRoute(route)]), before);
    }
}
