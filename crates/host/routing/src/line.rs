//! One line of a configuration: what it may consist of, and how it is shown without its password.
//!
//! A line ends up in a command that is sent to a daemon, so one that holds a line break would be two commands, and one that
//! leaves its block would put all that follow it somewhere else. Such lines are refused here, once.

use std::borrow::Cow;

/// The longest line, in bytes. A daemon reads commands into a buffer of 4096 bytes with its end, and answers a longer one
/// without a status; the removal of a line is `no ` and the line.
pub const MAX_LINE: usize = 4096 - "no ".len() - 1;

/// Why a text is no line of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// It has no character, or only spaces.
    #[error("the line is empty; leave it out")]
    Empty,
    /// It has a line break or another control character.
    #[error(
        "the line has a line break or another control character at byte {at}, which would start another command; remove it"
    )]
    Control {
        /// Where, in bytes.
        at: usize,
    },
    /// A daemon takes it for a comment, or prints it as a message.
    #[error("the line begins with `{0}`, which daemons take for a comment or a message; begin it with a command")]
    Comment(char),
    /// It leaves its block, or is not about the configuration.
    #[error("the line is `{0}`, which leaves the block that it is in; leave it out, blocks end by themselves")]
    Leaves(&'static str),
    /// What follows a bar and a space is an instruction to the terminal.
    #[error(
        "the line has a bar followed by a space, after which daemons expect a filter of their output; write it without the space"
    )]
    Pipe,
    /// It is longer than the buffer of a daemon.
    #[error("the line has {0} bytes, more than the {MAX_LINE} that a daemon reads; shorten it")]
    TooLong(usize),
}

impl LineError {
    /// A stable name, for conditions and events.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Empty => "EmptyLine",
            Self::Control { .. } => "ControlCharacter",
            Self::Comment(_) => "Comment",
            Self::Leaves(_) => "LeavesBlock",
            Self::Pipe => "Pipe",
            Self::TooLong(_) => "LineTooLong",
        }
    }
}

/// First words of lines that leave a block or the configuration.
const LEAVING: &[&str] = &["exit", "end", "quit", "do", "configure", "enable", "disable"];
/// What FRR prints before a configuration.
pub(crate) const HEADINGS: &[&str] = &["Building configuration...", "Current configuration:"];

/// The line in the form in which FRR prints it, with single spaces.
pub(crate) fn canonical(text: &str) -> Result<String, LineError> {
    if let Some((at, _)) = text.char_indices().find(|(_, found)| found.is_control() || is_odd_space(*found)) {
        return Err(LineError::Control { at });
    }
    let line = text.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let first = line.split(' ').next().unwrap_or_default();
    if let Some(start @ ('!' | '#' | '%')) = line.chars().next() {
        return Err(LineError::Comment(start));
    }
    if line.is_empty() {
        return Err(LineError::Empty);
    }
    if let Some(leaving) = LEAVING.iter().find(|leaving| first == **leaving || is_exit(first, leaving)) {
        // `enable password …` and its like are settings.
        if line == first || *leaving == "do" || *leaving == "exit" {
            return Err(LineError::Leaves(leaving));
        }
    }
    if let Some(heading) = HEADINGS.iter().find(|heading| line == **heading) {
        return Err(LineError::Leaves(heading));
    }
    if line.contains("| ") {
        return Err(LineError::Pipe);
    }
    if line.len() > MAX_LINE {
        return Err(LineError::TooLong(line.len()));
    }
    Ok(line)
}

/// `exit-vrf` and its siblings.
fn is_exit(first: &str, leaving: &str) -> bool {
    leaving == "exit" && first.starts_with("exit-")
}

/// Spaces that other programs take for the end of a line or a word, and daemons do not.
fn is_odd_space(found: char) -> bool {
    found != ' ' && found.is_whitespace()
}

/// Words after which a secret follows.
const SECRET: &[&str] = &["password", "key-string", "md5", "authentication-key", "auth-key"];

/// The line with its password replaced by `***`, for plans, logs and journals that people read.
pub fn masked(line: &str) -> Cow<'_, str> {
    for (at, _) in line.match_indices(' ').chain([(line.len(), "")]) {
        let (before, after) = line.split_at(at);
        let word = before.rsplit(' ').next().unwrap_or_default();
        if SECRET.contains(&word) && after.len() > 1 {
            return Cow::Owned(format!("{before} ***"));
        }
    }
    Cow::Borrowed(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_are_single_and_nothing_else_changes() {
        assert_eq!(canonical("  neighbor  10.0.0.1   remote-as 1 ").unwrap(), "neighbor 10.0.0.1 remote-as 1");
        assert_eq!(canonical("enable password x").unwrap(), "enable password x");
        assert_eq!(canonical("description für Ökonomen").unwrap(), "description für Ökonomen");
    }

    #[test]
    fn what_is_more_or_less_than_one_line_is_refused() {
        for (text, reason) in [
            ("", "EmptyLine"),
            ("   ", "EmptyLine"),
            ("neighbor 10.0.0.1 password a\nno router bgp 1", "ControlCharacter"),
            ("neighbor 10.0.0.1 password a\rx", "ControlCharacter"),
            ("description a\tb", "ControlCharacter"),
            ("description a\0b", "ControlCharacter"),
            ("description a\u{2028}b", "ControlCharacter"),
            ("! a comment", "Comment"),
            ("# a comment", "Comment"),
            ("% Unknown command", "Comment"),
            ("exit", "LeavesBlock"),
            ("exit-vrf", "LeavesBlock"),
            ("end", "LeavesBlock"),
            ("do show version", "LeavesBlock"),
            ("Building configuration...", "LeavesBlock"),
            ("description a | include b", "Pipe"),
        ] {
            let error = canonical(text).unwrap_err();
            assert_eq!(error.reason(), reason, "{text:?}");
        }
        assert!(canonical("bgp as-path access-list a seq 5 permit (1|2)").is_ok());
    }

    #[test]
    fn the_longest_line_fits_a_daemons_buffer_with_its_removal() {
        let longest = format!("description {}", "x".repeat(MAX_LINE - "description ".len()));
        assert_eq!("no ".len() + canonical(&longest).unwrap().len(), 4095);
        assert_eq!(canonical(&format!("{longest}x")), Err(LineError::TooLong(MAX_LINE + 1)));
    }

    #[test]
    fn passwords_are_masked() {
        for (line, shown) in [
            ("neighbor 10.0.0.1 password very secret", "neighbor 10.0.0.1 password ***"),
            ("no neighbor eth0 password x", "no neighbor eth0 password ***"),
            ("password x", "password ***"),
            ("enable password 8 x", "enable password ***"),
            ("key-string x", "key-string ***"),
            ("neighbor 10.0.0.1 password", "neighbor 10.0.0.1 password"),
            ("service password-encryption", "service password-encryption"),
            ("neighbor 10.0.0.1 remote-as 1", "neighbor 10.0.0.1 remote-as 1"),
        ] {
            assert_eq!(masked(line), shown);
        }
    }
}
