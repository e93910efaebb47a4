//! The lines of a routing configuration, each under the blocks that it stands in, and who asked for it.
//!
//! A block that has lines need not be added itself; one that has none is added like a line.

use std::collections::BTreeSet;

use netloom_api::pipeline::node_network_config::host::EntryOrigin;
use netloom_model::Origin;

/// A line with the blocks that it stands in.
type Line = (Vec<String>, String);

/// Lines in the order in which they were made; none is there twice, and who asks for one first is its origin.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lines {
    made: Vec<(Line, Option<Origin>)>,
    known: BTreeSet<Line>,
    /// Who asks for what is added next; none for what the base file asks for.
    asking: Option<Origin>,
}

impl Lines {
    /// Says who asks for the lines that are added from now on: an object, or the base file.
    pub(crate) fn asked_by(&mut self, origin: Option<Origin>) {
        self.asking = origin;
    }

    /// The same for an entry that may say who asked for it; gives who asked for what was added before.
    pub(crate) fn asked_by_entry(&mut self, origin: Option<&EntryOrigin>) -> Option<Origin> {
        let before = self.asking.clone();
        if let Some(origin) = origin {
            self.asking = Some(origin.origin());
        }
        before
    }

    /// Adds a line under blocks, the outermost first, unless it is there.
    pub fn add(&mut self, context: &[&str], line: &str) {
        let line: Line = (context.iter().map(|block| (*block).to_owned()).collect(), line.to_owned());
        if self.known.insert(line.clone()) {
            self.made.push((line, self.asking.clone()));
        }
    }

    /// Each line with the blocks that it stands in.
    pub fn iter(&self) -> impl Iterator<Item = (&[String], &str)> {
        self.with_origins().map(|(context, line, _)| (context, line))
    }

    /// The same with who asked; none for what the base file asks for.
    pub fn with_origins(&self) -> impl Iterator<Item = (&[String], &str, Option<&Origin>)> {
        self.made.iter().map(|((context, line), origin)| (&context[..], line.as_str(), origin.as_ref()))
    }
}
