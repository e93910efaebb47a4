//! A Kubernetes-compatible API server in one process.
//!
//! ```text
//! connection ─► server ─► authn ─► request ─► rbac ─► resources ─► store
//!                │                   │                  │
//!                ca, identity        discovery,         catalogue ◄─ builtin, crds
//!                                    openapi, health,
//!                                    version, reviews
//! ```
//!
//! The left half ends connections and decides who asks and whether they may; the right half knows
//! objects. They meet in [`RequestInfo`](request::RequestInfo), [`Caller`](request::Caller) and
//! [`Body`](body::Body), and in the [`Catalogue`](catalogue::Catalogue) of everything that is served.
//!
//! What it is not: an aggregator, a caller of foreign webhooks, or a kubelet. Those are refused in
//! words.

pub mod authn;
pub mod body;
pub mod bootstrap;
pub mod builtin;
pub mod ca;
pub mod catalogue;
pub mod crds;
pub mod discovery;
pub mod events;
pub mod gc;
pub mod health;
pub mod identity;
pub mod metrics;
pub mod namespaces;
pub mod negotiate;
pub mod openapi;
mod protobuf;
pub mod rbac;
pub mod request;
pub mod resources;
pub mod reviews;
pub mod server;
pub mod status_error;
pub mod tables;
pub mod tokens;
pub mod version;
