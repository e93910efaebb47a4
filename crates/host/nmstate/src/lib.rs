//! The nmstate document: parse, print, resolve against a host, show, diff and revert.
//!
//! ```text
//! bytes --parse--> Document --resolve(Observed)--> HostState    what somebody wants
//! Observed --show--> Document --to_yaml--> text                  what is
//! Observed --report--> JSON that fits into an object             what is, for a cluster
//! ```
//!
//! A [`Document`] is what somebody wrote: partial, and valid as far as that can be known without a
//! host. Everything that needs the host is checked by [`Document::resolve`], before anything is
//! touched. Every refusal names the place in the document and its line. The crate is pure.

mod changes;
mod document;
mod entry;
pub mod errors;
mod print;
mod raw;
mod read;
mod report;
mod resolve;
mod show;
mod table;
mod tree;
mod words;

pub use changes::{diff, revert};
pub use document::{Document, Interface, RouteEntry, RuleEntry, RulePrefix, State};
pub use errors::{DocumentError, Refusal, Warning};
pub use read::parse;
pub use report::{Heard, MADE_FOR_CONFIG, ReportOptions, container_links, report, unfold};
pub use resolve::{ResolveOptions, Resolved};
pub use tree::MAX_BYTES;
