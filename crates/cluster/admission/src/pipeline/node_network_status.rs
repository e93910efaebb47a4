//! `NodeNetworkStatus` asks for nothing; only whose agent writes it is a rule.

use netloom_api::pipeline::NodeNetworkStatus;
use serde_json::Value;

use crate::{Admitted, Findings, Index, Write, hostnet};

impl Admitted for NodeNetworkStatus {
    const INDEXES: &'static [Index] =
        &[Index { name: hostnet::BY_INSTALLER_VLAN, keys: |status: &Value| hostnet::installer_vlans(status) }];

    fn admit(_write: &Write<'_, Self>, _findings: &mut Findings) {}
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{
        User,
        fabric::table::{World, object},
    };

    #[test]
    fn an_agent_reports_its_own_node_only() {
        let status = |node: &str| object("NodeNetworkStatus", node, json!({}));
        let agent = || User::new("netloom:agent:worker-1", &["netloom:agents"]);
        World::new([]).user(agent()).create(status("worker-1")).taken();
        World::new([]).user(agent()).create(status("worker-2")).forbidden(
            r#"the agent of node "worker-1" may write only the NodeNetworkStatus of that name, not "worker-2""#,
        );
    }
}
