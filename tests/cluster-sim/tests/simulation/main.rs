//! Controllers and agents together, with everything that goes wrong between them.

mod bites;
mod fleet;
mod hardware;
mod large;
mod modes;
mod planted;
mod seeds;
mod stories;
