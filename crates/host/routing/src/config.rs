//! A configuration as a set of lines, each with the blocks that it is in.
//!
//! The line that opens a block (`vrf blue`) is a line of the block around it, like any other. [`RoutingConfig::add`] and
//! [`RoutingConfig::parse`] therefore put the opening lines in as well, while the set operations do exactly what their
//! names say: the difference of two configurations may have lines of a block without the block's own line. That is how a
//! record of what somebody added says whether the block is theirs or only some lines in it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::{Deserialize, Serialize};

use crate::{
    line::{LineError, canonical, masked},
    syntax::{self, Place},
};

/// Opening lines from the outermost to the innermost block; empty for the top level.
pub(crate) type Context = Vec<String>;

/// The configuration of one daemon, or of several together.
///
/// It is written as a list of blocks, each a pair of its opening lines and its lines.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<(Context, BTreeSet<String>)>", into = "Vec<(Context, BTreeSet<String>)>")]
pub struct RoutingConfig {
    /// No set is empty.
    blocks: BTreeMap<Context, BTreeSet<String>>,
}

impl RoutingConfig {
    /// Adds a line, together with the opening lines of the blocks that it is in.
    pub fn add(&mut self, context: &[&str], line: &str) -> Result<(), LineError> {
        let context = context.iter().map(|opening| canonical(opening)).collect::<Result<Context, _>>()?;
        let line = canonical(line)?;
        self.insert_closed(context, line);
        Ok(())
    }

    /// Adds a line that is known to be one, and the opening lines around it.
    pub(crate) fn insert_closed(&mut self, mut context: Context, line: String) {
        let mut line = line;
        loop {
            self.blocks.entry(context.clone()).or_default().insert(line);
            match context.pop() {
                Some(opening) => line = opening,
                None => return,
            }
        }
    }

    /// Whether there is no line.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// How many lines there are.
    pub fn len(&self) -> usize {
        self.blocks.values().map(BTreeSet::len).sum()
    }

    /// Whether there is this line in this block.
    pub fn contains(&self, context: &[&str], line: &str) -> bool {
        let context: Context = context.iter().map(|opening| (*opening).to_owned()).collect();
        self.has(&context, line)
    }

    /// [`Self::contains`] for a context that is there already.
    pub(crate) fn has(&self, context: &[String], line: &str) -> bool {
        self.blocks.get(context).is_some_and(|lines| lines.contains(line))
    }

    /// The blocks with their opening lines, each with its lines; in the order of the alphabet.
    pub fn blocks(&self) -> impl Iterator<Item = (&[String], &BTreeSet<String>)> {
        self.blocks.iter().map(|(context, lines)| (context.as_slice(), lines))
    }

    /// Every line with the opening lines of its block; in the order of the alphabet.
    pub fn lines(&self) -> impl Iterator<Item = (&[String], &str)> {
        self.blocks().flat_map(|(context, lines)| lines.iter().map(move |line| (context, line.as_str())))
    }

    /// The lines of one block.
    pub fn lines_of(&self, context: &[String]) -> impl Iterator<Item = &str> {
        self.blocks.get(context).into_iter().flatten().map(String::as_str)
    }

    /// What is in this or the other.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut all = self.clone();
        for (context, lines) in &other.blocks {
            all.blocks.entry(context.clone()).or_default().extend(lines.iter().cloned());
        }
        all
    }

    /// What is in this and not in the other. A block's own line stays behind where both have it.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        self.filter(|context, line| !other.has(context, line))
    }

    /// What is in both.
    #[must_use]
    pub fn within(&self, other: &Self) -> Self {
        self.filter(|context, line| other.has(context, line))
    }

    /// The lines that one daemon of a release prints, which are those that it is sent.
    #[must_use]
    pub fn printed_by(&self, daemon: crate::Daemon, release: crate::Release) -> Self {
        self.filter(|context, line| crate::Owners::of(context, line).in_release(release).contains(&daemon))
    }

    /// What the daemons of a host have together. A list or a route map counts only where all have it that take it: one that
    /// came back with nothing has none, whatever the others have.
    #[must_use]
    pub fn of_daemons(each: &BTreeMap<crate::Daemon, Self>, release: crate::Release) -> Self {
        let all = each.values().fold(Self::default(), |all, own| all.union(own));
        let is_there = |context: &[String], line: &str| {
            let owners = crate::Owners::of(context, line);
            let lacks = |owner: &crate::Daemon| each.get(owner).is_some_and(|own| !own.has(context, line));
            !owners.each_needs_it() || !owners.in_release(release).iter().any(lacks)
        };
        // An entry of a map that one of them has not comes again as a whole.
        all.filter(|context, line| {
            let opening = context.split_last();
            is_there(context, line) && opening.is_none_or(|(opening, outer)| is_there(outer, opening))
        })
    }

    /// The configuration without the blocks that end before the devices that they are about: VRF instances of BGP that
    /// `wanted` does not have (or has with another AS number), what other instances import from them, and the `vni` lines
    /// of VRFs that `wanted` does not have. Everything else is as it is now; blocks `vrf X` stay, because FRR keeps them
    /// while the device is there.
    #[must_use]
    pub fn without_blocks_of(&self, wanted: &Self) -> Self {
        let wanted = wanted.closed();
        let gone: BTreeSet<&str> = self
            .lines_of(&[])
            .filter(|line| !wanted.has(&[], line))
            .filter_map(|line| syntax::instance(line)?.vrf)
            .collect();
        let mut left = self.filter(|context, line| {
            let block = context.first().map_or(line, String::as_str);
            let of_gone = syntax::instance(block).and_then(|found| found.vrf).is_some_and(|vrf| gone.contains(vrf));
            let imports_gone = syntax::imported(context, line).is_some_and(|vrf| gone.contains(vrf));
            let vni = Place::of(context) == Place::Vrf && line.starts_with("vni ") && !wanted.has(context, line);
            !(of_gone || imports_gone || vni)
        });
        left.drop_hollow_places();
        left
    }

    /// The version in the heading of the text, such as `8.4.4`.
    pub fn version(&self) -> Option<&str> {
        self.lines_of(&[]).find_map(|line| line.strip_prefix("frr version "))
    }

    /// The lines that pass.
    #[must_use]
    pub fn filter(&self, mut keep: impl FnMut(&[String], &str) -> bool) -> Self {
        let mut blocks = BTreeMap::new();
        for (context, lines) in &self.blocks {
            let kept: BTreeSet<String> = lines.iter().filter(|line| keep(context, line)).cloned().collect();
            if !kept.is_empty() {
                blocks.insert(context.clone(), kept);
            }
        }
        Self { blocks }
    }

    /// The same with the opening lines of all blocks that have lines, and without places that have none: FRR prints an
    /// address family, an interface and their like only when something is in them.
    pub(crate) fn closed(&self) -> Self {
        let mut closed = self.clone();
        for context in self.blocks.keys() {
            let mut outer = context.clone();
            if let Some(opening) = outer.pop() {
                closed.insert_closed(outer, opening);
            }
        }
        closed.drop_hollow_places();
        closed
    }

    /// Removes opening lines of places that have no line; also of those that are hollow only then.
    pub(crate) fn drop_hollow_places(&mut self) {
        loop {
            let hollow: Vec<(Context, String)> = self
                .lines()
                .filter(|(context, line)| syntax::is_place(context, line) && !self.opens(context, line))
                .map(|(context, line)| (context.to_vec(), line.to_owned()))
                .collect();
            if hollow.is_empty() {
                return;
            }
            for (context, line) in hollow {
                self.remove(&context, &line);
            }
        }
    }

    /// Whether the line is that of a block that has lines.
    pub(crate) fn opens(&self, context: &[String], line: &str) -> bool {
        self.blocks.contains_key(&syntax::inner(context, line))
    }

    /// Removes one line and nothing else.
    pub(crate) fn remove(&mut self, context: &[String], line: &str) {
        if let Some(lines) = self.blocks.get_mut(context) {
            lines.remove(line);
            if lines.is_empty() {
                self.blocks.remove(context);
            }
        }
    }

    /// Removes a line and, where it opens a block, all that is in it.
    pub(crate) fn remove_block(&mut self, context: &[String], line: &str) {
        self.remove(context, line);
        let block = syntax::inner(context, line);
        self.blocks.retain(|found, _| !found.starts_with(&block));
    }

    /// Contexts at or below this one that have lines.
    pub(crate) fn contexts_below<'a>(&'a self, context: &'a [String]) -> impl Iterator<Item = &'a Context> {
        self.blocks.keys().filter(move |found| found.starts_with(context))
    }

    /// The text with passwords masked.
    pub fn masked_text(&self) -> String {
        let text = self.to_string();
        let masked: Vec<_> = text.split('\n').map(masked).collect();
        masked.join("\n")
    }
}

impl fmt::Debug for RoutingConfig {
    /// As text, without passwords: what is printed for debugging ends up in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.lines().map(|(context, line)| (context, masked(line)));
        f.debug_list().entries(shown).finish()
    }
}

impl From<RoutingConfig> for Vec<(Context, BTreeSet<String>)> {
    fn from(config: RoutingConfig) -> Self {
        config.blocks.into_iter().collect()
    }
}

impl TryFrom<Vec<(Context, BTreeSet<String>)>> for RoutingConfig {
    type Error = LineError;

    fn try_from(blocks: Vec<(Context, BTreeSet<String>)>) -> Result<Self, LineError> {
        let mut config = Self::default();
        for (context, lines) in blocks {
            let context = context.iter().map(|opening| canonical(opening)).collect::<Result<Context, _>>()?;
            for line in lines {
                config.blocks.entry(context.clone()).or_default().insert(canonical(&line)?);
            }
        }
        Ok(config)
    }
}
