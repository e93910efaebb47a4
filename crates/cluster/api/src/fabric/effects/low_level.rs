//! Low-level objects.

use super::{PARTS, REPORTED};
use crate::effects::{
    Effect::{self, Admission, Planned},
    FieldEffect, field,
};

const NODES: &[Effect] = &[
    Admission("is a valid selector; two objects may claim the same thing only on nodes that cannot be the same"),
    Planned("fabric front end: limits the object to these nodes"),
];
const ITEMS: &[Effect] = &[Admission("no place and no meaning twice"), Planned("fabric front end: items of filters")];
const CIDR: &[Effect] = &[Admission("a network"), Planned("fabric front end: prefix of a filter item")];
const LENGTH: &[Effect] = &[
    Admission("from the length of cidr to that of an address, ge not above le"),
    Planned("fabric front end: length of a filter item"),
];
const SEQ: &[Effect] = &[Admission("unique in its list"), Planned("fabric front end: order of filter items")];
const ACTION: &[Effect] =
    &[Admission("part of what makes two items the same"), Planned("fabric front end: accept or reject")];
const NAMES: &[Effect] = &[Planned("fabric front end: what the object is about")];

pub(crate) const LAYER2_CONFIGURATION: &[FieldEffect] = &[
    field("spec", PARTS),
    field(
        "spec.id",
        &[
            Admission("once on a node; not where a Layer2Attachment has it"),
            Planned("fabric front end: VLAN of the segment"),
        ],
    ),
    field("spec.mtu", &[Planned("fabric front end: MTU of bridge, VXLAN and VLAN")]),
    field("spec.vni", &[Admission("means nothing else anywhere"), Planned("fabric front end: VNI of the segment")]),
    field(
        "spec.interfaceName",
        &[
            Admission("begins with l2.; once on a node, also as the name that another segment has by default"),
            Planned("fabric front end: name of the bridge"),
        ],
    ),
    field(
        "spec.anycastMac",
        &[Admission("a station's address"), Planned("fabric front end: hardware address of the gateway")],
    ),
    field(
        "spec.anycastGateways",
        &[Admission("stations with room beside them"), Planned("fabric front end: addresses of the gateway")],
    ),
    field(
        "spec.vrf",
        &[Admission("not the name of another interface of the nodes"), Planned("fabric front end: VRF of the gateway")],
    ),
    field("spec.neighSuppression", &[Planned("fabric front end: neighbour suppression of the segment")]),
    field("spec.advertiseNeighbors", &[Planned("fabric front end: neighbours as host routes")]),
    field("spec.createMacVLANInterface", &[Planned("fabric front end: a macvlan interface on each node")]),
    field("spec.disableSegmentation", &[Planned("fabric front end: segmentation offloads of the VLAN")]),
    field("spec.nodeSelector", NODES),
    field("spec.nodeSelector.**", NODES),
    field("status", &[Effect::Reserved("empty; what nodes make of it is reported for each node")]),
];

pub(crate) const VRF_CONFIGURATION: &[FieldEffect] = &[
    field("spec", PARTS),
    field(
        "spec.vrf",
        &[
            Admission("not the name of another interface; not where intents route in it; one VNI and route target"),
            Planned("fabric front end: the VRF"),
        ],
    ),
    field(
        "spec.vni",
        &[
            Admission("means nothing else anywhere; warns without routeTarget"),
            Planned("fabric front end: the VRF's VNI"),
        ],
    ),
    field(
        "spec.routeTarget",
        &[Admission("well formed; warns without vni"), Planned("fabric front end: the VRF's route target")],
    ),
    field("spec.import", ITEMS),
    field("spec.import[].cidr", CIDR),
    field("spec.import[].ge", LENGTH),
    field("spec.import[].le", LENGTH),
    field("spec.import[].seq", SEQ),
    field("spec.import[].action", ACTION),
    field("spec.export", ITEMS),
    field("spec.export[].cidr", CIDR),
    field("spec.export[].ge", LENGTH),
    field("spec.export[].le", LENGTH),
    field("spec.export[].seq", SEQ),
    field("spec.export[].action", ACTION),
    field(
        "spec.aggregate",
        &[Admission("networks, none twice"), Planned("fabric front end: blackhole routes that are announced")],
    ),
    field(
        "spec.sbrPrefixes",
        &[Admission("networks, none twice"), Planned("fabric front end: policy routes by source")],
    ),
    field("spec.seq", &[Planned("fabric front end: order among the objects of a VRF")]),
    field(
        "spec.community",
        &[
            Admission("excludes communities; warns that it is deprecated"),
            Planned("fabric front end: added to exported routes"),
        ],
    ),
    field(
        "spec.communities",
        &[Admission("each is two numbers or a well-known name"), Planned("fabric front end: added to exported routes")],
    ),
    field("spec.nodeSelector", NODES),
    field("spec.nodeSelector.**", NODES),
    field("spec.loopbacks", PARTS),
    field(
        "spec.loopbacks[].name",
        &[Admission("not the name of another interface"), Planned("fabric front end: the interface's name")],
    ),
    field("spec.loopbacks[].subnet", &[Admission("a network"), Planned("fabric front end: an address for each node")]),
    field("status", &[Effect::Reserved("empty; what nodes make of it is reported for each node")]),
];

pub(crate) const BGP_PEERING: &[FieldEffect] = &[
    field("spec", PARTS),
    field(
        "spec.peeringVlan",
        &[
            Admission("exactly one of peeringVlan and loopbackPeer"),
            Planned("fabric front end: sessions from a segment"),
        ],
    ),
    field(
        "spec.peeringVlan.name",
        &[
            Admission("warns while it is not there or has no gateway; not the segment of an attachment"),
            Planned("fabric front end: sessions from a segment"),
        ],
    ),
    field(
        "spec.loopbackPeer",
        &[
            Admission("exactly one of peeringVlan and loopbackPeer"),
            Planned("fabric front end: sessions over loopbacks"),
        ],
    ),
    field("spec.loopbackPeer.ips", &[Admission("stations"), Planned("fabric front end: sessions over loopbacks")]),
    field("spec.remoteASN", &[Admission("is not reserved"), Planned("fabric front end: remote AS of the sessions")]),
    field("spec.enableBFD", &[Planned("fabric front end: BFD of the sessions")]),
    field("spec.maximumPrefixes", &[Planned("fabric front end: prefix limit of the sessions")]),
    field(
        "spec.holdTime",
        &[Admission("whole seconds, 0 or at least 3"), Planned("fabric front end: hold time of the sessions")],
    ),
    field(
        "spec.keepaliveTime",
        &[
            Admission("whole seconds, less than the hold time"),
            Planned("fabric front end: keepalive time of the sessions"),
        ],
    ),
    field("spec.import", ITEMS),
    field("spec.import[].cidr", CIDR),
    field("spec.import[].ge", LENGTH),
    field("spec.import[].le", LENGTH),
    field("spec.import[].seq", SEQ),
    field("spec.import[].action", ACTION),
    field("spec.export", ITEMS),
    field("spec.export[].cidr", CIDR),
    field("spec.export[].ge", LENGTH),
    field("spec.export[].le", LENGTH),
    field("spec.export[].seq", SEQ),
    field("spec.export[].action", ACTION),
    field("spec.nodeSelector", NODES),
    field("spec.nodeSelector.**", NODES),
    field("status", &[Effect::Reserved("empty; sessions are reported for each node")]),
];

pub(crate) const MIRROR_TARGET: &[FieldEffect] = &[
    field("spec", PARTS),
    field("spec.type", &[Planned("fabric front end: type of the tunnel")]),
    field(
        "spec.destinationIP",
        &[
            Admission("a station; no other tunnel has address, key and VRF in common"),
            Planned("fabric front end: far end of the tunnel"),
        ],
    ),
    field(
        "spec.key",
        &[Admission("tells tunnels with the same ends apart"), Planned("fabric front end: key of the tunnel")],
    ),
    field(
        "spec.destinationVrf",
        &[Admission("tells tunnels with the same ends apart"), Planned("fabric front end: VRF of the tunnel")],
    ),
    field(
        "spec.sourceLoopback",
        &[Admission("not the name of another interface"), Planned("fabric front end: near end of the tunnel")],
    ),
    field("status", REPORTED),
    field("status.activeNodes", REPORTED),
    field("status.activeSelectors", REPORTED),
    field("status.conditions", REPORTED),
    field("status.conditions.**", REPORTED),
];

pub(crate) const MIRROR_SELECTOR: &[FieldEffect] = &[
    field("spec", PARTS),
    field("spec.trafficMatch", PARTS),
    field(
        "spec.trafficMatch.srcPrefix",
        &[Admission("a network"), Planned("fabric front end: which packets are copied")],
    ),
    field(
        "spec.trafficMatch.dstPrefix",
        &[Admission("a network of the family of srcPrefix"), Planned("fabric front end: which packets are copied")],
    ),
    field(
        "spec.trafficMatch.srcPort",
        &[Admission("not with icmp"), Planned("fabric front end: which packets are copied")],
    ),
    field(
        "spec.trafficMatch.dstPort",
        &[Admission("not with icmp"), Planned("fabric front end: which packets are copied")],
    ),
    field(
        "spec.trafficMatch.protocol",
        &[
            Admission("a known one that fits the prefixes; kept in lower case"),
            Planned("fabric front end: which packets are copied"),
        ],
    ),
    field("spec.mirrorTarget", PARTS),
    field("spec.mirrorTarget.apiGroup", NAMES),
    field("spec.mirrorTarget.kind", NAMES),
    field(
        "spec.mirrorTarget.name",
        &[Admission("warns while it is not there"), Planned("fabric front end: where copies go")],
    ),
    field("spec.mirrorSource", PARTS),
    field("spec.mirrorSource.apiGroup", NAMES),
    field(
        "spec.mirrorSource.kind",
        &[Admission("decides where the name is looked up"), Planned("fabric front end: where traffic is copied")],
    ),
    field(
        "spec.mirrorSource.name",
        &[
            Admission("warns while it is not there; not one whose traffic a TrafficMirror copies"),
            Planned("fabric front end: where traffic is copied"),
        ],
    ),
    field("spec.direction", &[Planned("fabric front end: direction of the copied traffic")]),
    field("status", REPORTED),
    field("status.conditions", REPORTED),
    field("status.conditions.**", REPORTED),
];
