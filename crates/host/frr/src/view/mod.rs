//! What daemons report, as typed values.
//!
//! Each reader takes what one command prints in JSON, and ignores fields that it does not know: releases add some. What a
//! release spells in another way (a number as text) is read in both spellings.

pub(crate) mod bfd;
pub(crate) mod bgp;
pub(crate) mod zebra;

use serde::{Deserialize, Deserializer, de::DeserializeOwned, de::Error as _};

use crate::{Daemon, Daemons, FrrError};

/// Reads what a daemon printed for a command.
fn read<T: DeserializeOwned>(daemon: Daemon, command: &str, text: &str) -> Result<T, FrrError> {
    let unreadable =
        |error: serde_json::Error| FrrError::Unreadable { daemon, command: command.to_owned(), why: error.to_string() };
    serde_json::from_str(text).map_err(unreadable)
}

impl Daemons {
    /// Asks a daemon for something in JSON, and reads it.
    fn view<T>(
        &mut self,
        daemon: Daemon,
        command: &str,
        read: impl FnOnce(&str) -> Result<T, FrrError>,
    ) -> Result<T, FrrError> {
        read(&self.show(daemon, command)?)
    }
}

/// A number that some releases print as text.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Spelled {
        Number(u32),
        Text(String),
    }
    match Spelled::deserialize(from)? {
        Spelled::Number(number) => Ok(number),
        Spelled::Text(text) => text.parse().map_err(D::Error::custom),
    }
}

/// A value, or none in the words of FRR.
fn unless_none<T: std::str::FromStr>(text: &str) -> Result<Option<T>, T::Err> {
    match text {
        "" | "None" | "none" | "n/a" | "unknown" => Ok(None),
        other => other.parse().map(Some),
    }
}

#[cfg(test)]
mod tests;
