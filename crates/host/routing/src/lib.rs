//! The configuration of routing daemons as a value: what FRR prints for `show running-config`, as blocks of lines.
//!
//! [`RoutingConfig`] is read from that text and printed as such, [`commands`] leads from one configuration to another in an
//! order in which FRR takes each command, and [`differences`] says the same for people. [`Owners`] has the daemons that
//! take a line, by release. The crate opens no socket, knows no time, and does not know what a line is for beyond what
//! FRR does with it when another line comes or goes.
//!
//! What holds:
//!
//! - A line is never more than one: no line break, no control character, no comment, and short enough for the buffer of a
//!   daemon, also with `no ` before it ([`LineError`]).
//! - A configuration is a set. FRR's own order of lines says nothing, and a reorder is no change.
//! - What is equal on both sides is never sent: FRR resets sessions for lines that only repeat what it has.
//! - A filter that is in use is changed in place. At no moment does it pass what neither side passes in full: entries are
//!   added before others go, and an entry that is new in a route map that is in use denies until it is complete.
//! - No text of this crate for logs shows a password: `Debug`, [`RoutingConfig::masked_text`], [`Command`] and
//!   [`LineChange`] as text. [`Display`](std::fmt::Display) of a configuration is what FRR reads and has them.
//!
//! FRR prints no value that equals its default (`frr defaults` in its text says which they are), and spells others in its
//! own way: `allowas-in 3` is printed as `allowas-in`, `ebgp-multihop` as `ebgp-multihop 255`, `continue 30` as
//! `on-match goto 30`, `route-target both` as two lines, and a route target that equals the automatic one not at all. Lines
//! given to [`RoutingConfig::add`] must be as FRR prints them; otherwise they are sent again and again, and never seen. It
//! prints `vrf X` without lines only while it has the device, and `import vrf route-map M` without an import as `route-map
//! vpn import M`.

mod command;
mod commands;
mod config;
mod daemons;
mod differences;
mod effect;
mod line;
mod order;
mod parts;
mod pattern;
mod syntax;
mod text;

pub use command::Command;
pub use commands::commands;
pub use config::RoutingConfig;
pub use daemons::{Daemon, Owners, Release};
pub use differences::{Change, LineChange, differences};
pub use line::{LineError, MAX_LINE, masked};
pub use text::ParseError;
