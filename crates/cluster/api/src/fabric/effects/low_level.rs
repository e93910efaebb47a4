//! Low-level objects.

use super::{PARTS, REPORTED};
use crate::effects::{
    Effect::{self, Admission, FrontEnd, Planned, Reserved, Status},
    FieldEffect, field,
};

const NODES: &[Effect] = &[
    Admission("is a valid selector; two objects may claim the same thing only on nodes that cannot be the same"),
    FrontEnd("fabric: limits the object to these nodes"),
];
const ITEMS: &[Effect] = &[Admission("no place and no meaning twice"), FrontEnd("fabric: items of filters")];
const CIDR: &[Effect] = &[Admission("a network"), FrontEnd("fabric: prefix of a filter item")];
const LENGTH: &[Effect] = &[
    Admission("from the length of cidr to that of an address, ge not above le"),
    FrontEnd("fabric: length of a filter item"),
];
const SEQ: &[Effect] = &[Admission("unique in its list"), FrontEnd("fabric: order of filter items")];
const ACTION: &[Effect] = &[Admission("part of what makes two items the same"), FrontEnd("fabric: accept or reject")];
const NAMES: &[Effect] = &[Planned("fabric front end: what the object is about")];
/// A struct whose fields have entries of their own.
const BUILT: &[Effect] = &[FrontEnd("fabric: its fields, one by one")];
const READY: &[Effect] = &[Status("fabric: whether the nodes have it")];

pub(crate) const LAYER2_CONFIGURATION: &[FieldEffect] = &[
    field("spec", BUILT),
    field(
        "spec.id",
        &[Admission("once on a node; not where a Layer2Attachment has it"), FrontEnd("fabric: VLAN of the segment")],
    ),
    field("spec.mtu", &[FrontEnd("fabric: MTU of bridge, VXLAN and VLAN")]),
    field("spec.vni", &[Admission("means nothing else anywhere"), FrontEnd("fabric: VNI of the segment")]),
    field(
        "spec.interfaceName",
        &[
            Admission("begins with l2.; once on a node, also as the name that another segment has by default"),
            FrontEnd("fabric: name of the bridge"),
        ],
    ),
    field("spec.anycastMac", &[Admission("a station's address"), FrontEnd("fabric: hardware address of the gateway")]),
    field(
        "spec.anycastGateways",
        &[Admission("stations with room beside them"), FrontEnd("fabric: addresses of the gateway")],
    ),
    field(
        "spec.vrf",
        &[Admission("not the name of another interface of the nodes"), FrontEnd("fabric: VRF of the gateway")],
    ),
    field("spec.neighSuppression", &[FrontEnd("fabric: neighbour suppression of the segment")]),
    field(
        "spec.advertiseNeighbors",
        &[Admission("warns that it changes nothing"), Reserved("type-2 routes carry neighbours anyway")],
    ),
    field("spec.createMacVLANInterface", &[FrontEnd("fabric: the node's own interface in the segment")]),
    field("spec.disableSegmentation", &[FrontEnd("fabric: segmentation offloads of the VLAN")]),
    field("spec.nodeSelector", NODES),
    field("spec.nodeSelector.**", NODES),
    field("status", READY),
    field("status.conditions", READY),
    field("status.conditions.**", READY),
];

pub(crate) const VRF_CONFIGURATION: &[FieldEffect] = &[
    field("spec", BUILT),
    field(
        "spec.vrf",
        &[
            Admission("not the name of another interface; not where intents route in it; one VNI and route target"),
            FrontEnd("fabric: the VRF"),
        ],
    ),
    field(
        "spec.vni",
        &[Admission("means nothing else anywhere; warns without routeTarget"), FrontEnd("fabric: the VRF's VNI")],
    ),
    field(
        "spec.routeTarget",
        &[Admission("well formed; warns without vni"), FrontEnd("fabric: the VRF's route target")],
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
        &[Admission("networks, none twice"), FrontEnd("fabric: blackhole routes that are announced")],
    ),
    field("spec.sbrPrefixes", &[Admission("networks, none twice"), FrontEnd("fabric: policy routes by source")]),
    field("spec.seq", &[FrontEnd("fabric: order among the objects of a VRF")]),
    field(
        "spec.community",
        &[Admission("excludes communities; warns that it is deprecated"), FrontEnd("fabric: added to exported routes")],
    ),
    field(
        "spec.communities",
        &[Admission("each is two numbers or a well-known name"), FrontEnd("fabric: added to exported routes")],
    ),
    field("spec.nodeSelector", NODES),
    field("spec.nodeSelector.**", NODES),
    field("spec.loopbacks", PARTS),
    field(
        "spec.loopbacks[].name",
        &[Admission("not the name of another interface"), Planned("fabric front end: the interface's name")],
    ),
    field("spec.loopbacks[].subnet", &[Admission("a network"), Planned("fabric front end: an address for each node")]),
    field("status", READY),
    field("status.conditions", READY),
    field("status.conditions.**", READY),
];

pub(crate) const BGP_PEERING: &[FieldEffect] = &[
    field("spec", BUILT),
    field(
        "spec.peeringVlan",
        &[Admission("exactly one of peeringVlan and loopbackPeer"), FrontEnd("fabric: sessions from a segment")],
    ),
    field(
        "spec.peeringVlan.name",
        &[
            Admission("warns while it is not there or has no gateway; not the segment of an attachment"),
            FrontEnd("fabric: sessions from a segment"),
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
    field("spec.remoteASN", &[Admission("is not reserved"), FrontEnd("fabric: remote AS of the sessions")]),
    field("spec.enableBFD", &[FrontEnd("fabric: BFD of the sessions")]),
    field("spec.maximumPrefixes", &[FrontEnd("fabric: prefix limit of the sessions")]),
    field(
        "spec.holdTime",
        &[Admission("whole seconds, 0 or at least 3"), FrontEnd("fabric: hold time of the sessions")],
    ),
    field(
        "spec.keepaliveTime",
        &[Admission("whole seconds, less than the hold time"), FrontEnd("fabric: keepalive time of the sessions")],
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
    field("status", READY),
    field("status.conditions", READY),
    field("status.conditions.**", READY),
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
