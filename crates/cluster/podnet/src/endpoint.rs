//! The `DanmEp` of an interface.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use netloom_api::podnet::{DanmEp, DanmEpSpec, EpInterface, NetworkKind};

use crate::{Interface, Record, record::State};

/// The name of the object of an interface, in the form of a UUID. It follows from whose interface it is, so that asking
/// twice makes one.
pub fn endpoint_id(pod_uid: &str, container: &str, ifname: &str) -> String {
    let text = format!("{pod_uid}\n{container}\n{ifname}");
    let sum = |bytes: &mut dyn Iterator<Item = u8>| {
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    };
    let (high, low) = (sum(&mut text.bytes()), sum(&mut text.bytes().rev()));
    // Version 8, the one for numbers of one's own making, and the usual variant.
    let (high, low) = ((high & !0xf000) | 0x8000, (low & !(0b11 << 62)) | (0b10 << 62));
    let part = |number: u64, from: u32, digits: u32| (number >> from) & ((1 << (digits * 4)) - 1);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        part(high, 32, 8),
        part(high, 16, 4),
        part(high, 0, 4),
        part(low, 48, 4),
        part(low, 0, 12)
    )
}

/// The object of an interface; none while it is being made.
pub(crate) fn endpoint(
    record: &Record,
    interface: &Interface,
    node: &str,
    labels: &BTreeMap<String, String>,
) -> Option<DanmEp> {
    let State::Made(attached) = &record.state else { return None };
    let made = attached.interfaces.iter().find(|made| made.name == interface.name);
    let address = |address: Option<ipnet::IpNet>, without: bool| match address {
        Some(address) => address.to_string(),
        None if without => "none".to_owned(),
        None => String::new(),
    };
    let routes = |is_ipv4: bool| {
        let own = interface.routes.iter().filter(|route| route.table.is_some() && route.to.addr().is_ipv4() == is_ipv4);
        own.map(|route| (route.to.to_string(), route.via.to_string())).collect()
    };
    let spec = DanmEpSpec {
        network_name: interface.network_name.clone(),
        network_type: interface.network_type.clone(),
        endpoint_id: interface.endpoint.clone(),
        interface: EpInterface {
            name: interface.name.clone(),
            address: address(interface.ipv4, interface.without_ipv4),
            address_ipv6: address(interface.ipv6, interface.without_ipv6),
            mac_address: made.map(|made| made.mac.clone()).unwrap_or_default(),
            proutes: routes(true),
            proutes6: routes(false),
            device_id: String::new(),
        },
        host: node.to_owned(),
        pod: record.pod_name.clone(),
        pod_uid: record.pod_uid.clone(),
        cid: record.container.clone(),
        netns: record.netns.clone(),
        api_type: NetworkKind::named(&interface.network_kind).map_or("", NetworkKind::name).to_owned(),
    };
    let owner = OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        name: record.pod_name.clone(),
        uid: record.pod_uid.clone(),
        ..OwnerReference::default()
    };
    let metadata = ObjectMeta {
        name: Some(interface.endpoint.clone()),
        namespace: Some(record.pod_namespace.clone()),
        labels: Some(labels.clone()).filter(|labels| !labels.is_empty()),
        owner_references: Some(vec![owner]),
        ..ObjectMeta::default()
    };
    Some(DanmEp { metadata, spec })
}
