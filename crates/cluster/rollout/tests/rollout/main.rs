//! The rollout, driven against a small model of a cluster.
//!
//! [`world`] holds the objects and carries decisions out, checking every one of them; [`scenarios`] tell
//! single stories, [`apart`] those of nodes that merge policies themselves, [`again`] those of revisions that are tried again,
//! [`alive`] those of agents that are there or gone; [`every_order`] tries all orders of answers; [`faults`] throws seeded dice; [`anything`] makes no sense at all; [`broken`]
//! shows that the checks find deciders that break a rule.
#![expect(clippy::unwrap_used, reason = "a test whose story is wrong has to stop")]

mod again;
mod alive;
mod anything;
mod apart;
mod broken;
mod every_order;
mod faults;
mod scenarios;
mod world;
