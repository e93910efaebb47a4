//! Controllers and agents together, with everything that goes wrong between them.

mod bites;
mod large;
mod modes;
mod planted;
mod seeds;
mod stories;
