//! What admission asks of the objects between front ends and nodes: they are named after their content and do not
//! contradict themselves.

pub(crate) mod network_config_revision;
pub(crate) mod network_config_revision_part;
pub(crate) mod node_network_config;
pub(crate) mod node_network_status;
