//! `Endpoints` and `EndpointSlice`: addresses behind a service, checked for being addresses.

use std::net::{IpAddr, SocketAddr};

use jiff::Timestamp;
use netloom_schema::FieldError;
use serde_json::{Value, json};

use super::{
    addresses,
    columns::{made, name},
    json::{at, items, items_mut, number, object, set_default, text},
};

/// How many addresses a row shows.
const SHOWN: usize = 3;
/// How many endpoints a slice may have, and how many addresses an endpoint.
const MOST_ENDPOINTS: usize = 1000;
const MOST_ADDRESSES: usize = 100;

pub(super) fn default_endpoints(endpoints: &mut Value) {
    for subset in items_mut(endpoints, &["subsets"]) {
        for port in items_mut(subset, &["ports"]).iter_mut().filter_map(Value::as_object_mut) {
            set_default(port, "protocol", "TCP");
        }
    }
}

/// A slice always has both of its lists, if only as null; nobody owns them for that.
pub(crate) fn fill_slice(slice: &mut Value) {
    for list in ["endpoints", "ports"] {
        if let Some(map) = slice.as_object_mut() {
            map.entry(list).or_insert(Value::Null);
        }
    }
}

/// An endpoint always has conditions, if only none.
pub(super) fn default_slice(slice: &mut Value) {
    fill_slice(slice);
    for endpoint in items_mut(slice, &["endpoints"]) {
        object(endpoint, "conditions");
    }
    for port in items_mut(slice, &["ports"]).iter_mut().filter_map(Value::as_object_mut) {
        port.entry("name").or_insert_with(|| json!(""));
        set_default(port, "protocol", "TCP");
    }
}

pub(super) fn validate_endpoints(endpoints: &Value, old: Option<&Value>) -> Vec<FieldError> {
    if old.is_some_and(|old| old.get("subsets") == endpoints.get("subsets")) {
        return Vec::new();
    }
    let mut errors = Vec::new();
    for (index, subset) in items(endpoints, &["subsets"]).iter().enumerate() {
        let path = format!("subsets[{index}]");
        let (ready, other) = (items(subset, &["addresses"]), items(subset, &["notReadyAddresses"]));
        if ready.is_empty() && other.is_empty() {
            errors.push(FieldError::required(&path, "must specify `addresses` or `notReadyAddresses`"));
        }
        for (field, all) in [("addresses", ready), ("notReadyAddresses", other)] {
            for (index, address) in all.iter().enumerate() {
                errors.extend(bad_address(&format!("{path}.{field}[{index}].ip"), text(address, &["ip"])));
            }
        }
        for (index, port) in items(subset, &["ports"]).iter().enumerate() {
            errors.extend(bad_port(&format!("{path}.ports[{index}].port"), number(port, &["port"])));
        }
    }
    errors
}

pub(super) fn validate_slice(slice: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let kinds = ["FQDN", "IPv4", "IPv6"];
    let kind = text(slice, &["addressType"]);
    let mut errors = Vec::new();
    if kind.is_empty() {
        errors.push(FieldError::required("addressType", ""));
    } else if !kinds.contains(&kind) {
        errors.push(FieldError::not_supported("addressType", &json!(kind), &kinds));
    }
    let endpoints = items(slice, &["endpoints"]);
    if endpoints.len() > MOST_ENDPOINTS {
        errors.push(FieldError::too_many("endpoints", endpoints.len(), MOST_ENDPOINTS));
        return errors;
    }
    if old.is_none_or(|old| old.get("endpoints") != slice.get("endpoints")) {
        errors.extend(endpoints.iter().enumerate().flat_map(|(index, one)| endpoint(one, kind, index)));
    }
    if old.is_some_and(|old| text(old, &["addressType"]) != kind) {
        errors.push(FieldError::invalid("addressType", &json!(kind), "field is immutable"));
    }
    errors
}

fn endpoint(endpoint: &Value, kind: &str, index: usize) -> Vec<FieldError> {
    let path = format!("endpoints[{index}].addresses");
    let addresses = items(endpoint, &["addresses"]);
    if addresses.is_empty() {
        return vec![FieldError::required(path, "must contain at least 1 address")];
    }
    if addresses.len() > MOST_ADDRESSES {
        return vec![FieldError::too_many(path, addresses.len(), MOST_ADDRESSES)];
    }
    let all = addresses.iter().map(|address| address.as_str().unwrap_or_default()).enumerate();
    all.flat_map(|(index, address)| slice_address(&path, index, address, kind)).collect()
}

/// What is wrong with one address of a slice. That it is of the other family is reported of the list.
fn slice_address(list: &str, index: usize, text: &str, kind: &str) -> Vec<FieldError> {
    let path = format!("{list}[{index}]");
    let bad = match kind {
        "IPv4" => addresses::bad_address(&path, text),
        "IPv6" => addresses::bad_canonical_address(&path, text),
        "FQDN" => addresses::bad_host(&path, text),
        // What kinds there are is judged elsewhere.
        _ => None,
    };
    let Ok(address) = text.parse::<IpAddr>() else { return bad.into_iter().collect() };
    if bad.is_some() || kind == "FQDN" {
        return bad.into_iter().collect();
    }
    let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
    let other = (family != kind && matches!(kind, "IPv4" | "IPv6"))
        .then(|| FieldError::invalid(list, &json!(text), format!("must be an {kind} address")));
    other.into_iter().chain(addresses::unreachable(&path, text, address)).collect()
}

pub(super) fn endpoints_cells(endpoints: &Value, now: Timestamp) -> Vec<Value> {
    let mut all = Vec::new();
    for subset in items(endpoints, &["subsets"]) {
        let addresses = || items(subset, &["addresses"]).iter().map(|address| text(address, &["ip"]));
        let ports = items(subset, &["ports"]);
        if ports.is_empty() {
            all.extend(addresses().map(str::to_owned));
        }
        for port in ports {
            all.extend(addresses().map(|address| with_port(address, number(port, &["port"]))));
        }
    }
    let shown = if items(endpoints, &["subsets"]).is_empty() { "<none>".to_owned() } else { cut(&all) };
    vec![name(endpoints), shown.into(), made(endpoints, now)]
}

pub(super) fn slice_cells(slice: &Value, now: Timestamp) -> Vec<Value> {
    let ports: Vec<String> = items(slice, &["ports"])
        .iter()
        .map(|port| match at(port, &["port"]).or_else(|| at(port, &["name"])) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => "*".to_owned(),
        })
        .collect();
    let addresses: Vec<String> = items(slice, &["endpoints"])
        .iter()
        .flat_map(|endpoint| items(endpoint, &["addresses"]))
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    let shown = |all: &[String]| if all.is_empty() { "<unset>".to_owned() } else { cut(all) };
    vec![
        name(slice),
        text(slice, &["addressType"]).into(),
        shown(&ports).into(),
        shown(&addresses).into(),
        made(slice, now),
    ]
}

fn cut(all: &[String]) -> String {
    let shown = all[..all.len().min(SHOWN)].join(",");
    if all.len() > SHOWN { format!("{shown} + {} more...", all.len() - SHOWN) } else { shown }
}

fn with_port(address: &str, port: i64) -> String {
    match (address.parse(), u16::try_from(port)) {
        (Ok(address), Ok(port)) => SocketAddr::new(address, port).to_string(),
        _ => format!("{address}:{port}"),
    }
}

fn bad_address(path: &str, address: &str) -> Option<FieldError> {
    let why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
    address.parse::<IpAddr>().is_err().then(|| FieldError::invalid(path, &json!(address), why))
}

fn bad_port(path: &str, port: i64) -> Option<FieldError> {
    let bad = !(1..=65_535).contains(&port);
    bad.then(|| FieldError::invalid(path, &json!(port), "must be between 1 and 65535, inclusive"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_addresses() {
        let good = json!({"subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}]});
        assert!(validate_endpoints(&good, None).is_empty());
        let bad = json!({"subsets": [{"addresses": [{"ip": "x"}], "ports": [{"port": 0}]}, {}]});
        assert_eq!(validate_endpoints(&bad, None).len(), 3);
        assert!(validate_endpoints(&bad, Some(&bad)).is_empty());
    }

    #[test]
    fn a_slice_has_one_family() {
        let slice = |kind: &str, address: &str| json!({"addressType": kind, "endpoints": [{"addresses": [address]}]});
        assert!(validate_slice(&slice("IPv4", "10.0.0.1"), None).is_empty());
        assert!(validate_slice(&slice("FQDN", "a.b"), None).is_empty());
        assert_eq!(validate_slice(&slice("IPv6", "10.0.0.1"), None)[0].path, "endpoints[0].addresses");
        assert_eq!(validate_slice(&slice("IPv4", "x"), None)[0].path, "endpoints[0].addresses[0]");
        let changed = validate_slice(&slice("IPv4", "10.0.0.1"), Some(&slice("FQDN", "a.b")));
        assert_eq!(changed[0].path, "addressType");
    }

    #[test]
    fn a_slice_has_its_lists_and_its_endpoints_conditions() {
        let mut slice = json!({"endpoints": [{"addresses": ["10.0.0.1"]}, {"conditions": {"ready": true}}]});
        default_slice(&mut slice);
        let endpoints = json!([{"addresses": ["10.0.0.1"], "conditions": {}}, {"conditions": {"ready": true}}]);
        assert_eq!(slice, json!({"endpoints": endpoints, "ports": null}));
        let mut bare = json!({});
        default_slice(&mut bare);
        assert_eq!(bare, json!({"endpoints": null, "ports": null}));
    }

    #[test]
    fn long_lists_are_cut() {
        let ips: Vec<_> = (1..=5).map(|n| json!({"ip": format!("fd00::{n}")})).collect();
        let endpoints = json!({"subsets": [{"addresses": ips, "ports": [{"port": 80}]}]});
        let cells = endpoints_cells(&endpoints, Timestamp::UNIX_EPOCH);
        assert_eq!(cells[1], "[fd00::1]:80,[fd00::2]:80,[fd00::3]:80 + 2 more...");
        assert_eq!(endpoints_cells(&json!({}), Timestamp::UNIX_EPOCH)[1], "<none>");
        assert_eq!(slice_cells(&json!({"ports": [{}]}), Timestamp::UNIX_EPOCH)[2], "*");
    }
}
