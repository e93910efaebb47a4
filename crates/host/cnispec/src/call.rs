//! How the plugin hands a request to the agent: one message each way, with its length in front.

use std::io::{Read, Write};

use serde::{Deserialize, Serialize};

use crate::Variables;

/// The longest configuration that is taken. Those of runtimes have some hundred bytes; a list for GC has about a
/// hundred for each container.
pub const MAX_CONFIG: usize = 1 << 20;

/// The longest message: a configuration whose every byte is escaped, and the variables.
const MAX_MESSAGE: usize = 8 << 20;

/// What a runtime passed to the plugin, not looked at any further.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The environment.
    pub variables: Variables,
    /// Standard input.
    pub config: String,
}

/// What the plugin prints, and how it ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// It succeeded.
    pub ok: bool,
    /// For standard output.
    pub output: String,
}

impl Call {
    /// Reads what the other side wrote.
    pub fn receive(from: &mut impl Read) -> std::io::Result<Self> {
        receive(from)
    }

    /// Writes it for the other side.
    pub fn send(&self, to: &mut impl Write) -> std::io::Result<()> {
        send(self, to)
    }
}

impl Answer {
    /// Reads what the other side wrote.
    pub fn receive(from: &mut impl Read) -> std::io::Result<Self> {
        receive(from)
    }

    /// Writes it for the other side.
    pub fn send(&self, to: &mut impl Write) -> std::io::Result<()> {
        send(self, to)
    }
}

fn send<T: Serialize>(message: &T, to: &mut impl Write) -> std::io::Result<()> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let length = u32::try_from(bytes.len() - 4).unwrap_or(u32::MAX);
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    to.write_all(&bytes)
}

fn receive<T: for<'a> Deserialize<'a>>(from: &mut impl Read) -> std::io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length);
    if usize::try_from(length).is_ok_and(|length| length > MAX_MESSAGE) {
        let what = format!("a message of {length} bytes; the longest has {MAX_MESSAGE}");
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, what));
    }
    // The buffer grows with what arrives, not with what is announced.
    let mut bytes = Vec::new();
    from.by_ref().take(length.into()).read_to_end(&mut bytes)?;
    if bytes.len() < usize::try_from(length).unwrap_or(usize::MAX) {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_slice(&bytes)?)
}
