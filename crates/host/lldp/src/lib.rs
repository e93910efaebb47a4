//! Who is on the wire: frames of the Link Layer Discovery Protocol, and the neighbours of a link.
//!
//! ```text
//! bytes --parse--> Announcement --Neighbours::hear--> table --report--> nmstate's form
//! ```
//!
//! The crate only listens: it makes no frames. It is pure; frames and the time come in as values, and
//! whoever owns the socket asks [`Neighbours::wake_at`] when to come back. A frame that breaks the
//! protocol's rules anywhere is refused as a whole: half of an announcement could make a policy match
//! a wire that it should not.

mod announcement;
mod malformed;
mod neighbours;
mod parse;
mod report;

pub use announcement::{Announcement, Capabilities, Id, MacPhy, ManagementAddress};
pub use malformed::Malformed;
pub use neighbours::{Heard, Neighbours};
pub use parse::{ETHERTYPE, GROUPS, parse};
