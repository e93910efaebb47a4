//! The controller's decisions, carried out on a small model of an API server with agents behind it.
#![expect(clippy::unwrap_used, reason = "a test whose story is wrong has to stop")]

mod again;
mod crashes;
mod effects;
mod fabric;
mod leaving;
mod machines;
mod model;
mod networks;
mod orphans;
mod parts;
mod standing;
mod stories;
