//! How changes reach nodes, group `netloom.dev`: the one kind that no other interface has.

pub mod annotation;
mod policy;
mod share;

pub use policy::{
    Canary, Drift, FailureAction, Limits, NodeCounts, Phase, Probing, RetryPolicy, RolloutPolicy, RolloutPolicySpec,
    RolloutPolicyStatus,
};
pub use share::Share;
