//! Scenarios: stories about one host, in files.
//!
//! ```text
//! scenarios/<area>/<name>/
//!   README          one line on what it shows; else the first comment of 1-set.yaml says it
//!   host.yaml       what somebody else configured before; cards (`type: ethernet`) are provided, and
//!                   the loopback link is up unless the first line is `# fresh loopback`
//!   host-routes.yaml  routes that leases, router advertisements or routing daemons made before
//!   N-hand.yaml     what somebody else changes before document N
//!   N-set.yaml      the documents, set in order; `# options: …` in the first lines says how
//!   N-expect.yaml   what must be there afterwards, beyond what the document itself says
//!   N-refused.txt   instead: words of the error, one per line; nothing may have been touched
//!   N-plan.txt      the plan as people read it (golden)
//!   state.yaml      the host in the end (golden)
//! ```
//!
//! This module only reads the files. Invariant: a scenario has at least one document, and they are
//! numbered without a gap.

use std::{
    fs, io,
    net::IpAddr,
    path::{Path, PathBuf},
};

use netloom_model::Route;

use crate::yaml;

/// The source that documents are set under, unless an option says otherwise.
pub const SOURCE: &str = "site.yaml";

/// One story.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// `area/name`.
    pub name: String,
    /// Where its files are.
    pub dir: PathBuf,
    /// What it shows.
    pub title: String,
    /// What somebody else configured before.
    pub host: Option<Vec<u8>>,
    /// Routes that nobody configured before.
    pub routes: Vec<Route>,
    /// The documents.
    pub rounds: Vec<Round>,
}

/// One document of a story, and what must come of it.
#[derive(Debug, Clone)]
pub struct Round {
    /// Its number, from 1.
    pub number: usize,
    /// What somebody else changes before.
    pub manual: Option<Vec<u8>>,
    /// The document.
    pub set: Vec<u8>,
    /// How it is set.
    pub options: Options,
    /// What must be there afterwards.
    pub expect: Option<Vec<u8>>,
    /// Words of the error that must come instead.
    pub refused: Option<Vec<String>>,
}

/// How a document is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The name that it is set under.
    pub source: String,
    /// Whether it is all that its source wants.
    pub whole: bool,
    /// Whether a controller generated it.
    pub generated: bool,
    /// Addresses that must stay reachable.
    pub protect: Vec<IpAddr>,
    /// Whether they may be cut off all the same.
    pub allow_cut: bool,
}

/// The areas whose scenarios are about a cluster and not about one host.
const OF_CLUSTERS: [&str; 6] = ["compile", "fabric", "hostnet", "nodestate", "podnet", "stops"];

impl Scenario {
    /// Reads every scenario of a host below `root`, sorted by name.
    pub fn load_all(root: &Path) -> Result<Vec<Self>, String> {
        let mut found = Vec::new();
        for area in folders(root)?.into_iter().filter(|area| !OF_CLUSTERS.iter().any(|name| area.ends_with(name))) {
            for dir in folders(&area)? {
                found.push(Self::load(root, &dir)?);
            }
        }
        Ok(found)
    }

    /// Reads one scenario.
    pub fn load(root: &Path, dir: &Path) -> Result<Self, String> {
        let name = dir.strip_prefix(root).unwrap_or(dir).display().to_string();
        let mut rounds = Vec::new();
        for number in 1.. {
            let file = |what: &str| optional(&dir.join(format!("{number}-{what}")));
            let Some(set) = file("set.yaml")? else { break };
            let options = Options::read(&set).map_err(|why| format!("{name}/{number}-set.yaml: {why}"))?;
            let refused = file("refused.txt")?.map(|text| lines(&text));
            rounds.push(Round {
                number,
                manual: file("hand.yaml")?,
                set,
                options,
                expect: file("expect.yaml")?,
                refused,
            });
        }
        let Some(first) = rounds.first() else { return Err(format!("{name}: there is no 1-set.yaml")) };
        let title = match optional(&dir.join("README"))? {
            Some(text) => lines(&text).into_iter().next(),
            None => comments(&first.set).find(|line| !line.starts_with(Options::MARK)),
        };
        let title = title.ok_or_else(|| format!("{name}: nothing says what it shows"))?;
        let routes = match optional(&dir.join("host-routes.yaml"))? {
            None => Vec::new(),
            Some(text) => yaml::read(&String::from_utf8_lossy(&text))
                .and_then(|routes| serde_json::from_value(routes).map_err(|error| error.to_string()))
                .map_err(|error| format!("{name}/host-routes.yaml: {error}"))?,
        };
        Ok(Self { name, dir: dir.to_owned(), title, host: optional(&dir.join("host.yaml"))?, routes, rounds })
    }

    /// The names of the cards that the host must have: every line of `host.yaml` that says
    /// `{name: NAME, type: ethernet …`.
    pub fn cards(&self) -> Vec<String> {
        let text = self.host.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
        let card = |line: &str| {
            let (name, rest) = line.split_once("name: ")?.1.split_once(',')?;
            rest.contains("type: ethernet").then(|| name.trim().to_owned())
        };
        text.lines().filter_map(card).collect()
    }

    /// Whether the loopback link is as the kernel makes it: down.
    pub fn fresh_loopback(&self) -> bool {
        comments(self.host.as_deref().unwrap_or_default()).any(|line| line == "fresh loopback")
    }

    /// All texts of the story, to find the values that it asks for.
    pub fn texts(&self) -> impl Iterator<Item = &[u8]> {
        let of_rounds = self.rounds.iter().flat_map(|round| [Some(&round.set), round.manual.as_ref()]);
        of_rounds.chain([self.host.as_ref()]).flatten().map(Vec::as_slice)
    }
}

impl Options {
    const MARK: &'static str = "options:";

    fn read(document: &[u8]) -> Result<Self, String> {
        let mut options =
            Self { source: SOURCE.to_owned(), whole: false, generated: false, protect: Vec::new(), allow_cut: false };
        let line = comments(document).find_map(|line| line.strip_prefix(Self::MARK).map(str::to_owned));
        let line = line.unwrap_or_default();
        let mut words = line.split_whitespace();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word {
                "--source" => value()?.clone_into(&mut options.source),
                "--whole-of" => options.whole = true,
                "--generated" => options.generated = true,
                "--allow-cut" => options.allow_cut = true,
                "--protect" => {
                    let text = value()?;
                    options.protect.push(text.parse().map_err(|_| format!("{text} is no address"))?);
                }
                other => return Err(format!("there is no option {other}")),
            }
        }
        Ok(options)
    }
}

/// The comment lines at the top of a document, without the sign.
fn comments(document: &[u8]) -> impl Iterator<Item = String> {
    let text = String::from_utf8_lossy(document).into_owned();
    let top: Vec<String> =
        text.lines().map_while(|line| line.strip_prefix('#')).map(|line| line.trim().to_owned()).collect();
    top.into_iter()
}

fn lines(text: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(text).lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn optional(path: &Path) -> Result<Option<Vec<u8>>, String> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

fn folders(of: &Path) -> Result<Vec<PathBuf>, String> {
    let cannot = |error: io::Error| format!("{}: {error}", of.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(of).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        if path.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_stand_in_the_first_lines_of_a_document() {
        let text =
            b"# options: --whole-of --source a.yaml --protect 192.0.2.1 --allow-cut\n# It shows something.\nx: 1\n";
        let options = Options::read(text).unwrap();
        assert!(options.whole && options.allow_cut && !options.generated);
        assert_eq!((options.source.as_str(), options.protect.len()), ("a.yaml", 1));
        assert_eq!(comments(text).nth(1).as_deref(), Some("It shows something."));
        assert_eq!(Options::read(b"x: 1\n# options: --nonsense\n").unwrap().source, SOURCE);
        assert!(Options::read(b"# options: --nonsense\n").is_err());
        assert!(Options::read(b"# options: --protect\n").is_err());
    }
}
