//! One command to the daemons: a line in its block.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{config::Context, daemons::Owners, line::masked};

/// A line that daemons are sent, and the blocks that it is sent in.
///
/// The opening lines of the blocks are sent before it. They make no block that is not to be there: a block that is new has
/// a command of its own before.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(Context, String)", into = "(Context, String)")]
pub struct Command {
    /// Opening lines from the outermost to the innermost block; empty for the top level.
    pub context: Vec<String>,
    /// The line.
    pub line: String,
    /// The daemons that take it.
    pub daemons: Owners,
}

impl Command {
    /// A command, with the daemons that follow from it.
    pub(crate) fn new(context: Context, line: String) -> Self {
        let daemons = Owners::of(&context, &line);
        Self { context, line, daemons }
    }
}

impl From<(Context, String)> for Command {
    fn from((context, line): (Context, String)) -> Self {
        Self::new(context, line)
    }
}

impl From<Command> for (Context, String) {
    fn from(command: Command) -> Self {
        (command.context, command.line)
    }
}

impl fmt::Display for Command {
    /// On one line, without passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_in_context(&self.context, &self.line, f)
    }
}

impl fmt::Debug for Command {
    /// As [`fmt::Display`]: what is printed for debugging ends up in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

/// Writes `router bgp 65001 vrf blue, address-family ipv4 unicast: import vrf red`.
pub(crate) fn write_in_context(context: &[String], line: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if !context.is_empty() {
        write!(f, "{}: ", context.join(", "))?;
    }
    f.write_str(&masked(line))
}
