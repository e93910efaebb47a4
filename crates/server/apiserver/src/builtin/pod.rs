//! `Pod`: stored, defaulted and shown. Nothing here runs one.

use netloom_schema::FieldError;
use serde_json::{Map, Value, json};

use super::json::{at, items, items_mut, object, set_default, set_default_number, size, text, truth};

const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];
const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];
/// rw-r--r--, as a number.
const FILE_MODE: i64 = 0o644;

pub(super) fn default(pod: &mut Value) {
    let Some(spec) = object(pod, "spec") else { return };
    set_default(spec, "restartPolicy", "Always");
    set_default(spec, "terminationGracePeriodSeconds", 30);
    set_default(spec, "dnsPolicy", "ClusterFirst");
    set_default(spec, "securityContext", json!({}));
    set_default(spec, "schedulerName", "default-scheduler");
    set_default(spec, "enableServiceLinks", true);
    let account = spec.get("serviceAccountName").or_else(|| spec.get("serviceAccount")).cloned();
    if let Some(account) = account {
        set_default(spec, "serviceAccountName", account.clone());
        spec.insert("serviceAccount".to_owned(), account);
    }
    let host = truth(pod, &["spec", "hostNetwork"]);
    for list in CONTAINERS {
        for container in items_mut(pod, &["spec", list]) {
            default_container(container, host);
        }
    }
    for volume in items_mut(pod, &["spec", "volumes"]) {
        default_volume(volume);
    }
}

pub(super) fn prepare(pod: &mut Value, old: Option<&Value>) {
    let kept = old.and_then(|old| old.get("status")).cloned();
    pod["status"] = kept.unwrap_or_else(|| json!({ "phase": "Pending", "qosClass": quality(pod) }));
}

pub(super) fn validate(pod: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if items(pod, &["spec", "containers"]).is_empty() {
        errors.push(FieldError::required("spec.containers", ""));
    }
    for list in CONTAINERS {
        let all = items(pod, &["spec", list]);
        for (index, container) in all.iter().enumerate() {
            let path = format!("spec.{list}[{index}]");
            let name = text(container, &["name"]);
            if name.is_empty() {
                errors.push(FieldError::required(format!("{path}.name"), ""));
            } else {
                let reasons = netloom_schema::names::dns_label(name).into_iter();
                errors.extend(reasons.map(|why| FieldError::invalid(format!("{path}.name"), &json!(name), why)));
            }
            if all[..index].iter().any(|other| !name.is_empty() && text(other, &["name"]) == name) {
                errors.push(FieldError::duplicate(format!("{path}.name"), &json!(name)));
            }
            if text(container, &["image"]).is_empty() && old.is_none() {
                errors.push(FieldError::required(format!("{path}.image"), ""));
            }
        }
    }
    let policies = ["Always", "OnFailure", "Never"];
    let policy = text(pod, &["spec", "restartPolicy"]);
    if !policies.contains(&policy) {
        errors.push(FieldError::not_supported("spec.restartPolicy", &json!(policy), &policies));
    }
    if old.is_some_and(|old| !only_mutable_fields_differ(pod, old)) {
        let why = "pod updates may not change fields other than `spec.containers[*].image`,\
                   `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to \
                   existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
                   previously negative)";
        errors.push(FieldError::forbidden("spec", why));
    }
    errors
}

/// Whether a specification differs in nothing but what may be changed while a pod lives.
fn only_mutable_fields_differ(new: &Value, old: &Value) -> bool {
    let fixed = |pod: &Value| {
        let mut spec = pod["spec"].clone();
        for list in CONTAINERS {
            for container in items_mut(&mut spec, &[list]).iter_mut().filter_map(Value::as_object_mut) {
                container.remove("image");
                container.remove("imagePullPolicy");
            }
        }
        if let Some(spec) = spec.as_object_mut() {
            for field in ["activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates"] {
                spec.remove(field);
            }
        }
        spec
    };
    // A pod gets its node once, from whoever schedules it.
    let bound = |pod: &Value| text(pod, &["spec", "nodeName"]).to_owned();
    let (mut new_spec, mut old_spec) = (fixed(new), fixed(old));
    if bound(old).is_empty() {
        for spec in [&mut new_spec, &mut old_spec] {
            spec.as_object_mut().map(|spec| spec.remove("nodeName"));
        }
    }
    new_spec == old_spec
}

fn default_container(container: &mut Value, host_network: bool) {
    let image = text(container, &["image"]).to_owned();
    let limits = at(container, &["resources", "limits"]).and_then(Value::as_object).cloned();
    let Some(map) = container.as_object_mut() else { return };
    let policy = if is_latest(&image) { "Always" } else { "IfNotPresent" };
    set_default(map, "imagePullPolicy", policy);
    set_default(map, "terminationMessagePath", "/dev/termination-log");
    set_default(map, "terminationMessagePolicy", "File");
    set_default(map, "resources", json!({}));
    if let (Some(limits), Some(resources)) = (limits, map.get_mut("resources"))
        && let Some(requests) = object(resources, "requests")
    {
        for (name, value) in limits {
            requests.entry(name).or_insert(value);
        }
    }
    for probe in PROBES {
        if let Some(probe) = map.get_mut(probe).and_then(Value::as_object_mut) {
            default_probe(probe);
        }
    }
    for port in items_mut(container, &["ports"]).iter_mut().filter_map(Value::as_object_mut) {
        set_default(port, "protocol", "TCP");
        if let (true, Some(number)) = (host_network, port.get("containerPort").and_then(Value::as_i64)) {
            set_default_number(port, "hostPort", number);
        }
    }
    for variable in items_mut(container, &["env"]) {
        let reference = variable.get_mut("valueFrom").and_then(|from| from.get_mut("fieldRef"));
        if let Some(reference) = reference.and_then(Value::as_object_mut) {
            set_default(reference, "apiVersion", "v1");
        }
    }
}

fn default_probe(probe: &mut Map<String, Value>) {
    for (field, value) in
        [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
    {
        set_default_number(probe, field, value);
    }
    if let Some(get) = probe.get_mut("httpGet").and_then(Value::as_object_mut) {
        set_default(get, "path", "/");
        set_default(get, "scheme", "HTTP");
    }
}

fn default_volume(volume: &mut Value) {
    let Some(map) = volume.as_object_mut() else { return };
    let sources = map.keys().filter(|key| *key != "name").count();
    if sources == 0 {
        map.insert("emptyDir".to_owned(), json!({}));
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = map.get_mut(source).and_then(Value::as_object_mut) {
            set_default(source, "defaultMode", FILE_MODE);
        }
    }
    if let Some(path) = map.get_mut("hostPath").and_then(Value::as_object_mut) {
        path.entry("type").or_insert_with(|| json!(""));
    }
}

/// Whether an image is named without a version, or as the latest one.
fn is_latest(image: &str) -> bool {
    if image.contains('@') {
        return false;
    }
    let last = image.rsplit('/').next().unwrap_or(image);
    last.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

/// How much of what it asks for a pod is promised.
fn quality(pod: &Value) -> &'static str {
    let containers = || ["containers", "initContainers"].into_iter().flat_map(|list| items(pod, &["spec", list]));
    let nothing =
        containers().all(|one| size(one, &["resources", "requests"]) == 0 && size(one, &["resources", "limits"]) == 0);
    let all = containers().all(|one| {
        let (limits, requests) = (&one["resources"]["limits"], &one["resources"]["requests"]);
        ["cpu", "memory"].iter().all(|name| limits.get(name).is_some() && limits.get(name) == requests.get(name))
    });
    if nothing {
        "BestEffort"
    } else if all {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(container: &Value) -> Value {
        let mut pod = json!({"spec": {"containers": [container], "volumes": [{"name": "v"}]}});
        default(&mut pod);
        prepare(&mut pod, None);
        pod
    }

    #[test]
    fn a_pod_gets_what_it_left_out() {
        let pod = pod(&json!({"name": "a", "image": "nginx", "ports": [{"containerPort": 80}]}));
        assert_eq!(pod["spec"]["containers"][0]["imagePullPolicy"], "Always");
        assert_eq!(pod["spec"]["containers"][0]["ports"][0]["protocol"], "TCP");
        assert_eq!(pod["spec"]["volumes"][0]["emptyDir"], json!({}));
        assert_eq!(pod["status"], json!({"phase": "Pending", "qosClass": "BestEffort"}));
        assert!(validate(&pod, None).is_empty());
    }

    #[test]
    fn a_version_is_pulled_once() {
        for (image, latest) in
            [("a", true), ("r:5000/a", true), ("a:latest", true), ("a:1", false), ("a@sha256:0", false)]
        {
            assert_eq!(is_latest(image), latest, "{image}");
        }
    }

    #[test]
    fn requests_follow_limits() {
        let pod = pod(&json!({"name": "a", "image": "b", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}));
        assert_eq!(pod["spec"]["containers"][0]["resources"]["requests"], json!({"cpu": "1", "memory": "1Gi"}));
        assert_eq!(pod["status"]["qosClass"], "Guaranteed");
    }

    #[test]
    fn a_living_pod_changes_its_image_and_little_else() {
        let old = pod(&json!({"name": "a", "image": "b"}));
        let mut new = old.clone();
        new["spec"]["containers"][0]["image"] = json!("c");
        new["spec"]["nodeName"] = json!("n");
        assert!(validate(&new, Some(&old)).is_empty());
        new["spec"]["containers"][0]["command"] = json!(["x"]);
        assert_eq!(validate(&new, Some(&old))[0].path, "spec");
    }

    #[test]
    fn containers_are_named_apart() {
        let bad = json!({"spec": {"restartPolicy": "Always", "containers": [{"name": "a", "image": "i"}, {"name": "a", "image": "i"}, {}]}});
        let paths: Vec<_> = validate(&bad, None).into_iter().map(|error| error.path).collect();
        assert_eq!(paths, ["spec.containers[1].name", "spec.containers[2].name", "spec.containers[2].image"]);
    }
}
