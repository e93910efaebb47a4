//! `Service`: stored and defaulted, without a network behind it.
//!
//! No address and no node port is handed out: those that a client names are kept, and the families
//! follow from them.

use std::net::IpAddr;

use jiff::Timestamp;
use netloom_schema::{FieldError, names};
use serde_json::{Map, Value, json};

use super::{
    columns::{made, name},
    json::{at, entries, items, items_mut, number, object, set_default, text},
};

const AFFINITY_SECONDS: i64 = 10_800;
const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];

pub(super) fn default(service: &mut Value) {
    let Some(spec) = object(service, "spec") else { return };
    set_default(spec, "type", "ClusterIP");
    set_default(spec, "sessionAffinity", "None");
    if spec["sessionAffinity"] == "None" {
        spec.remove("sessionAffinityConfig");
    } else {
        set_default(spec, "sessionAffinityConfig", json!({ "clientIP": { "timeoutSeconds": AFFINITY_SECONDS } }));
    }
    let kind = spec["type"].as_str().unwrap_or_default().to_owned();
    let external = spec.get("externalIPs").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") || (kind == "ClusterIP" && external) {
        set_default(spec, "externalTrafficPolicy", "Cluster");
    }
    if kind != "ExternalName" {
        set_default(spec, "internalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        set_default(spec, "allocateLoadBalancerNodePorts", true);
    }
    if kind == "LoadBalancer" {
        let ingress = items_mut(service, &["status", "loadBalancer", "ingress"]).iter_mut();
        for one in ingress.filter_map(Value::as_object_mut).filter(|one| one.contains_key("ip")) {
            set_default(one, "ipMode", "VIP");
        }
    }
    for port in items_mut(service, &["spec", "ports"]) {
        let number = port.get("port").cloned();
        let Some(port) = port.as_object_mut() else { continue };
        set_default(port, "protocol", "TCP");
        let unset = port.get("targetPort").is_none_or(|target| target == 0 || target == "" || target.is_null());
        if let (true, Some(number)) = (unset, number) {
            port.insert("targetPort".to_owned(), number);
        }
    }
}

pub(super) fn prepare(service: &mut Value, old: Option<&Value>) {
    let status = old.and_then(|old| old.get("status")).cloned();
    service["status"] = status.unwrap_or_else(|| json!({ "loadBalancer": {} }));
    // A service that is not balanced any more forgets its balancers.
    if text(service, &["spec", "type"]) != "LoadBalancer" && at(service, &["status", "loadBalancer"]).is_some() {
        service["status"]["loadBalancer"] = json!({});
    }
    let Some(spec) = object(service, "spec") else { return };
    if spec.get("type").is_some_and(|kind| kind == "ExternalName") {
        return;
    }
    if let Some(old) = old.and_then(|old| old.get("spec")).and_then(Value::as_object) {
        keep_addresses(spec, old);
    }
    families(spec);
}

/// An update that names no address keeps the one that the service has.
fn keep_addresses(spec: &mut Map<String, Value>, old: &Map<String, Value>) {
    for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if let Some(value) = old.get(field) {
            set_default(spec, field, value.clone());
        }
    }
}

/// The list of addresses and the families follow the first address.
fn families(spec: &mut Map<String, Value>) {
    let Some(address) = spec.get("clusterIP").and_then(Value::as_str).map(str::to_owned) else { return };
    if address.is_empty() {
        return;
    }
    set_default(spec, "clusterIPs", json!([address]));
    let family = match address.parse() {
        Ok(IpAddr::V6(_)) => "IPv6",
        _ => "IPv4",
    };
    set_default(spec, "ipFamilies", json!([family]));
    set_default(spec, "ipFamilyPolicy", "SingleStack");
}

pub(super) fn validate(service: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let kind = text(service, &["spec", "type"]);
    if !TYPES.contains(&kind) {
        errors.push(FieldError::not_supported("spec.type", &json!(kind), &TYPES));
    }
    let ports = items(service, &["spec", "ports"]);
    let headless = text(service, &["spec", "clusterIP"]) == "None";
    if ports.is_empty() && !headless && kind != "ExternalName" {
        errors.push(FieldError::required("spec.ports", ""));
    }
    if kind == "ExternalName" && text(service, &["spec", "externalName"]).is_empty() {
        errors.push(FieldError::required("spec.externalName", ""));
    }
    for (index, _) in ports.iter().enumerate() {
        errors.extend(port(ports, index));
    }
    errors.extend(balancers(service));
    let (now, before) = (text(service, &["spec", "clusterIP"]), old.map(|old| text(old, &["spec", "clusterIP"])));
    if before.is_some_and(|before| !before.is_empty() && before != now) && kind != "ExternalName" {
        errors.push(FieldError::invalid("spec.clusterIPs[0]", &json!([now]), "may not change once set"));
    }
    errors
}

/// Only a service that is balanced has balancers, and those have addresses.
fn balancers(service: &Value) -> Vec<FieldError> {
    let path = "status.loadBalancer.ingress";
    let ingress = items(service, &["status", "loadBalancer", "ingress"]);
    let mut errors = Vec::new();
    if !ingress.is_empty() && text(service, &["spec", "type"]) != "LoadBalancer" {
        errors.push(FieldError::forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'"));
    }
    for (index, one) in ingress.iter().enumerate() {
        let (address, mode) = (text(one, &["ip"]), at(one, &["ipMode"]).is_some());
        if !address.is_empty() && address.parse::<IpAddr>().is_err() {
            let why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
            errors.push(FieldError::invalid(format!("{path}[{index}].ip"), &json!(address), why));
        }
        if address.is_empty() && mode {
            let why = "may not be specified when `ip` is not set";
            errors.push(FieldError::forbidden(format!("{path}[{index}].ipMode"), why));
        }
    }
    errors
}

fn port(ports: &[Value], index: usize) -> Vec<FieldError> {
    let (port, path) = (&ports[index], format!("spec.ports[{index}]"));
    let mut errors = Vec::new();
    let port_name = text(port, &["name"]);
    if port_name.is_empty() {
        if ports.len() > 1 {
            errors.push(FieldError::required(format!("{path}.name"), ""));
        }
    } else {
        let reasons = names::dns_label(port_name).into_iter();
        errors.extend(reasons.map(|why| FieldError::invalid(format!("{path}.name"), &json!(port_name), why)));
        if ports[..index].iter().any(|other| text(other, &["name"]) == port_name) {
            errors.push(FieldError::duplicate(format!("{path}.name"), &json!(port_name)));
        }
    }
    let value = number(port, &["port"]);
    if !(1..=65_535).contains(&value) {
        errors.push(FieldError::invalid(
            format!("{path}.port"),
            &json!(value),
            "must be between 1 and 65535, inclusive",
        ));
    }
    let protocol = text(port, &["protocol"]);
    if !PROTOCOLS.contains(&protocol) {
        errors.push(FieldError::not_supported(format!("{path}.protocol"), &json!(protocol), &PROTOCOLS));
    }
    errors
}

pub(super) fn cells(service: &Value, now: Timestamp) -> Vec<Value> {
    let ports = items(service, &["spec", "ports"]).iter().map(|port| {
        let (outer, protocol) = (number(port, &["port"]), text(port, &["protocol"]));
        match number(port, &["nodePort"]) {
            0 => format!("{outer}/{protocol}"),
            node => format!("{outer}:{node}/{protocol}"),
        }
    });
    let address = items(service, &["spec", "clusterIPs"]).first().and_then(Value::as_str).unwrap_or("<none>");
    let selector = entries(service, &["spec", "selector"]).map(|(key, value)| format!("{key}={value}"));
    vec![
        name(service),
        text(service, &["spec", "type"]).into(),
        address.into(),
        external(service).into(),
        or_none(&ports.collect::<Vec<_>>()).into(),
        made(service, now),
        or_none(&selector.collect::<Vec<_>>()).into(),
    ]
}

fn external(service: &Value) -> String {
    let given = items(service, &["spec", "externalIPs"]).iter().filter_map(Value::as_str).map(str::to_owned);
    match text(service, &["spec", "type"]) {
        "ClusterIP" | "NodePort" => or_none(&given.collect::<Vec<_>>()),
        "LoadBalancer" => {
            let ingress = items(service, &["status", "loadBalancer", "ingress"]).iter();
            let balancers = ingress.filter_map(|one| at(one, &["ip"]).or_else(|| at(one, &["hostname"]))?.as_str());
            let all: Vec<String> = balancers.map(str::to_owned).chain(given).collect();
            if all.is_empty() { "<pending>".to_owned() } else { all.join(",") }
        }
        "ExternalName" => text(service, &["spec", "externalName"]).to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

fn or_none(all: &[String]) -> String {
    if all.is_empty() { "<none>".to_owned() } else { all.join(",") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made_of(mut service: Value) -> Value {
        default(&mut service);
        prepare(&mut service, None);
        service
    }

    #[test]
    fn defaults_follow_the_type() {
        let service = made_of(json!({"spec": {"ports": [{"port": 80}]}}));
        let expected = json!({
            "type": "ClusterIP",
            "sessionAffinity": "None",
            "internalTrafficPolicy": "Cluster",
            "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        });
        assert_eq!(service["spec"], expected);
        assert_eq!(service["status"], json!({"loadBalancer": {}}));
        assert!(validate(&service, None).is_empty());
        let balancer = made_of(json!({"spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}));
        assert_eq!(balancer["spec"]["externalTrafficPolicy"], "Cluster");
        assert_eq!(balancer["spec"]["allocateLoadBalancerNodePorts"], true);
    }

    #[test]
    fn an_address_stays() {
        let old = made_of(json!({"spec": {"clusterIP": "fd00::1", "ports": [{"port": 80}]}}));
        assert_eq!(old["spec"]["ipFamilies"], json!(["IPv6"]));
        let mut new = json!({"spec": {"ports": [{"port": 81}]}});
        default(&mut new);
        prepare(&mut new, Some(&old));
        assert_eq!(new["spec"]["clusterIP"], "fd00::1");
        assert!(validate(&new, Some(&old)).is_empty());
        new["spec"]["clusterIP"] = json!("fd00::2");
        assert_eq!(validate(&new, Some(&old))[0].path, "spec.clusterIPs[0]");
    }

    #[test]
    fn only_balanced_services_have_balancers() {
        let given = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}});
        let mut service = json!({"spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}, "status": given});
        default(&mut service);
        assert_eq!(service["status"]["loadBalancer"]["ingress"][0]["ipMode"], "VIP");
        assert!(validate(&service, Some(&service)).is_empty());
        let old = service.clone();
        service["spec"]["type"] = json!("ClusterIP");
        assert_eq!(validate(&service, Some(&old))[0].path, "status.loadBalancer.ingress");
        prepare(&mut service, Some(&old));
        assert_eq!(service["status"], json!({"loadBalancer": {}}));
    }

    #[test]
    fn ports_are_named_apart() {
        let bad = json!({"spec": {"ports": [{"port": 1, "name": "a"}, {"port": 0, "name": "a"}, {"port": 2}]}});
        let paths: Vec<_> = validate(&made_of(bad), None).into_iter().map(|error| error.path).collect();
        assert_eq!(paths, ["spec.ports[1].name", "spec.ports[1].port", "spec.ports[2].name"]);
        assert_eq!(validate(&made_of(json!({})), None)[0].path, "spec.ports");
        assert!(validate(&made_of(json!({"spec": {"clusterIP": "None"}})), None).is_empty());
    }

    #[test]
    fn a_row_shows_every_address() {
        let service = json!({
            "spec": {"type": "LoadBalancer", "clusterIPs": ["10.0.0.1"], "selector": {"a": "b", "c": "d"},
                "ports": [{"port": 80, "nodePort": 30000, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]},
            "status": {"loadBalancer": {"ingress": [{"ip": "1.1.1.1"}, {"hostname": "h"}]}},
        });
        let cells = cells(&service, Timestamp::UNIX_EPOCH);
        assert_eq!(cells[2..5], [json!("10.0.0.1"), json!("1.1.1.1,h"), json!("80:30000/TCP,53/UDP")]);
        assert_eq!(cells[6], "a=b,c=d");
    }
}
