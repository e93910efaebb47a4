//! A small test runner for tests that are data.
//!
//! The usual harness knows tests by function; here every scenario is a test of its own, with a name,
//! a filter and a line in the output. One line per test, failures in full at the end, then the same
//! summary as the usual harness and a plain count for people and scripts.

use std::{io::Write, process::ExitCode};

use netloom_journal::{Clock as _, SystemClock};

/// What a test body gives back: on failure, the reason for a person.
pub type Outcome = Result<Ended, String>;

/// How a test that did not fail ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// It passed; what a person should know about it, if anything.
    Passed(Option<String>),
    /// It could not be run, for this reason. Never counted as passed.
    NotRun(String),
}

impl Ended {
    /// It passed and there is nothing to say.
    pub const OK: Self = Self::Passed(None);
}

/// One test.
pub struct Test<'a> {
    /// Its name, with slashes.
    pub name: String,
    /// What it does.
    pub body: Box<dyn FnMut() -> Outcome + 'a>,
}

impl<'a> Test<'a> {
    /// A test.
    pub fn new(name: impl Into<String>, body: impl FnMut() -> Outcome + 'a) -> Self {
        Self { name: name.into(), body: Box::new(body) }
    }
}

/// What a person asked the runner for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arguments {
    filters: Vec<String>,
    exact: bool,
    list: bool,
    part: Option<Part>,
}

/// One of several parts of equal size, for running them side by side: `2/3` has the second, fifth, eighth … test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    number: usize,
    of: usize,
}

impl Part {
    fn parse(text: &str) -> Option<Self> {
        let (number, of) = text.split_once('/')?;
        let part = Self { number: number.parse().ok()?, of: of.parse().ok()? };
        (1..=part.of).contains(&part.number).then_some(part)
    }

    fn has(self, index: usize) -> bool {
        index % self.of == self.number - 1
    }
}

impl Arguments {
    /// Reads the command line; options of the usual harness that mean nothing here are let pass.
    ///
    /// # Panics
    ///
    /// If a part is asked for that there cannot be: tests would be left out without a word.
    pub fn parse(words: impl Iterator<Item = String>) -> Self {
        let mut arguments = Self::default();
        for word in words {
            match word.as_str() {
                "--exact" => arguments.exact = true,
                "--list" => arguments.list = true,
                option if option.starts_with("--part=") => {
                    let text = option.trim_start_matches("--part=");
                    let part = Part::parse(text);
                    assert!(part.is_some(), "--part={text}: it is NUMBER/OF, and NUMBER is at least 1 and at most OF");
                    arguments.part = part;
                }
                option if option.starts_with("--") => {}
                _ => arguments.filters.push(word),
            }
        }
        arguments
    }

    fn wants(&self, name: &str) -> bool {
        let fits = |filter: &String| if self.exact { name == filter } else { name.contains(filter.as_str()) };
        self.filters.is_empty() || self.filters.iter().any(fits)
    }
}

/// Whether a test that could not be run is a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NotRun {
    /// For a person, who reads which ones they were, it is not.
    Listed,
    /// In continuous integration it is: a tier that left something out has not shown what it is there to show.
    Failed,
}

impl NotRun {
    fn here() -> Self {
        if std::env::var("CI").is_ok_and(|value| value == "true") { Self::Failed } else { Self::Listed }
    }
}

/// Runs the tests that are asked for and says how it went. With `CI=true` a test that could not be run counts as failed.
pub fn run(tests: Vec<Test<'_>>, arguments: &Arguments, out: &mut dyn Write) -> ExitCode {
    match report(tests, arguments, NotRun::here(), out) {
        Ok(true) => ExitCode::SUCCESS,
        // Nobody reads the output any more, so nobody can be notified: that is a failure too.
        Ok(false) | Err(_) => ExitCode::FAILURE,
    }
}

fn report(
    tests: Vec<Test<'_>>,
    arguments: &Arguments,
    not_run_is: NotRun,
    out: &mut dyn Write,
) -> std::io::Result<bool> {
    let all = tests.len();
    let mut wanted: Vec<Test<'_>> = tests.into_iter().filter(|test| arguments.wants(&test.name)).collect();
    if let Some(part) = arguments.part {
        let mut index = 0..;
        wanted.retain(|_| index.next().is_some_and(|index| part.has(index)));
    }
    let filtered = all - wanted.len();
    if arguments.list {
        wanted.iter().try_for_each(|test| writeln!(out, "{}: test", test.name))?;
        writeln!(out, "\n{} tests, 0 benchmarks", wanted.len())?;
        return Ok(true);
    }
    writeln!(out, "\nrunning {} tests", wanted.len())?;
    let started = SystemClock.now();
    let (mut passed, mut failures, mut not_run) = (0, Vec::new(), Vec::new());
    for mut test in wanted {
        write!(out, "test {} ... ", test.name)?;
        out.flush()?;
        let begun = SystemClock.now();
        let ended = (test.body)();
        let took = begun.until(SystemClock.now()).as_secs_f64();
        match ended {
            Ok(Ended::Passed(note)) => {
                passed += 1;
                let note = note.map(|note| format!("{note}, ")).unwrap_or_default();
                writeln!(out, "ok ({note}{took:.1} s)")?;
            }
            Ok(Ended::NotRun(why)) => {
                writeln!(out, "not run: {why}")?;
                not_run.push(test.name);
            }
            Err(why) => {
                // Here and at the end: a log that was cut short has one of the two.
                writeln!(out, "FAILED ({took:.1} s)\n{why}")?;
                failures.push((test.name, why));
            }
        }
    }
    if !failures.is_empty() {
        writeln!(out, "\nfailures:")?;
        for (name, why) in &failures {
            writeln!(out, "\n---- {name} ----\n{why}")?;
        }
    }
    let (failed, skipped) = (failures.len(), not_run.len());
    let good = failed == 0 && (skipped == 0 || not_run_is == NotRun::Listed);
    let word = if good { "ok" } else { "FAILED" };
    let took = started.until(SystemClock.now()).as_secs_f64();
    writeln!(
        out,
        "\ntest result: {word}. {passed} passed; {failed} failed; {skipped} ignored; 0 measured; \
         {filtered} filtered out; finished in {took:.2}s\n"
    )?;
    writeln!(
        out,
        "{passed} passed, {failed} failed{}",
        if skipped > 0 { format!(", {skipped} not run") } else { String::new() }
    )?;
    out.flush()?;
    Ok(good)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(words: &[&str]) -> (String, bool) {
        output_where(NotRun::Failed, words)
    }

    fn output_where(not_run_is: NotRun, words: &[&str]) -> (String, bool) {
        let tests = vec![
            Test::new("vlan/create", || Ok(Ended::OK)),
            Test::new("vlan/delete", || Err("it is still there".to_owned())),
            Test::new("bond/create", || Ok(Ended::NotRun("no cards".to_owned()))),
        ];
        let arguments = Arguments::parse(words.iter().map(|word| (*word).to_owned()));
        let mut out = Vec::new();
        let good = report(tests, &arguments, not_run_is, &mut out).unwrap();
        (String::from_utf8(out).unwrap(), good)
    }

    #[test]
    fn every_test_has_a_line_and_failures_are_reported_in_full() {
        let (text, good) = output(&["--nocapture"]);
        assert!(!good);
        for line in [
            "test vlan/create ... ok",
            "test vlan/delete ... FAILED",
            "it is still there",
            "1 passed, 1 failed, 1 not run",
        ] {
            assert!(text.contains(line), "{line:?} is missing in:\n{text}");
        }
    }

    #[test]
    fn a_filter_picks_tests_and_what_is_not_run_is_not_passed() {
        assert!(output(&["create", "--exact"]).0.contains("0 passed, 0 failed\n"));
        let (text, good) = output(&["vlan/create"]);
        assert!(good && text.contains("2 filtered out"), "{text}");
        assert!(!output(&["bond"]).1, "in continuous integration");
        let (text, good) = output_where(NotRun::Listed, &["bond"]);
        assert!(
            good && text.contains("bond/create ... not run: no cards")
                && text.contains("0 passed, 0 failed, 1 not run"),
            "{text}"
        );
        assert!(!output_where(NotRun::Listed, &["vlan/delete"]).1);
        assert!(output(&["--list"]).0.contains("vlan/delete: test"));
    }

    #[test]
    fn parts_share_the_tests_among_them() {
        let listed = |words: &[&str]| output(words).0.lines().filter(|line| line.ends_with(": test")).count();
        assert_eq!([1, 2].map(|part| listed(&["--list", &format!("--part={part}/2")])), [2, 1]);
        assert!(output(&["--list", "--part=2/2"]).0.contains("vlan/delete"));
        assert!(output(&["--list", "--part=2/2", "create"]).0.contains("bond/create"));
        assert_eq!(["0/2", "3/2", "2", "a/b", "1/0"].map(Part::parse), [None; 5]);
    }
}
