//! The lines of a routing configuration, each under the blocks that it stands in.
//!
//! A block that has lines need not be added itself; one that has none is added like a line.

use std::collections::BTreeSet;

/// Lines in the order in which they were made; none is there twice.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lines {
    lines: Vec<(Vec<String>, String)>,
    known: BTreeSet<(Vec<String>, String)>,
}

impl Lines {
    /// Adds a line under blocks, the outermost first, unless it is there.
    pub fn add(&mut self, context: &[&str], line: &str) {
        let line = (context.iter().map(|block| (*block).to_owned()).collect(), line.to_owned());
        if self.known.insert(line.clone()) {
            self.lines.push(line);
        }
    }

    /// Each line with the blocks that it stands in.
    pub fn iter(&self) -> impl Iterator<Item = (&[String], &str)> {
        self.lines.iter().map(|(context, line)| (&context[..], line.as_str()))
    }
}
