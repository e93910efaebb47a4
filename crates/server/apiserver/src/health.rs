//! `/livez`, `/readyz`, `/healthz`: whether the server works, as a text.
//!
//! Live means that the process is worth keeping; ready, that requests are answered now.

use crate::request::Query;

/// One thing that must be well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What it is called.
    pub name: &'static str,
    /// What is wrong, if anything.
    pub problem: Option<String>,
}

impl Check {
    /// A check that passed, or did not.
    pub fn new(name: &'static str, outcome: Result<(), String>) -> Self {
        Self { name, problem: outcome.err() }
    }
}

/// Which question is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question<'a> {
    /// `livez`, `readyz` or `healthz`.
    pub endpoint: &'a str,
    /// One check of it, or all.
    pub check: Option<&'a str>,
}

impl<'a> Question<'a> {
    /// The question of a path.
    pub fn parse(path: &'a str) -> Option<Self> {
        let path = path.strip_prefix('/')?;
        let (endpoint, check) = path.split_once('/').map_or((path, None), |(endpoint, check)| (endpoint, Some(check)));
        matches!(endpoint, "livez" | "readyz" | "healthz").then_some(Self { endpoint, check })
    }

    /// The status code and the text of the answer; nothing for a check that does not exist.
    pub fn answer(&self, checks: &[Check], query: &Query) -> Option<(u16, String)> {
        if let Some(name) = self.check {
            let found = checks.iter().find(|check| check.name == name)?;
            return Some(match &found.problem {
                None => (200, "ok".to_owned()),
                Some(why) => (500, format!("internal server error: {why}\n")),
            });
        }
        let excluded: Vec<&str> = query.all("exclude").collect();
        let mut text = String::new();
        let mut failed = Vec::new();
        for check in checks {
            let line = match &check.problem {
                _ if excluded.contains(&check.name) => format!("[+]{} excluded: ok\n", check.name),
                None => format!("[+]{} ok\n", check.name),
                // What is wrong may tell too much; the log has it.
                Some(_) => {
                    failed.push(check.name);
                    format!("[-]{} failed: reason withheld\n", check.name)
                }
            };
            text.push_str(&line);
        }
        let unknown = excluded.iter().filter(|name| !checks.iter().any(|check| check.name == **name));
        text.extend(
            unknown.map(|name| format!("warn: some health checks cannot be excluded: no matches for {name:?}\n")),
        );
        if !failed.is_empty() {
            return Some((500, format!("{text}{} check failed\n", self.endpoint)));
        }
        let passed = format!("{text}{} check passed\n", self.endpoint);
        Some((200, if query.flag("verbose") { passed } else { "ok".to_owned() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks() -> [Check; 2] {
        [Check::new("ping", Ok(())), Check::new("store", Err("gone".into()))]
    }

    fn ask(path: &str, query: &str) -> Option<(u16, String)> {
        Question::parse(path)?.answer(&checks(), &Query::parse(query))
    }

    #[test]
    fn one_failure_fails_all() {
        let (code, text) = ask("/readyz", "").unwrap();
        assert_eq!(code, 500);
        assert_eq!(text, "[+]ping ok\n[-]store failed: reason withheld\nreadyz check failed\n");
    }

    #[test]
    fn a_check_can_be_left_out_or_asked_alone() {
        assert_eq!(ask("/livez", "exclude=store").unwrap(), (200, "ok".into()));
        let (code, text) = ask("/livez", "exclude=store&verbose").unwrap();
        assert_eq!((code, text.as_str()), (200, "[+]ping ok\n[+]store excluded: ok\nlivez check passed\n"));
        assert_eq!(ask("/readyz/ping", "").unwrap(), (200, "ok".into()));
        assert_eq!(ask("/readyz/store", "").unwrap().0, 500);
        assert_eq!(ask("/readyz/other", ""), None);
        assert_eq!(ask("/metrics", ""), None);
    }
}
