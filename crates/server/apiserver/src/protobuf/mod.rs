//! Bodies in protobuf: what typed clients send for kinds that are part of Kubernetes.
//!
//! Bytes become the same JSON value that the client would have sent otherwise, so nothing behind this
//! module knows of protobuf. Which field has which number is a fact about Kubernetes and stands in
//! `messages.txt`, printed by the peer program from the Go types (`kube wire`); this code knows only
//! the encoding and the few types whose JSON is not made of their fields.
//!
//! Who needs it: `kubectl create namespace`, `configmap`, `secret`, `service`, `serviceaccount`, `role` and
//! `rolebinding` send nothing else and do not ask again in JSON (`scenarios/kubectl/typed.bash`), and so do clients of
//! client-go that are configured for it.
//!
//! Only reading. Answers are never written in protobuf; every client that accepts it accepts JSON too.
//!
//! Any bytes get an answer: nothing here panics, recursion is as deep as the limit says, and every
//! value that is made counts against another, also one that takes no byte.

mod message;
mod special;
mod table;
pub(crate) mod wire;

use netloom_schema::decode::Limits;
use serde_json::Value;

use self::{
    message::Reader,
    table::Table,
    wire::{Payload, fields},
};

/// The content type.
pub(crate) const MEDIA: &str = "application/vnd.kubernetes.protobuf";

/// What every body begins with. The last byte is the version of the envelope.
const MAGIC: [u8; 4] = *b"k8s\0";

/// Why bytes are not an object. The words are those of the Go library where it has any.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProtobufError {
    /// There is nothing.
    #[error("empty data")]
    Empty,
    /// The first bytes are others.
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    NoMagic,
    /// There is nothing after the first bytes.
    #[error("empty body")]
    NoEnvelope,
    /// The bytes end within a field.
    #[error("unexpected EOF")]
    EndsEarly,
    /// A number has more than ten bytes.
    #[error("proto: integer overflow")]
    NumberTooLong,
    /// A length is beyond every memory.
    #[error("proto: negative length found during unmarshaling")]
    NegativeLength,
    /// A field without a number.
    #[error("proto: illegal tag {0}")]
    IllegalTag(u64),
    /// A form of writing that does not exist.
    #[error("proto: illegal wireType {0}")]
    IllegalWireType(u64),
    /// A group ends that never began.
    #[error("proto: wiretype end group for non-group")]
    EndOfNoGroup,
    /// A field is written in a form that its type does not have.
    #[error("proto: wrong wireType = {found} for field {}", go_name(field))]
    WrongWireType {
        /// The field, as JSON names it.
        field: &'static str,
        /// The form.
        found: u8,
    },
    /// Messages lie too deep in each other.
    #[error("the body is nested deeper than {0} levels")]
    TooDeep(usize),
    /// There are too many values.
    #[error("the body has more than {0} values")]
    TooMany(usize),
    /// A value that JSON cannot hold.
    #[error("json: unsupported value: {0}")]
    NotJson(String),
    /// Nobody knows the kind.
    #[error("there is no message for the kind {0}")]
    UnknownKind(String),
}

impl ProtobufError {
    /// A stable name for tests and logs.
    #[cfg(test)]
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::NoMagic => "NoMagic",
            Self::NoEnvelope => "NoEnvelope",
            Self::EndsEarly => "EndsEarly",
            Self::NumberTooLong => "NumberTooLong",
            Self::NegativeLength => "NegativeLength",
            Self::IllegalTag(_) => "IllegalTag",
            Self::IllegalWireType(_) => "IllegalWireType",
            Self::EndOfNoGroup => "EndOfNoGroup",
            Self::WrongWireType { .. } => "WrongWireType",
            Self::TooDeep(_) => "TooDeep",
            Self::TooMany(_) => "TooMany",
            Self::NotJson(_) => "NotJson",
            Self::UnknownKind(_) => "UnknownKind",
        }
    }
}

/// The name of a field in Go, which begins with a capital.
fn go_name(field: &str) -> String {
    let mut letters = field.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A body whose kind is known and whose content is not read yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Envelope<'a> {
    /// Group and version; may be empty.
    pub(crate) api_version: String,
    /// The kind; may be empty.
    pub(crate) kind: String,
    raw: &'a [u8],
}

/// Opens the envelope around an object.
pub(crate) fn open(body: &[u8]) -> Result<Envelope<'_>, ProtobufError> {
    if body.is_empty() {
        return Err(ProtobufError::Empty);
    }
    let inner = body.strip_prefix(&MAGIC).ok_or(ProtobufError::NoMagic)?;
    if inner.is_empty() {
        return Err(ProtobufError::NoEnvelope);
    }
    let mut envelope = Envelope { api_version: String::new(), kind: String::new(), raw: &[] };
    for field in fields(inner) {
        match field? {
            (1, payload) => {
                for part in fields(payload.bytes("typeMeta")?) {
                    match part? {
                        (1, text) => envelope.api_version = text.text("apiVersion")?,
                        (2, text) => envelope.kind = text.text("kind")?,
                        _ => {}
                    }
                }
            }
            (2, payload) => envelope.raw = payload.bytes("raw")?,
            // Neither encoding nor another content type was ever used.
            (3 | 4, Payload::Bytes(_)) => {}
            (3 | 4, other) => return Err(other.misfit("contentType")),
            _ => {}
        }
    }
    Ok(envelope)
}

impl Envelope<'_> {
    /// Reads the content as an object of a kind; the kind itself is not part of it.
    pub(crate) fn read(&self, api_version: &str, kind: &str, limits: Limits) -> Result<Value, ProtobufError> {
        let table = Table::of_kubernetes();
        let message =
            table.kind(api_version, kind).ok_or_else(|| ProtobufError::UnknownKind(format!("{api_version}/{kind}")))?;
        Reader::new(table, limits).object(message, &[self.raw]).map(Value::Object)
    }
}

/// Whether there is a message for a kind.
pub(crate) fn knows(api_version: &str, kind: &str) -> bool {
    Table::of_kubernetes().kind(api_version, kind).is_some()
}

#[cfg(test)]
mod tests;
