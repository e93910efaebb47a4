//! The credentials that lie on a node: what a thief finds there.

use std::process::Command;

use serde_json::{Value, json};

use super::{OWN, run};
use crate::{
    Stage, keys,
    script::{self, Step},
    servers::{Server, Side},
    stolen::Place,
    wire::Wire,
};

const ACCOUNT: &str = "/api/v1/namespaces/netloom-system/serviceaccounts/netloom-agent/token";

/// One way to be an agent.
pub(super) struct Identity {
    pub(super) name: &'static str,
    /// A line for the head of each request.
    pub(super) head: String,
    /// Where the credential is the connection's.
    own_wire: Option<Wire>,
}

impl Identity {
    /// How requests of this identity reach the server.
    pub(super) fn wire<'a>(&'a self, server: &'a Server) -> &'a Wire {
        self.own_wire.as_ref().unwrap_or(&server.wire)
    }

    fn token(name: &'static str, token: &str) -> Self {
        Self { name, head: format!("@token {token}"), own_wire: None }
    }
}

/// Every credential that says it is the agent of the node.
pub(super) fn thieves(stage: &Stage, side: Side, server: &Server) -> Result<Vec<Identity>, String> {
    scene(stage, server)?;
    let certificate = Identity {
        name: "certificate",
        head: "X-Credential: certificate".to_owned(),
        own_wire: Some(certificate(stage, side, server)?),
    };
    let bound = |kind: &str, name: &str| json!({ "apiVersion": "v1", "kind": kind, "name": name });
    Ok(vec![
        certificate,
        Identity::token("token of the node", &token(stage, server, Some(&bound("Node", OWN)))?),
        Identity::token("token of a pod on the node", &token(stage, server, Some(&bound("Pod", "agent")))?),
    ])
}

/// A token of the agents' account that is bound to nothing: it is the agent of no node.
pub(super) fn nameless(stage: &Stage, server: &Server) -> Result<Identity, String> {
    Ok(Identity::token("token without a node", &token(stage, server, None)?))
}

/// The node, and a pod of the agent on it.
fn scene(stage: &Stage, server: &Server) -> Result<(), String> {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "agent", "namespace": "netloom-system" },
        "spec": {
            "nodeName": OWN, "serviceAccountName": "netloom-agent",
            "containers": [{ "name": "agent", "image": "netloom" }],
        },
    });
    let text = format!(
        "### node\nPOST /api/v1/nodes\n\n{{apiVersion: v1, kind: Node, metadata: {{name: {OWN}}}}}\n\
         \n### pod\nPOST /api/v1/namespaces/netloom-system/pods\n\n{pod}\n"
    );
    for answer in plain(stage, server, &script::parse(&text)?) {
        if !matches!(answer["code"].as_u64(), Some(201 | 409)) {
            return Err(format!("could not set the scene: {answer}"));
        }
    }
    Ok(())
}

fn plain(stage: &Stage, server: &Server, steps: &[Step]) -> Vec<Value> {
    run(stage, &server.wire, steps, &Place { path: String::new(), collection: String::new() })
}

fn token(stage: &Stage, server: &Server, bound: Option<&Value>) -> Result<String, String> {
    let request = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": { "expirationSeconds": 3600, "boundObjectRef": bound },
    });
    let request = http::Request::post(ACCOUNT)
        .header("content-type", "application/json")
        .body(request.to_string().into())
        .map_err(|error| error.to_string())?;
    let sent = stage.runtime.block_on(server.wire.send(request, &crate::wire::Credentials::Admin))?;
    let answer: Value = serde_json::from_slice(&sent.body).map_err(|error| error.to_string())?;
    let token = answer["status"]["token"].as_str().map(str::to_owned);
    token.ok_or_else(|| format!("there is no token: {answer}"))
}

/// A certificate of the server's own authority: on ours as people get it, on the real one as signed
/// with its key.
fn certificate(stage: &Stage, side: Side, server: &Server) -> Result<Wire, String> {
    let path = server.folder.join("thief.kubeconfig");
    match side {
        Side::Ours => {
            let made = Command::new(&stage.programs.netloom)
                .args(["gen", "kubeconfig", "--node", OWN, "--out"])
                .arg(&path)
                .env("KUBECONFIG", &server.kubeconfig)
                .output()
                .map_err(|error| error.to_string())?;
            if !made.status.success() {
                return Err(format!("gen kubeconfig: {}", String::from_utf8_lossy(&made.stderr)));
            }
        }
        Side::Real => {
            let pair = keys::of_peer(&server.folder, &format!("netloom:agent:{OWN}"), "netloom:agents")?;
            let authority = std::fs::read_to_string(server.folder.join("ca.crt")).map_err(|error| error.to_string())?;
            let address = format!("https://{}", server.wire.authority());
            std::fs::write(&path, keys::kubeconfig(&address, &authority, &pair)).map_err(|error| error.to_string())?;
        }
    }
    Wire::new(&path)
}
