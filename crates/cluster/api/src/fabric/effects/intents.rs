//! Intents.

use super::{PARTS, REPORTED};
use crate::effects::{
    Effect::{self, Admission, FrontEnd, Planned, Reserved, Status},
    FieldEffect, field,
};

const NODES: &[Effect] = &[
    Admission("is a valid selector; two objects may claim the same thing only on nodes that cannot be the same"),
    Planned("fabric front end: limits what is generated to these nodes"),
];
const PICKS: &[Effect] = &[
    Admission("is a valid selector; picks no VRF that is configured manually on the same nodes"),
    Planned("fabric front end: imports from and exports into the VRFs of the picked Destinations"),
];
const COMMUNITIES: &[Effect] = &[
    Admission("each is two numbers or a well-known name, and not the mark of learned routes"),
    Planned("fabric front end: added to exported routes"),
];
const NETWORK_REF: &[Effect] = &[
    Admission("exists when the reference is made, and has what this kind needs"),
    Planned("fabric front end: addresses, VLAN and VNI come from it"),
];
const HOLD: &[Effect] =
    &[Admission("whole seconds, 0 or at least 3"), Planned("fabric front end: hold time of the session")];
const KEEPALIVE: &[Effect] =
    &[Admission("whole seconds, less than the hold time"), Planned("fabric front end: keepalive time of the session")];
const WORKLOAD_AS: &[Effect] = &[Admission("is not reserved"), Planned("fabric front end: remote AS of the session")];
const MAX_PREFIXES: &[Effect] = &[Planned("fabric front end: prefix limit of the session")];
const TRANSFER: &[Effect] = &[Planned("fabric front end: exports the network of the session to the workload")];
const COUNT: &[Effect] = &[
    Admission("excludes addresses; fits into the network beside all other requests"),
    Planned("fabric front end: that many addresses of each family are taken"),
];
const ADDRESSES: &[Effect] = &[
    Admission("excludes count; each is free and in the network"),
    Planned("fabric front end: these addresses are taken"),
];
const NO_AGGREGATE: &[Effect] = &[
    Admission("warns without destinations"),
    Planned("fabric front end: leaves the aggregate of the network out of exports"),
];
const ROUTES: &[Effect] = &[
    Admission("each prefix is a network; warns without destinations"),
    Planned("fabric front end: imported besides the prefixes of Destinations"),
];

const BUILT_NODES: &[Effect] = &[
    Admission("is a valid selector; two objects may claim the same thing only on nodes that cannot be the same"),
    FrontEnd("fabric: limits what is generated to these nodes"),
];
const BUILT_PICKS: &[Effect] = &[
    Admission("is a valid selector; picks no VRF that is configured manually on the same nodes"),
    FrontEnd("fabric: imports from and exports into the VRFs of the picked Destinations"),
];
const BUILT_COMMUNITIES: &[Effect] = &[
    Admission("each is two numbers or a well-known name, and not the mark of learned routes"),
    FrontEnd("fabric: added to exported routes"),
];
const BUILT_NETWORK_REF: &[Effect] = &[
    Admission("exists when the reference is made, and has what this kind needs"),
    FrontEnd("fabric: addresses, VLAN and VNI come from it"),
];
const BUILT_HOLD: &[Effect] =
    &[Admission("whole seconds, 0 or at least 3"), FrontEnd("fabric: hold time of the session")];
const BUILT_KEEPALIVE: &[Effect] =
    &[Admission("whole seconds, less than the hold time"), FrontEnd("fabric: keepalive time of the session")];
const BUILT_WORKLOAD_AS: &[Effect] = &[Admission("is not reserved"), FrontEnd("fabric: remote AS of the session")];
const BUILT_MAX_PREFIXES: &[Effect] = &[FrontEnd("fabric: prefix limit of the session")];
const BUILT_TRANSFER: &[Effect] = &[FrontEnd("fabric: exports the network of the session to the workload")];
const BUILT_ROUTES: &[Effect] = &[
    Admission("each prefix is a network; warns without destinations"),
    FrontEnd("fabric: imported besides the prefixes of Destinations"),
];
/// A struct whose fields have entries of their own.
const BUILT: &[Effect] = &[FrontEnd("fabric: its fields, one by one")];
const SEEN: &[Effect] = &[Status("fabric: what came of it")];

pub(crate) const VRF: &[FieldEffect] = &[
    field("spec", BUILT),
    field(
        "spec.vrf",
        &[
            Admission("immutable; not the name of an interface of the nodes; one VNI and route target for one VRF"),
            FrontEnd("fabric: the VRF's name in generated routes"),
        ],
    ),
    field("spec.vni", &[Admission("means nothing else anywhere"), FrontEnd("fabric: the VRF's VNI")]),
    field(
        "spec.routeTarget",
        &[Admission("well formed; warns when another VRF has it"), FrontEnd("fabric: the VRF's route target")],
    ),
    field(
        "spec.loopbacks",
        &[Admission("not emptied while a Collector needs one"), Planned("fabric front end: source of mirror tunnels")],
    ),
    field(
        "spec.loopbacks[].name",
        &[Admission("not the name of an interface of the nodes"), Planned("fabric front end: the interface's name")],
    ),
    field(
        "spec.loopbacks[].poolRef",
        &[Admission("exactly one of poolRef and subnet"), Planned("fabric front end: an address claim for each node")],
    ),
    field("spec.loopbacks[].poolRef.**", &[Planned("fabric front end: an address claim for each node")]),
    field(
        "spec.loopbacks[].subnet",
        &[
            Admission("a network; exactly one of poolRef and subnet"),
            Planned("fabric front end: an address for each node"),
        ],
    ),
    field("status", SEEN),
    field("status.conditions", SEEN),
    field("status.referenceCount", SEEN),
    field("status.conditions.**", SEEN),
];

pub(crate) const NETWORK: &[FieldEffect] = &[
    field("spec", &[Admission("has at least one of ipv4, ipv6 and vlan")]),
    field("spec.ipv4", &[Admission("not taken away while addresses are needed"), FrontEnd("fabric: the IPv4 pool")]),
    field(
        "spec.ipv4.cidr",
        &[
            Admission("an IPv4 network of stations; holds what its users have; warns when it overlaps another Network"),
            FrontEnd("fabric: the IPv4 pool"),
        ],
    ),
    field(
        "spec.ipv4.prefixLength",
        &[Admission("from the length of cidr to 32"), FrontEnd("fabric: the slice of one consumer")],
    ),
    field("spec.ipv6", &[Admission("not taken away while addresses are needed"), FrontEnd("fabric: the IPv6 pool")]),
    field(
        "spec.ipv6.cidr",
        &[
            Admission("an IPv6 network of stations; holds what its users have; warns when it overlaps another Network"),
            FrontEnd("fabric: the IPv6 pool"),
        ],
    ),
    field(
        "spec.ipv6.prefixLength",
        &[Admission("from the length of cidr to 128"), FrontEnd("fabric: the slice of one consumer")],
    ),
    field(
        "spec.allocationPool",
        &[
            Admission("warns that it has no effect"),
            Reserved("reserved for future automatic allocation, not processed in this iteration"),
        ],
    ),
    field(
        "spec.allocationPool.ipv4",
        &[Reserved("reserved for future automatic allocation, not processed in this iteration")],
    ),
    field(
        "spec.allocationPool.ipv6",
        &[Reserved("reserved for future automatic allocation, not processed in this iteration")],
    ),
    field(
        "spec.vlan",
        &[
            Admission("not taken away from an attachment; one attachment for a VLAN on a node"),
            FrontEnd("fabric: VLAN of the segment"),
        ],
    ),
    field(
        "spec.vni",
        &[
            Admission("means nothing else anywhere; not with an attachment to an existing interface"),
            FrontEnd("fabric: VNI of the segment"),
        ],
    ),
    field(
        "spec.managed",
        &[Admission("an attachment warns when it is false"), FrontEnd("fabric: when false, no segment is set up")],
    ),
    field("status", SEEN),
    field("status.conditions", SEEN),
    field("status.referenceCount", SEEN),
    field("status.vni", SEEN),
    field("status.conditions.**", SEEN),
];

pub(crate) const DESTINATION: &[FieldEffect] = &[
    field("spec", BUILT),
    field(
        "spec.vrfRef",
        &[
            Admission(
                "excludes nextHop; exists when the reference is made; no second VRF for an attachment that can have one",
            ),
            FrontEnd("fabric: prefixes are imported from this VRF"),
        ],
    ),
    field(
        "spec.prefixes",
        &[Admission("networks, none twice; warns when empty"), FrontEnd("fabric: imports of a VRF, or static routes")],
    ),
    field("spec.nextHop", &[Admission("excludes vrfRef; has a family"), FrontEnd("fabric: static routes")]),
    field(
        "spec.nextHop.ipv4",
        &[Admission("an IPv4 station; needed for IPv4 prefixes"), FrontEnd("fabric: gateway of static routes")],
    ),
    field(
        "spec.nextHop.ipv6",
        &[Admission("an IPv6 station; needed for IPv6 prefixes"), FrontEnd("fabric: gateway of static routes")],
    ),
    field("status", SEEN),
    field("status.conditions", SEEN),
    field("status.referenceCount", SEEN),
    field("status.conditions.**", SEEN),
];

pub(crate) const LAYER2_ATTACHMENT: &[FieldEffect] = &[
    field("spec", BUILT),
    field("spec.networkRef", BUILT_NETWORK_REF),
    field("spec.destinations", BUILT_PICKS),
    field("spec.destinations.**", BUILT_PICKS),
    field("spec.nodeSelector", BUILT_NODES),
    field("spec.nodeSelector.**", BUILT_NODES),
    field(
        "spec.interfaceName",
        &[
            Admission("immutable; needed unless SR-IOV or interfaceRef; not taken on any of the same nodes"),
            FrontEnd("fabric: name of the host interface"),
        ],
    ),
    field(
        "spec.interfaceRef",
        &[
            Admission("not an interface of the fabric; the Network has a vlan and no vni"),
            FrontEnd("fabric: the VLAN is set up on it"),
        ],
    ),
    field("spec.mtu", &[FrontEnd("fabric: MTU of the segment")]),
    field(
        "spec.disableAnycast",
        &[
            Admission("only together with disableNeighborSuppression; without it the gateway must be free"),
            FrontEnd("fabric: no gateway"),
        ],
    ),
    field(
        "spec.disableNeighborSuppression",
        &[Admission("must be true with disableAnycast"), FrontEnd("fabric: neighbour suppression of the segment")],
    ),
    field("spec.anycastMac", &[Admission("a station's address"), FrontEnd("fabric: hardware address of the gateway")]),
    field("spec.bgp", BUILT),
    field(
        "spec.bgp.enabled",
        &[
            Admission(
                "only where there is a gateway: not with SR-IOV, interfaceRef, disableAnycast or a Network without addresses",
            ),
            FrontEnd("fabric: a BGPPeering"),
        ],
    ),
    field("spec.bgp.advertiseTransferNetwork", BUILT_TRANSFER),
    field("spec.bgp.holdTime", BUILT_HOLD),
    field("spec.bgp.keepaliveTime", BUILT_KEEPALIVE),
    field("spec.bgp.maximumPrefixes", BUILT_MAX_PREFIXES),
    field("spec.bgp.workloadAS", BUILT_WORKLOAD_AS),
    field("spec.sriov", &[Admission("a bare word becomes the struct"), Planned("fabric front end: SR-IOV policies")]),
    field(
        "spec.sriov.enabled",
        &[Admission("immutable; with interfaceName only one VRF"), Planned("fabric front end: SR-IOV policies")],
    ),
    field("spec.nodeIPs", BUILT),
    field(
        "spec.nodeIPs.enabled",
        &[Admission("not with SR-IOV alone; the Network has addresses"), FrontEnd("fabric: an address for each node")],
    ),
    field(
        "spec.nodeIPs.reservedForPods",
        &[
            Admission("leaves addresses for nodes, and counts against the room of the Network"),
            FrontEnd("fabric: these are given to no node"),
        ],
    ),
    field(
        "spec.nodeIPs.reservedRanges",
        &[Admission("parts of the Network"), FrontEnd("fabric: these are given to no node")],
    ),
    field("spec.routes", BUILT_ROUTES),
    field("spec.routes[].prefixes", BUILT_ROUTES),
    field("spec.communities", BUILT_COMMUNITIES),
    field("status", SEEN),
    field("status.anycast", SEEN),
    field("status.anycast.gateway", SEEN),
    field("status.anycast.gatewayv4", SEEN),
    field("status.anycast.mac", SEEN),
    field("status.conditions", SEEN),
    field("status.matchedDestinations", SEEN),
    field("status.sriovVlanID", REPORTED),
    field("status.conditions.**", SEEN),
];

pub(crate) const INBOUND: &[FieldEffect] = &[
    field("spec", PARTS),
    field("spec.networkRef", NETWORK_REF),
    field("spec.destinations", PICKS),
    field("spec.destinations.**", PICKS),
    field("spec.nodeSelector", NODES),
    field("spec.nodeSelector.**", NODES),
    field("spec.count", COUNT),
    field("spec.addresses", ADDRESSES),
    field("spec.addresses.ipv4", ADDRESSES),
    field("spec.addresses.ipv6", ADDRESSES),
    field(
        "spec.poolName",
        &[Admission("no other Inbound makes this pool"), Planned("fabric front end: name of the MetalLB address pool")],
    ),
    field("spec.tenantLoadBalancerClass", &[Admission("refused: the fabric flavour is not legacy-frr")]),
    field(
        "spec.disableLoadBalancer",
        &[Admission("stays true while a BGPNeighbor refers to this"), Planned("fabric front end: no MetalLB objects")],
    ),
    field("spec.advertisement", PARTS),
    field("spec.advertisement.type", &[Planned("fabric front end: BGPAdvertisement or L2Advertisement")]),
    field("spec.disableAggregation", NO_AGGREGATE),
    field("spec.communities", COMMUNITIES),
    field("status", REPORTED),
    field(
        "status.addresses",
        &[Admission("nobody else may ask for these"), Planned("fabric front end: the controller will report it")],
    ),
    field("status.addresses.ipv4", REPORTED),
    field("status.addresses.ipv6", REPORTED),
    field("status.conditions", REPORTED),
    field("status.poolName", REPORTED),
    field("status.conditions.**", REPORTED),
];

pub(crate) const OUTBOUND: &[FieldEffect] = &[
    field("spec", PARTS),
    field("spec.networkRef", NETWORK_REF),
    field(
        "spec.destinations",
        &[
            Admission(
                "is a valid selector; picks something when it is set, and no VRF that is configured manually on the same nodes",
            ),
            Planned("fabric front end: exports into the VRFs of the picked Destinations"),
        ],
    ),
    field("spec.destinations.**", PICKS),
    field("spec.nodeSelector", NODES),
    field("spec.nodeSelector.**", NODES),
    field(
        "spec.replicas",
        &[
            Admission("less than count and than the addresses of each family"),
            Planned("fabric front end: replicas of the Coil Egress"),
        ],
    ),
    field("spec.count", COUNT),
    field("spec.addresses", ADDRESSES),
    field("spec.addresses.ipv4", ADDRESSES),
    field("spec.addresses.ipv6", ADDRESSES),
    field(
        "spec.egressDestinations",
        &[Admission("networks, none twice"), Planned("fabric front end: destinations of the Coil Egress")],
    ),
    field("spec.disableAggregation", NO_AGGREGATE),
    field("spec.communities", COMMUNITIES),
    field("status", REPORTED),
    field(
        "status.addresses",
        &[Admission("nobody else may ask for these"), Planned("fabric front end: the controller will report it")],
    ),
    field("status.addresses.ipv4", REPORTED),
    field("status.addresses.ipv6", REPORTED),
    field("status.conditions", REPORTED),
    field("status.conditions.**", REPORTED),
];

pub(crate) const BGP_NEIGHBOR: &[FieldEffect] = &[
    field("spec", PARTS),
    field("spec.allowedInbounds", PARTS),
    field(
        "spec.allowedInbounds[].name",
        &[
            Admission("exists when the reference is made, and has disableLoadBalancer set"),
            Planned("fabric front end: its addresses may be announced"),
        ],
    ),
    field("spec.advertiseTransferNetwork", TRANSFER),
    field("spec.holdTime", HOLD),
    field("spec.keepaliveTime", KEEPALIVE),
    field("spec.maximumPrefixes", MAX_PREFIXES),
    field("spec.workloadAS", WORKLOAD_AS),
    field("status", REPORTED),
    field("status.asNumber", REPORTED),
    field("status.conditions", REPORTED),
    field("status.holdTime", REPORTED),
    field("status.keepaliveTime", REPORTED),
    field("status.maximumPrefixes", REPORTED),
    field("status.neighborASNumber", REPORTED),
    field("status.neighborIPs", REPORTED),
    field("status.workloadASNumber", REPORTED),
    field("status.conditions.**", REPORTED),
];

pub(crate) const POD_NETWORK: &[FieldEffect] = &[
    field("spec", PARTS),
    field("spec.networkRef", NETWORK_REF),
    field("spec.destinations", PICKS),
    field("spec.destinations.**", PICKS),
    field("spec.nodeSelector", NODES),
    field("spec.nodeSelector.**", NODES),
    field("spec.routes", ROUTES),
    field("spec.routes[].prefixes", ROUTES),
    field("spec.communities", COMMUNITIES),
    field("status", REPORTED),
    field("status.conditions", REPORTED),
    field("status.conditions.**", REPORTED),
];

pub(crate) const COLLECTOR: &[FieldEffect] = &[
    field("spec", PARTS),
    field(
        "spec.address",
        &[
            Admission("a station of the family of a loopback; no other tunnel has address, key and VRF in common"),
            Planned("fabric front end: far end of the tunnel"),
        ],
    ),
    field("spec.protocol", &[Planned("fabric front end: type of the tunnel")]),
    field(
        "spec.key",
        &[Admission("tells tunnels with the same ends apart"), Planned("fabric front end: key of the tunnel")],
    ),
    field("spec.mirrorVRF", PARTS),
    field(
        "spec.mirrorVRF.name",
        &[
            Admission("exists when the reference is made, and has loopbacks"),
            Planned("fabric front end: VRF of the tunnel"),
        ],
    ),
    field("status", REPORTED),
    field("status.activeNodes", REPORTED),
    field("status.conditions", REPORTED),
    field("status.greInterface", REPORTED),
    field("status.referenceCount", REPORTED),
    field("status.conditions.**", REPORTED),
];

pub(crate) const TRAFFIC_MIRROR: &[FieldEffect] = &[
    field("spec", PARTS),
    field("spec.source", PARTS),
    field(
        "spec.source.kind",
        &[Admission("decides where source.name is looked up"), Planned("fabric front end: where traffic is copied")],
    ),
    field(
        "spec.source.name",
        &[
            Admission("exists when the reference is made; its traffic is not copied manually"),
            Planned("fabric front end: where traffic is copied"),
        ],
    ),
    field(
        "spec.collector",
        &[Admission("exists when the reference is made"), Planned("fabric front end: where copies go")],
    ),
    field("spec.direction", &[Planned("fabric front end: direction of the MirrorSelector; both makes two")]),
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
    field("status", REPORTED),
    field("status.activeNodes", REPORTED),
    field("status.conditions", REPORTED),
    field("status.conditions.**", REPORTED),
];
