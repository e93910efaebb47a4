//! The only place that prints.
//!
//! Data goes to standard output, everything else to standard error. Texts that come from outside
//! (aliases, file names, the kernel) may hold control characters; [`plain`] makes them harmless
//! before they reach a terminal.

use std::{
    borrow::Cow,
    io::{self, BufWriter, IsTerminal, Write},
};

use crate::failure::Failure;

/// How much a command tells beside its data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    quiet: bool,
    colour: bool,
}

/// The colours that are used, and what for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    /// Something comes.
    Green,
    /// Something changes.
    Yellow,
    /// Something goes.
    Red,
}

impl Output {
    /// Output of one command.
    pub(crate) fn new(quiet: bool) -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self { quiet, colour: wanted && io::stderr().is_terminal() }
    }

    /// Says a line to the user, unless asked to be quiet.
    pub(crate) fn note(self, line: &str) {
        if !self.quiet {
            complain(line);
        }
    }

    /// Says something that must not be missed.
    #[expect(clippy::unused_self, reason = "stands beside `note`, which is quiet when asked")]
    pub(crate) fn warn(self, line: &str) {
        complain(&format!("warning: {line}"));
    }

    /// Says which of several things came to nothing, and why.
    #[cfg(feature = "cluster")]
    #[expect(clippy::unused_self, reason = "stands beside `note`, which is quiet when asked")]
    pub(crate) fn refuse(self, line: &str) {
        complain(&format!("error: {line}"));
    }

    /// Says several lines that are already harmless, unless asked to be quiet.
    pub(crate) fn block(self, text: &str) {
        if !self.quiet {
            drop(io::stderr().lock().write_all(text.as_bytes()));
        }
    }

    /// Wraps a text in a colour, where there are colours.
    pub(crate) fn paint(self, colour: Colour, text: &str) -> String {
        let number = match colour {
            Colour::Green => 32,
            Colour::Yellow => 33,
            Colour::Red => 31,
        };
        if self.colour { format!("\x1b[{number}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Prints data to standard output, at once.
pub(crate) fn data(text: &str) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Prints why a command failed.
pub(crate) fn failure(failure: &Failure) {
    if !failure.message.is_empty() {
        complain(&format!("netloom: {}", failure.message));
    }
}

/// Prints a message of the argument parser: help to standard output, errors to standard error.
pub(crate) fn usage(message: &clap::Error) -> io::Result<()> {
    message.print()
}

/// A text without control characters other than line ends.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    let bad = |c: char| c.is_control() && c != '\n';
    if text.contains(bad) {
        Cow::Owned(text.chars().map(|c| if bad(c) { '\u{fffd}' } else { c }).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// Nobody can be notified that standard error is gone, so its failures are left alone.
fn complain(line: &str) {
    drop(writeln!(io::stderr().lock(), "{}", plain(line)));
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn control_characters_do_not_reach_a_terminal() {
        assert_eq!(plain("eth0\nup"), "eth0\nup");
        assert_eq!(plain("a\x1b[2Jb\u{9b}c\td"), "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d");
    }
}
