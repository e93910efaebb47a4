//! The pods of a cluster: two controllers, and an agent on every node.
//!
//! Both are in the network of their node: what brings a network up must not need it. The controller has no right on
//! its node at all, the agent those that changing a network takes.

use netloom_admission::taints::TaintKey;
use netloom_api::NAMESPACE;
use serde_json::{Value, json};

use super::HEADER;

/// Where a controller answers API servers, and where it tells how it is.
pub(super) const WEBHOOK_PORT: u16 = 9443;
const STATUS_PORT: u16 = 9444;
/// Where an agent tells how it is: only to its own node.
const AGENT_STATUS: (&str, u16) = ("127.0.0.1", 9445);
/// The authority of the certificate that the API server shows to webhooks; the cluster's to give.
const CLIENT_AUTHORITY: &str = "netloom-webhook-client-ca";
const CLIENT_AUTHORITY_FOLDER: &str = "/etc/netloom/webhook";
/// The journal and the last desired states of a node.
const STATE_FOLDER: &str = "/var/lib/netloom";
/// Where an agent looks first for the kernel's settings.
const SETTINGS_OF_HOST: &str = "/host/proc/sys/net";
/// Where other network managers say which links they manage: volumes, their paths, and what is made where there is none.
/// The last is a file by itself: its folder has the sockets of the node. One that is replaced is seen again when the pod is.
const RUN_FILES: [(&str, &str, &str); 5] = [
    ("networkd", "/run/systemd/netif", "DirectoryOrCreate"),
    ("network-manager", "/run/NetworkManager/devices", "DirectoryOrCreate"),
    ("netplan", "/run/NetworkManager/system-connections", "DirectoryOrCreate"),
    ("ifupdown", "/run/network", "DirectoryOrCreate"),
    ("ifstate", "/run/ifstate", "FileOrCreate"),
];

/// The labels of a component's pods.
pub(super) fn labels(component: &str) -> Value {
    json!({"app.kubernetes.io/component": component, "app.kubernetes.io/name": "netloom"})
}

/// The controllers as a manifest.
pub fn controller_workload(image: &str) -> String {
    let name = "netloom-controller";
    let arguments = [
        "controller".to_owned(),
        "--install-crds".to_owned(),
        format!("--namespace={NAMESPACE}"),
        format!("--status-listen=[::]:{STATUS_PORT}"),
        format!("--webhook-listen=[::]:{WEBHOOK_PORT}"),
        format!("--webhook-client-ca={CLIENT_AUTHORITY_FOLDER}/ca.crt"),
    ];
    let container = json!({
        "name": "controller",
        "image": image,
        "args": arguments,
        "ports": [
            {"name": "webhook", "containerPort": WEBHOOK_PORT, "protocol": "TCP"},
            {"name": "status", "containerPort": STATUS_PORT, "protocol": "TCP"},
        ],
        "livenessProbe": probe("/healthz"),
        "readinessProbe": probe("/readyz"),
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "1Gi"}},
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": true,
            "runAsNonRoot": true,
            "runAsUser": 65_532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumeMounts": [
            {"name": "webhook-client-ca", "mountPath": CLIENT_AUTHORITY_FOLDER, "readOnly": true},
        ],
    });
    let pod = json!({
        "serviceAccountName": name,
        "priorityClassName": "system-cluster-critical",
        "hostNetwork": true,
        "dnsPolicy": "ClusterFirstWithHostNet",
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [
            {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"},
            {"key": "node.kubernetes.io/network-unavailable", "operator": "Exists"},
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists"},
        ],
        "containers": [container],
        "volumes": [{"name": "webhook-client-ca", "configMap": {"name": CLIENT_AUTHORITY}}],
    });
    let deployment = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels("controller")},
        "spec": {
            // One writes, the other takes over. Both are asked by API servers.
            "replicas": 2,
            "selector": {"matchLabels": labels("controller")},
            // They share the ports of their node, so a new one has no place beside an old one.
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "template": {"metadata": {"labels": labels("controller")}, "spec": pod},
        },
    });
    let budget = json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels("controller")},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": labels("controller")}},
    });
    format!("{HEADER}{}", netloom_yaml::print_stream(&[deployment, budget]))
}

/// The agents as a manifest.
pub fn agent_workload(image: &str) -> String {
    let name = "netloom-agent";
    let mut mounts = vec![
        json!({"name": "state", "mountPath": STATE_FOLDER}),
        // Runtimes give a container /proc/sys to read only.
        json!({"name": "settings", "mountPath": SETTINGS_OF_HOST}),
    ];
    mounts.extend(RUN_FILES.map(|(name, path, _)| json!({"name": name, "mountPath": path, "readOnly": true})));
    let mut volumes = vec![
        json!({"name": "state", "hostPath": {"path": STATE_FOLDER, "type": "DirectoryOrCreate"}}),
        json!({"name": "settings", "hostPath": {"path": "/proc/sys/net", "type": "Directory"}}),
    ];
    // Made where they are not there, so that a manager that is started later is seen too.
    let run_file = |(name, path, kind)| json!({"name": name, "hostPath": {"path": path, "type": kind}});
    volumes.extend(RUN_FILES.map(run_file));
    let container = json!({
        "name": "agent",
        "image": image,
        "args": [
            "agent",
            "--node=$(NODE_NAME)",
            format!("--remove-taint={}", TaintKey::starting()),
            format!("--status-listen={}:{}", AGENT_STATUS.0, AGENT_STATUS.1),
        ],
        "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "ports": [{"name": "status", "containerPort": AGENT_STATUS.1, "protocol": "TCP"}],
        // Patient: a change may take minutes, and an agent that is killed takes it back.
        "livenessProbe": agent_probe("/healthz", 6),
        "readinessProbe": agent_probe("/readyz", 1),
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "128Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": false,
            // Links, addresses, routes and rules; probes and neighbours.
            "capabilities": {"add": ["NET_ADMIN", "NET_RAW"], "drop": ["ALL"]},
            "readOnlyRootFilesystem": true,
            "runAsUser": 0,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumeMounts": mounts,
    });
    let pod = json!({
        "serviceAccountName": name,
        "priorityClassName": "system-node-critical",
        "hostNetwork": true,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        // Every node has a network, whatever else is wrong with it.
        "tolerations": [{"operator": "Exists"}],
        "containers": [container],
        "volumes": volumes,
    });
    let agents = json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels("agent")},
        "spec": {
            "selector": {"matchLabels": labels("agent")},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}},
            "template": {"metadata": {"labels": labels("agent")}, "spec": pod},
        },
    });
    format!("{HEADER}{}", netloom_yaml::print_stream(&[agents]))
}

fn probe(path: &str) -> Value {
    json!({"httpGet": {"path": path, "port": "status"}, "periodSeconds": 10, "timeoutSeconds": 5})
}

fn agent_probe(path: &str, failures: u8) -> Value {
    let mut probe = probe(path);
    probe["httpGet"]["host"] = json!(AGENT_STATUS.0);
    probe["failureThreshold"] = json!(failures);
    probe
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use netloom_managers::{IFUPDOWN, Paths};
    use netloom_schema::decode;
    use netloom_types::IfName;

    use super::{super::webhook, *};

    fn documents(text: &str) -> Vec<Value> {
        let read = decode::yaml_stream(text.as_bytes(), decode::Limits::default()).unwrap();
        read.into_iter().map(|document| document.value).collect()
    }

    #[test]
    fn the_service_of_the_webhook_selects_the_controllers() {
        let all = documents(&webhook::webhook(webhook::Reached { address: None, authority: None }));
        let service = all.iter().find(|object| object["kind"] == "Service").unwrap();
        let pods = &documents(&controller_workload("netloom:test"))[0]["spec"]["template"];
        assert_eq!(service["spec"]["selector"], pods["metadata"]["labels"]);
        let ports = pods.pointer("/spec/containers/0/ports").unwrap().as_array().unwrap();
        let target = &service["spec"]["ports"][0]["targetPort"];
        assert!(ports.iter().any(|port| port["containerPort"] == *target), "{ports:?}");
    }

    #[test]
    fn the_agent_sees_every_run_time_file_of_other_managers() {
        let agents = documents(&agent_workload("i")).remove(0);
        let mounts = agents.pointer("/spec/template/spec/containers/0/volumeMounts").unwrap().as_array().unwrap();
        let mounted = |file: &str| {
            let over = |mount: &&Value| Path::new("/run").join(file).starts_with(mount["mountPath"].as_str().unwrap());
            mounts.iter().find(over).is_some_and(|mount| mount["readOnly"] == true)
        };
        let Paths { networkd, network_manager, netplan_connection, ifupdown } = Paths::of(IfName::LO, 1);
        let files = [networkd, network_manager, netplan_connection, ifupdown];
        for file in files.iter().map(String::as_str).chain(IFUPDOWN) {
            assert!(mounted(file), "{file} is in no volume that can only be read");
        }
    }

    #[test]
    fn accounts_are_those_of_the_roles() {
        let accounts: Vec<Value> =
            documents(&super::super::rbac()).into_iter().filter(|object| object["kind"] == "ServiceAccount").collect();
        for text in [controller_workload("i"), agent_workload("i")] {
            let pod = &documents(&text)[0]["spec"]["template"]["spec"];
            let known = accounts.iter().any(|account| account["metadata"]["name"] == pod["serviceAccountName"]);
            assert!(known, "{}", pod["serviceAccountName"]);
            assert_eq!(pod["containers"][0]["image"], "i");
        }
    }
}
