//! Links of every kind: their messages, both ways.
//!
//! ```text
//! table     where each property stands on the wire; exhaustive
//! form      how a value is written into an attribute
//! kind      the kernel's words for kinds
//! composed  properties that share an attribute
//! bond      what a bond's mode makes of its options
//! decode    message -> RawLink
//! encode    link, properties -> messages
//! ```
//!
//! Everything here is pure: bytes in, values out, and the other way round.

mod bond;
mod composed;
mod decode;
mod encode;
pub(crate) mod form;
mod kind;
pub(crate) mod table;

#[cfg(test)]
mod tests;

pub use decode::{Current, RawLink, decode, decode_token};
pub use encode::{
    Create, add_alt_name, create, delete, dump, dump_tokens, get, needs_current, remove_alt_name, set, set_alias,
    set_controller, set_up,
};
pub use form::Indexes;
