//! The kinds from outside: their schemas, their rules and their examples.

mod agents;
mod anything;
mod cluster;
mod cost;
mod examples;
mod host_network_rules;
mod machine_rules;
mod machine_states;
mod messages;
mod node_state_rules;
mod pod_network_rules;
mod rollout_rules;
mod schemas;
mod uplink_rules;
