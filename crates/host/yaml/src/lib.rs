//! YAML, once for everything: documents of hosts, objects of a cluster, generated files.
//!
//! ```text
//! bytes --text--> text --documents--> Document, a tree of nodes with their lines
//! a Printable value --print--> text
//! ```
//!
//! Knows YAML (and JSON, which is YAML) and nothing of what a text means. Whether `yes` is a boolean and what a repeated
//! key is differs between nmstate documents and objects of Kubernetes, so the tree keeps scalars as they were written
//! and every key that was there. Reading is bounded in depth and in values, every use of an alias counted, so that no
//! text takes more memory than a small multiple of the largest honest one. The crate is pure.

mod print;
mod quick;
mod read;
mod text;
mod tree;

pub use print::{Printable, View, print, print_stream};
pub use read::{Limits, documents, first, scalar};
pub use text::{json_as_yaml, text};
pub use tree::{Core, Data, Document, Entry, Node, Style, is_null};

/// Why bytes are no tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The bytes are not UTF-8.
    #[error("byte {at} starts no character of UTF-8")]
    NotUtf8 {
        /// Where the first wrong byte is.
        at: usize,
        /// The line of it, from 1.
        line: u32,
    },
    /// A control character that YAML does not allow.
    #[error("byte {at} is the control character 0x{byte:02x}")]
    Control {
        /// Where it is.
        at: usize,
        /// The line of it, from 1.
        line: u32,
        /// The character.
        byte: u8,
    },
    /// The scanner cannot go on.
    #[error("line {line}, column {column}: {what}")]
    Syntax {
        /// From 1.
        line: u32,
        /// From 1.
        column: usize,
        /// What the scanner says.
        what: String,
    },
    /// YAML that no tree of texts, lists and maps can hold.
    #[error("line {line}: {what}")]
    Shape {
        /// From 1.
        line: u32,
        /// What is wrong there.
        what: &'static str,
    },
    /// Lists and maps lie too deep in each other.
    #[error("line {line}: nested deeper than {limit} levels")]
    TooDeep {
        /// From 1.
        line: u32,
        /// The limit that was passed.
        limit: usize,
    },
    /// There are too many values.
    #[error("line {line}: more than {limit} values")]
    TooMany {
        /// From 1.
        line: u32,
        /// The limit that was passed.
        limit: usize,
    },
}
