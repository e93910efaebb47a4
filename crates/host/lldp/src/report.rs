//! An announcement in the form in which nmstate reports it: a list with one map for each part.
//!
//! The time to live is left out: it is no news.

use serde_json::{Value, json};

use crate::announcement::{Announcement, Capabilities, MacPhy, ManagementAddress};

/// What each bit of the capabilities is called, from the lowest.
const CAPABILITIES: [&str; 11] = [
    "Other",
    "Repeater",
    "MAC Bridge component",
    "802.11 Access Point",
    "Router",
    "Telephone",
    "DOCSIS cable device",
    "Station Only",
    "C-VLAN component",
    "S-VLAN component",
    "Two-port MAC Relay component",
];
const IEEE_802_1: &str = "00:80:c2";
const IEEE_802_3: &str = "00:12:0f";

impl Announcement {
    /// The announcement in nmstate's form.
    pub fn report(&self) -> Value {
        let Self { chassis, port, ttl: _, port_description, system_name, system_description, .. } = self;
        let mut parts = vec![
            json!({"type": 1, "chassis-id-type": chassis.kind, "chassis-id": chassis.name}),
            json!({"type": 2, "port-id-type": port.kind, "port-id": port.name}),
        ];
        parts.extend(port_description.as_ref().map(|text| json!({"type": 4, "port-description": text})));
        parts.extend(system_name.as_ref().map(|text| json!({"type": 5, "system-name": text})));
        parts.extend(system_description.as_ref().map(|text| json!({"type": 6, "system-description": text})));
        parts.extend(self.capabilities.map(|bits| json!({"type": 7, "system-capabilities": words(bits)})));
        if !self.management.is_empty() {
            let addresses: Vec<Value> = self.management.iter().map(management).collect();
            parts.push(json!({"type": 8, "management-addresses": addresses}));
        }
        self.put_vlans(&mut parts);
        parts.extend(self.mac_phy.map(mac_phy));
        parts
            .extend(self.max_frame_size.map(
                |bytes| json!({"type": 127, "oui": IEEE_802_3, "subtype": 4, "ieee-802-3-max-frame-size": bytes}),
            ));
        parts.into()
    }

    fn put_vlans(&self, parts: &mut Vec<Value>) {
        let part = |subtype: u8, key: &str, value: Value| {
            let mut part = json!({"type": 127, "oui": IEEE_802_1, "subtype": subtype});
            part[key] = value;
            part
        };
        parts.extend(self.port_vlan.map(|id| part(1, "ieee-802-1-port-vlan", id.into())));
        if !self.protocol_vlans.is_empty() {
            parts.push(part(2, "ieee-802-1-ppvids", self.protocol_vlans.clone().into()));
        }
        if !self.vlans.is_empty() {
            let vlans = self.vlans.iter().map(|(id, name)| json!({"name": name, "vid": id}));
            parts.push(part(3, "ieee-802-1-vlans", vlans.collect()));
        }
    }
}

fn words(bits: Capabilities) -> Vec<&'static str> {
    CAPABILITIES.iter().enumerate().filter(|(bit, _)| bits.enabled >> bit & 1 == 1).map(|(_, word)| *word).collect()
}

fn management(address: &ManagementAddress) -> Value {
    let ManagementAddress { family, address, interface_kind, interface } = address;
    let family = match family {
        1 => "IPv4".into(),
        2 => "IPv6".into(),
        6 => "MAC".into(),
        other => Value::from(other.to_string()),
    };
    json!({
        "address": address,
        "address-subtype": family,
        "interface-number": interface,
        "interface-number-subtype": interface_kind,
    })
}

fn mac_phy(phy: MacPhy) -> Value {
    let MacPhy { autoneg, advertised, mau_type } = phy;
    json!({
        "type": 127,
        "oui": IEEE_802_3,
        "subtype": 1,
        "ieee-802-3-mac-phy-conf": {
            "autoneg": autoneg & 2 != 0,
            "operational-mau-type": mau_type,
            "pmd-autoneg-cap": advertised,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::announcement::Id;

    #[test]
    fn what_was_reported_is_reported_and_nothing_else() {
        let id = |kind, name: &str| Id { kind, name: name.to_owned() };
        let mut announcement = Announcement::new(id(4, "02:00:00:00:00:09"), id(5, "ge-0"), 120);
        let least = json!([
            {"type": 1, "chassis-id-type": 4, "chassis-id": "02:00:00:00:00:09"},
            {"type": 2, "port-id-type": 5, "port-id": "ge-0"},
        ]);
        assert_eq!(announcement.report(), least);
        announcement.vlans = [(20, "b".to_owned()), (10, "a".to_owned())].into();
        announcement.capabilities = Some(Capabilities { supported: 0xffff, enabled: 0x14 });
        let reported = announcement.report();
        assert_eq!(reported[2]["system-capabilities"], json!(["MAC Bridge component", "Router"]));
        assert_eq!(
            reported[3],
            json!({"type": 127, "oui": "00:80:c2", "subtype": 3, "ieee-802-1-vlans": [{"name": "a", "vid": 10}, {"name": "b", "vid": 20}]})
        );
    }
}
