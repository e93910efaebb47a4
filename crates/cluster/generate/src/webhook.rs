//! How a cluster's own API server is configured to ask our webhook.
//!
//! Two configurations: what rules fill in is asked for before the schema is checked, whether a write
//! is taken after, as the embedded server does it. Subresources are left out: the only rule about
//! them is that an agent keeps to its node, which the node restriction holds without a webhook, and
//! every node writes a status often.

use std::collections::BTreeSet;

use netloom_api::{
    NAMESPACE,
    fabric::operator,
    foreign,
    hostnet::names,
    registry::{on_request, usual},
};
use serde_json::{Value, json};

use super::{
    HEADER,
    workloads::{WEBHOOK_PORT, labels},
};

/// Where the webhook fills in what a client left out.
pub const COMPLETE_PATH: &str = "/complete";
/// Where the webhook says whether a write is taken.
pub const VALIDATE_PATH: &str = "/validate";

/// What the configurations are called.
pub const CONFIGURATION: &str = "netloom";
/// What the configuration is called for kinds that a cluster has on request.
pub const CONFIGURATION_ON_REQUEST: &str = "netloom-vms";
/// The kinds of the configurations: of those who fill in, and of those who judge.
pub const CONFIGURATION_KINDS: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// The service before the controllers of a cluster.
pub const SERVICE: &str = "netloom-webhook";
/// A rule takes milliseconds; a webhook that takes this long is not there.
const SECONDS: u16 = 5;

/// Where an API server finds the webhook, and whom it believes there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reached<'a> {
    /// Its address, such as `https://192.0.2.1:9443`; without one it is the service in the cluster.
    pub address: Option<&'a str>,
    /// The authority of its certificate: PEM, in base64. Without one it is to be filled in.
    pub authority: Option<&'a str>,
}

/// The configurations as a manifest, and the service where there is no address.
pub fn webhook(reached: Reached<'_>) -> String {
    let own = json!([{
        "apiGroups": usual().map(|kind| kind.group).collect::<BTreeSet<_>>(),
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["*"],
        "scope": "*",
    }]);
    let mut judged = own.clone();
    judged[0]["operations"] = json!(["CREATE", "UPDATE", "DELETE"]);
    let mut attachments = judged.clone();
    attachments[0]["apiGroups"] = json!([foreign::ATTACHMENT.group]);
    attachments[0]["resources"] = json!(["network-attachment-definitions"]);

    let mut completing = hook("complete.netloom.dev", COMPLETE_PATH, reached, &own);
    // What another webhook changes may leave something to fill in again.
    completing["reinvocationPolicy"] = json!("IfNeeded");
    let mut attaching = hook("attachments.netloom.dev", VALIDATE_PATH, reached, &attachments);
    attaching["matchConditions"] = json!([{"name": "ours", "expression": is_our_attachment()}]);
    let mut settings = own.clone();
    settings[0]["apiGroups"] = json!([foreign::CONFIG_MAP.group]);
    settings[0]["resources"] = json!(["configmaps"]);
    let mut setting = hook("settings.netloom.dev", VALIDATE_PATH, reached, &settings);
    setting["matchConditions"] = json!([{"name": "ours", "expression": is_our_config()}]);
    let judging = [hook("validate.netloom.dev", VALIDATE_PATH, reached, &judged), attaching, setting];
    let mut objects = vec![configuration(0, CONFIGURATION, &[completing]), configuration(1, CONFIGURATION, &judging)];
    if reached.address.is_none() {
        objects.push(service());
    }
    manifest(reached, &objects)
}

/// The same for kinds that a cluster has on request: whether a write of their objects is taken. Nothing is filled in, and
/// every one may go, so nobody is asked about that.
pub fn webhook_on_request(reached: Reached<'_>) -> String {
    let groups: BTreeSet<&str> = on_request().map(|kind| kind.group).collect();
    let kinds: BTreeSet<&str> = on_request().map(|kind| kind.plural).collect();
    let rules = json!([{
        "apiGroups": groups,
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "resources": kinds,
        "scope": "*",
    }]);
    let judging = hook("machines.netloom.dev", VALIDATE_PATH, reached, &rules);
    manifest(reached, &[configuration(1, CONFIGURATION_ON_REQUEST, &[judging])])
}

fn manifest(reached: Reached<'_>, objects: &[Value]) -> String {
    let hint = match reached.authority {
        Some(_) => "",
        None => {
            "# caBundle is missing: a controller with a certificate of its own fills it in, and so does `netloom gen webhook --ca FILE`.\n"
        }
    };
    format!("{HEADER}{hint}{}", netloom_yaml::print_stream(objects))
}

fn configuration(kind: usize, name: &str, webhooks: &[Value]) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": CONFIGURATION_KINDS[kind],
        "metadata": {"name": name},
        "webhooks": webhooks,
    })
}

/// A write that cannot be judged is refused: an object that breaks a rule would stay.
fn hook(name: &str, path: &str, reached: Reached<'_>, rules: &Value) -> Value {
    let mut client = match reached.address {
        Some(address) => json!({"url": format!("{}{path}", address.trim_end_matches('/'))}),
        None => json!({"service": {"name": SERVICE, "namespace": NAMESPACE, "path": path, "port": 443}}),
    };
    if let Some(authority) = reached.authority {
        client["caBundle"] = json!(authority);
    }
    json!({
        "name": name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": client,
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "rules": rules,
        "sideEffects": "None",
        "timeoutSeconds": SECONDS,
    })
}

/// Others make attachments too; theirs must not depend on our webhook.
fn is_our_attachment() -> String {
    let labels = [names::CLUSTER_NETWORK, names::ATTACHMENT_TYPE].map(|key| format!("'{key}' in o.metadata.labels"));
    format!("[object, oldObject].exists(o, o != null && has(o.metadata.labels) && ({}))", labels.join(" || "))
}

/// The operator configuration and no other `ConfigMap`.
fn is_our_config() -> String {
    format!("request.namespace == '{}' && request.name == '{}'", operator::NAMESPACE, operator::NAME)
}

fn service() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": SERVICE, "namespace": NAMESPACE},
        "spec": {
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": WEBHOOK_PORT}],
            "selector": labels("controller"),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_takes_the_place_of_the_service() {
        let text = webhook(Reached { address: Some("https://192.0.2.1:9443/"), authority: Some("QUJD") });
        assert!(text.contains("url: https://192.0.2.1:9443/validate\n"), "{text}");
        assert!(text.contains("url: https://192.0.2.1:9443/complete\n"), "{text}");
        assert_eq!((text.matches("caBundle: QUJD\n").count(), text.matches("kind: Service").count()), (4, 0), "{text}");
    }

    #[test]
    fn without_an_authority_the_manifest_says_what_is_missing() {
        let text = webhook(Reached { address: None, authority: None });
        assert!(text.contains("# caBundle is missing") && !text.contains("caBundle:"), "{text}");
        assert_eq!(text.matches("name: netloom-webhook\n").count(), 5, "{text}");
    }

    #[test]
    fn every_group_of_ours_is_judged() {
        let text = webhook(Reached { address: None, authority: None });
        for kind in usual() {
            assert_eq!(text.matches(&format!("- {}\n", kind.group)).count(), 2, "{}", kind.group);
        }
    }

    #[test]
    fn machines_are_judged_where_somebody_asks_for_it() {
        let reached = Reached { address: None, authority: None };
        let text = webhook_on_request(reached);
        for kind in on_request() {
            assert!(text.contains(&format!("    - {}\n", kind.plural)), "{}: {text}", kind.kind);
            assert!(!webhook(reached).contains(kind.group), "{}", kind.kind);
        }
        assert_eq!((text.matches("kind: ").count(), text.matches("name: netloom-vms\n").count()), (1, 1), "{text}");
    }
}
