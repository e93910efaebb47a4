//! Whose agent may write an object, and how that is reported.
//!
//! From one field follow what an agent asks the server for, what admission lets it write, and the policy that says the
//! same in the language of a real server.

use serde_json::Value;

use crate::dig;

/// Whose agent may write an object of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// No agent: people and the controller write it.
    Cluster,
    /// The agent of the node that a field names.
    Node(NodeField),
}

/// The field that names the node of an object. Servers select by it, so a definition lists it among its selectable
/// fields unless it is the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeField {
    /// Where it is, such as `spec.nodeName`.
    pub path: &'static str,
    /// Whether an agent may create such an object only under the name of its node. Else the names are nobody's.
    pub named: bool,
}

impl NodeField {
    /// The name of the object.
    pub const NAME: Self = Self { path: "metadata.name", named: true };

    /// Whether the object is called like its node.
    pub fn is_name(self) -> bool {
        self.path == Self::NAME.path
    }

    /// Whether an object is of a node.
    pub fn names(self, object: &Value, node: &str) -> bool {
        dig::text(object, self.path) == Some(node)
    }
}

impl Owner {
    /// The agent of the node that the object is named after.
    pub const NODE_OF_NAME: Self = Self::Node(NodeField::NAME);

    /// What the server shall select for the agent of a node; none where all objects concern it.
    pub fn selector(self, node: &str) -> Option<String> {
        match self {
            Self::Cluster => None,
            Self::Node(field) => Some(format!("{}={node}", field.path)),
        }
    }

    /// Whether an object concerns a node: it is that node's, or no node's.
    pub fn concerns(self, object: &Value, node: &str) -> bool {
        match self {
            Self::Cluster => true,
            Self::Node(field) => field.names(object, node),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_field_selects_what_is_of_a_node() {
        let owner = Owner::Node(NodeField { path: "spec.Host", named: false });
        assert_eq!(owner.selector("n1").as_deref(), Some("spec.Host=n1"));
        let object = json!({"metadata": {"name": "n2"}, "spec": {"Host": "n1"}});
        assert!(owner.concerns(&object, "n1") && !owner.concerns(&object, "n2"));
        assert!(Owner::NODE_OF_NAME.concerns(&object, "n2"));
        assert_eq!((Owner::Cluster.selector("n1"), Owner::Cluster.concerns(&object, "n3")), (None, true));
    }
}
