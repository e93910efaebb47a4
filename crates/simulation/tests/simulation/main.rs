//! Controllers and agents together, with everything that goes wrong between them.

mod large;
mod planted;
mod seeds;
mod stops;
