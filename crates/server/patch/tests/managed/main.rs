//! Ownership of fields, played through write by write.

#![expect(clippy::needless_pass_by_value, reason = "cases read better when their JSON is handed over")]

mod appliers;
mod entries;
mod leaves;
mod lists;
mod maps;
mod properties;
mod refusals;
mod versions;
mod world;
