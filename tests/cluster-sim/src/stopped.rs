//! A story once for every step that anybody takes in it, with something going wrong at that step, and once with
//! nothing going wrong. In the end of a chapter all must be as in that one.
//!
//! Runs that have the same steps behind them are the same up to there, so each begins as a copy of the one in which
//! nothing goes wrong. For the same reason a lease that is renewed is a step only where something was done since it was
//! renewed last: else everybody stands where he stood then.

use netloom_agent_core::Mode;
use serde_json::Value;

use crate::{Bug, Cluster, Finding, Micros, Process, SECOND, Stop, Story, Trouble, ending::differences};

/// How long before the end of a chapter that rests nobody may write.
const QUIET: Micros = 5 * SECOND;
/// How long it takes to fix what went wrong: until a lease is over that nobody gave back, and the work is done.
const FIXED: Micros = 25 * SECOND;
/// Every so many steps the next chapter is run as well: what went wrong must not be remembered there.
const LOOK_FURTHER: usize = 3;
/// How many more requests there may be when something went wrong: what was half done is done again once.
const MORE: usize = 40;
/// What a finding says of where its chance comes from.
const SEED: u64 = 7;

/// How a chapter ended in which nothing went wrong.
#[derive(Debug, Clone)]
struct End {
    ending: Value,
    asked: usize,
    changes: Vec<usize>,
    bad: Vec<usize>,
}

/// What became of a story.
#[derive(Debug)]
pub struct StoryResult {
    /// The steps that were taken when nothing went wrong.
    pub steps: usize,
    /// How many of them were a controller's.
    pub by_controllers: usize,
    /// The runs in which something did.
    pub runs: usize,
    /// Where that made a difference.
    pub findings: Vec<Finding>,
}

impl Story {
    /// Tells it with each of the troubles at every step; stops after `most` differences.
    pub fn play(&self, troubles: &[Trouble], bug: Option<Bug>, most: usize) -> Result<StoryResult, Finding> {
        let ends = self.ends(bug)?;
        let mut result = StoryResult { steps: 0, by_controllers: 0, runs: 0, findings: Vec::new() };
        let mut cluster = self.begin(bug);
        for number in 0..self.chapters.len() {
            cluster.begin_chapter(&self.chapters[number]);
            loop {
                let before = cluster.may_step().then(|| cluster.clone());
                if !cluster.run_once(self.end(number)) {
                    break;
                }
                let Some(before) = before.filter(|before| before.steps < cluster.steps) else { continue };
                if before.last_is_renewal && cluster.last_is_renewal {
                    continue;
                }
                result.steps += 1;
                result.by_controllers += usize::from(matches!(cluster.last_step, Some(Process::Controller(_))));
                for trouble in troubles {
                    result.runs += 1;
                    result.findings.extend(self.differs(before.clone(), number, *trouble, &ends));
                    if result.findings.len() >= most {
                        return Ok(result);
                    }
                }
            }
        }
        Ok(result)
    }

    /// How each chapter ends when nothing goes wrong.
    fn ends(&self, bug: Option<Bug>) -> Result<Vec<End>, Finding> {
        let mut cluster = self.begin(bug);
        let mut ends = Vec::new();
        for number in 0..self.chapters.len() {
            let chapter = &self.chapters[number];
            cluster.begin_chapter(chapter);
            let restless = self.finish(&mut cluster, number);
            let mut what = cluster.violations().to_vec();
            what.extend(restless.filter(|_| chapter.rests));
            what.extend(chapter.expect.unmet(&cluster));
            if !what.is_empty() {
                what.insert(0, format!("in {:?}, where nothing goes wrong", chapter.title));
                return Err(Finding::of(&cluster, SEED, what));
            }
            ends.push(End {
                ending: cluster.everything(),
                asked: cluster.asked(),
                changes: cluster.changes(),
                bad: cluster.bad_reached(),
            });
        }
        Ok(ends)
    }

    /// Goes on to the end of a chapter; says what was still written there.
    fn finish(&self, cluster: &mut Cluster, number: usize) -> Option<String> {
        cluster.run_until(self.end(number) - QUIET);
        let before = cluster.requests.clone();
        cluster.run_until(self.end(number));
        let more: Vec<_> = cluster.requests.iter().filter(|(key, count)| before.get(key) != Some(count)).collect();
        (!more.is_empty()).then(|| format!("still written in the end: {more:?}"))
    }

    /// Goes on with something going wrong at the next step until it must be fixed: to the end of the next chapter that
    /// rests. Says where that is not as it should be.
    fn differs(&self, mut cluster: Cluster, chapter: usize, trouble: Trouble, ends: &[End]) -> Option<Finding> {
        let step = cluster.steps;
        let began = cluster.now();
        cluster.setup.stop = Some(Stop { step, trouble });
        cluster.run_until(self.end(chapter));
        let last = self.chapters.len() - 1;
        let mut number = chapter;
        let mut restless = None;
        let early = began + FIXED <= self.end(chapter) && !step.is_multiple_of(LOOK_FURTHER);
        while number < last && ((number == chapter && !early) || !self.chapters[number].rests) {
            number += 1;
            cluster.begin_chapter(&self.chapters[number]);
            restless = self.finish(&mut cluster, number);
        }
        let end = &ends[number];
        let mut what = cluster.violations().to_vec();
        what.extend(restless);
        let past = trouble == Trouble::DiesAndSeesThePast;
        // Who believes that the past is the present goes back there, and what he finds then is what was there before.
        // Nobody does that in earnest: lists are asked for the present.
        let differences = differences(&cluster.everything(), &end.ending).into_iter();
        what.extend(differences.filter(|difference| !past || !difference.contains("/owned ")).take(12));
        for (node, (found, wanted)) in cluster.changes().into_iter().zip(&end.changes).enumerate() {
            // What an agent is about to do is on disk before it does it, so one that dies goes on with that. Only one that
            // merges policies itself can want the next before it knows how the last one went: it has then noted neither,
            // and goes back once. One who is late may do at once what others do in two steps.
            let merges = cluster.nodes[node].mode == Mode::Distributed;
            let again = usize::from(merges && cluster.last_stopped == Some(Process::Agent(node)));
            if !past && found > wanted + again {
                what.push(format!("node {node} was changed {found} times instead of {wanted}"));
            }
        }
        if cluster.asked() > end.asked + MORE {
            what.push(format!("{} requests instead of {}", cluster.asked(), end.asked));
        }
        if cluster.bad_reached() != end.bad {
            what.push(format!("bad desired states reached {:?} nodes instead of {:?}", cluster.bad_reached(), end.bad));
        }
        if what.is_empty() {
            return None;
        }
        let by = cluster.last_stopped;
        let result = format!(
            "{trouble:?} of {by:?} at step {step} in {:?}, seen in the end of {:?}",
            self.chapters[chapter].title, self.chapters[number].title
        );
        what.insert(0, result);
        Some(Finding::of(&cluster, SEED, what))
    }
}
