//! What routing daemons are configured with, line by line.
//!
//! A line is an object like a route: somebody asks for it, it comes and goes by itself, and lines of others stay. What a
//! line means, in which order daemons take lines and which of them replace each other is not known here.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::Duration,
};

use netloom_types::{IfName, Vni};
use serde::{Deserialize, Serialize};

/// A line of a daemon's configuration, under the lines that it stands in.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<Box<str>>", into = "Vec<Box<str>>")]
pub struct RoutingLine(Box<[Box<str>]>);

/// Why a text is no line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoRoutingLine {
    /// There is nothing in it.
    #[error("a line of a routing daemon's configuration is not empty")]
    Empty,
    /// A daemon would read another line out of it.
    #[error("{0:?} has a control character, which would end the line")]
    Control(Box<str>),
    /// Daemons cut it.
    #[error("a line of {0} bytes is longer than routing daemons read, which is {max}", max = RoutingLine::LONGEST)]
    TooLong(usize),
}

impl RoutingLine {
    /// The most bytes that daemons of every release read as one line.
    pub const LONGEST: usize = 4095;

    /// A line in a context: the lines that it stands in, from the outermost on.
    pub fn new<'a>(context: impl IntoIterator<Item = &'a str>, text: &'a str) -> Result<Self, NoRoutingLine> {
        context.into_iter().chain([text]).map(Box::from).collect::<Vec<_>>().try_into()
    }

    /// The lines that it stands in, from the outermost on.
    pub fn context(&self) -> &[Box<str>] {
        &self.0[..self.0.len() - 1]
    }

    /// The line itself.
    pub fn text(&self) -> &str {
        &self.0[self.0.len() - 1]
    }

    /// The outermost line of where it stands: itself where it stands alone.
    pub fn block(&self) -> &str {
        &self.0[0]
    }
}

impl TryFrom<Vec<Box<str>>> for RoutingLine {
    type Error = NoRoutingLine;

    fn try_from(lines: Vec<Box<str>>) -> Result<Self, NoRoutingLine> {
        if lines.is_empty() {
            return Err(NoRoutingLine::Empty);
        }
        for line in &lines {
            if line.trim().is_empty() {
                return Err(NoRoutingLine::Empty);
            }
            if line.chars().any(char::is_control) {
                return Err(NoRoutingLine::Control(line.clone()));
            }
            if line.len() > Self::LONGEST {
                return Err(NoRoutingLine::TooLong(line.len()));
            }
        }
        Ok(Self(lines.into()))
    }
}

impl From<RoutingLine> for Vec<Box<str>> {
    fn from(line: RoutingLine) -> Self {
        line.0.into_vec()
    }
}

impl fmt::Display for RoutingLine {
    /// For people: what it stands in, and the line, without its secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.context() {
            write!(f, "{line}: ")?;
        }
        f.write_str(&masked(self.text()))
    }
}

impl fmt::Debug for RoutingLine {
    /// As [`fmt::Display`]: what is printed for debugging ends up in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

/// A line without the word behind `password`.
fn masked(text: &str) -> String {
    let mut secret = false;
    let mask = |word| {
        let shown = if secret { "***" } else { word };
        secret = word == "password";
        shown
    };
    text.split(' ').map(mask).collect::<Vec<_>>().join(" ")
}

/// A change of what routing daemons are configured with, made at once: the order of its lines is the daemons' own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RoutingChange {
    /// Lines that come.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub add: BTreeSet<RoutingLine>,
    /// Lines that go.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub remove: BTreeSet<RoutingLine>,
}

impl RoutingChange {
    /// Whether nothing comes and nothing goes.
    pub fn is_empty(&self) -> bool {
        self.add.is_empty() && self.remove.is_empty()
    }

    /// The lines that are there afterwards.
    pub fn applied_to(&self, lines: &BTreeSet<RoutingLine>) -> BTreeSet<RoutingLine> {
        lines.difference(&self.remove).chain(&self.add).cloned().collect()
    }
}

impl fmt::Display for RoutingChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "routing: {} lines to add, {} to remove", self.add.len(), self.remove.len())
    }
}

/// What routing daemons report of themselves, beside what they are configured with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RoutingReport {
    /// Sessions with neighbours, by VRF and neighbour.
    pub sessions: Vec<RoutingSession>,
    /// VNIs that they know a device of, in order.
    pub vnis: Vec<RoutingVni>,
}

/// A BGP session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutingSession {
    /// The VRF; `default` where there is none.
    pub vrf: String,
    /// The neighbour: an address, or the name of a link.
    pub peer: String,
    /// Its autonomous system, once one is known.
    pub remote_as: Option<u32>,
    /// How far it is.
    pub state: RoutingSessionState,
    /// For how long; none for one that was never established.
    pub since: Option<Duration>,
    /// How often it was established.
    pub established: u32,
    /// Prefixes taken from the neighbour and sent to it, by family in the words of the daemon.
    pub prefixes: BTreeMap<String, (u32, u32)>,
    /// Whether the neighbour answers BFD, where it is asked.
    pub bfd: Option<bool>,
}

/// How far a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoutingSessionState {
    /// Routes are exchanged.
    Established,
    /// It is being built up, or waited for.
    Down,
    /// It is off by configuration.
    Shutdown,
    /// It is off because the neighbour sent more prefixes than it may.
    PrefixLimit,
}

/// A VNI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutingVni {
    /// The VNI.
    pub vni: Vni,
    /// Whether it is that of a VRF's routes; otherwise that of a segment.
    pub of_vrf: bool,
    /// The VRF that it belongs to; `default` where there is none.
    pub vrf: String,
    /// Its VXLAN device.
    pub link: Option<IfName>,
    /// Whether it carries packets: its device is there, and for a VRF all that the daemons need beside it.
    pub up: bool,
    /// Of a segment, how many other ends take what has no known destination.
    pub remotes: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_line() {
        let line = |text: &str| RoutingLine::new(["router bgp 65001"], text);
        assert_eq!(line("neighbor 10.0.0.1 remote-as 65010").unwrap().block(), "router bgp 65001");
        assert_eq!(line(" "), Err(NoRoutingLine::Empty));
        assert_eq!(line("a\nb"), Err(NoRoutingLine::Control("a\nb".into())));
        assert_eq!(line(&"a".repeat(4096)), Err(NoRoutingLine::TooLong(4096)));
        assert!(serde_json::from_str::<RoutingLine>("[]").is_err());
        let text = serde_json::to_string(&line("x").unwrap()).unwrap();
        assert_eq!(text, r#"["router bgp 65001","x"]"#);
        assert_eq!(serde_json::from_str::<RoutingLine>(&text).unwrap(), line("x").unwrap());
    }

    #[test]
    fn people_see_no_secret() {
        let line = RoutingLine::new(["router bgp 1"], "neighbor 10.0.0.1 password s3cret").unwrap();
        assert_eq!(line.to_string(), "router bgp 1: neighbor 10.0.0.1 password ***");
        let change = RoutingChange { add: [line].into(), ..RoutingChange::default() };
        assert!(!format!("{change:?}").contains("s3cret"));
    }
}
