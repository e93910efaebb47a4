//! Why a call came to nothing.

use std::{io, path::PathBuf, time::Duration};

use crate::frame::{Malformed, Unlikely};

/// Numbers that libvirt gives its errors.
pub mod code {
    /// What was asked cannot be done in the state that the domain is in.
    pub const OPERATION_INVALID: i32 = 55;
    /// Something else is done to the domain for too long.
    pub const OPERATION_TIMEOUT: i32 = 68;
    /// There is no such domain.
    pub const NO_DOMAIN: i32 = 42;
    /// There is no such device.
    pub const DEVICE_MISSING: i32 = 99;
}

/// Why a call came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is nobody at the socket.
    #[error("cannot connect to libvirt at {}: {source}; is the daemon running?", socket.display())]
    Connect {
        /// The socket.
        socket: PathBuf,
        /// What the system answered.
        #[source]
        source: io::Error,
    },
    /// The daemon wants a proof that this client does not have.
    #[error("libvirt asks for authentication (kind {0}) on this socket; agents need the read-write socket of root")]
    Authentication(u32),
    /// The daemon went away in the middle of a call.
    #[error("libvirt went away while it was asked to {0}")]
    Closed(&'static str),
    /// It did not answer.
    #[error("libvirt did not answer within {} s when it was asked to {doing}", limit.as_secs())]
    Silent {
        /// What it was asked for.
        doing: &'static str,
        /// How long it had.
        limit: Duration,
    },
    /// The socket fails.
    #[error("the socket of libvirt fails: {0}")]
    Socket(#[source] io::Error),
    /// It sent a frame that cannot be.
    #[error("libvirt sent nonsense: {0}")]
    Unlikely(#[from] Unlikely),
    /// It sent an answer that cannot be read.
    #[error("libvirt sent nonsense: {0}")]
    Malformed(#[from] Malformed),
    /// It refused.
    #[error("{message}")]
    Refused {
        /// The number of the error.
        code: i32,
        /// libvirt's own words.
        message: String,
    },
}

impl Error {
    /// A stable word for it.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Connect { .. } | Self::Authentication(_) => "LibvirtUnavailable",
            Self::Closed(_) | Self::Socket(_) => "LibvirtGone",
            Self::Silent { .. } => "LibvirtSilent",
            Self::Unlikely(_) | Self::Malformed(_) => "LibvirtNonsense",
            Self::Refused { .. } => "LibvirtRefused",
        }
    }

    /// Whether nothing more can be asked over the connection. Only a refusal leaves it as it was: after everything else
    /// an answer that is still to come would be taken for another one.
    pub fn ends_connection(&self) -> bool {
        !matches!(self, Self::Refused { .. })
    }

    /// Whether libvirt refused with this number.
    pub fn is(&self, wanted: i32) -> bool {
        matches!(self, Self::Refused { code, .. } if *code == wanted)
    }
}
