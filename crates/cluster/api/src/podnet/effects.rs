//! Where each field of the three kinds of networks takes effect.

use crate::effects::{Effect, FieldEffect, field};

const CONDITION: &[Effect] = &[Effect::Status("controller: whether pods can be attached")];
const PICTURE: &[Effect] = &[
    Effect::Admission("only the controller changes it; a write without it keeps it"),
    Effect::Planned("pod networks: shows which addresses are in use, for programs that read DANM's objects"),
];
const LATER_LINK: &[Effect] = &[
    Effect::Admission("names a link of nodes, so it is short for types whose links nodes make"),
    Effect::Planned("pod networks: names links of nodes and files of plugins"),
];
const TYPE: &[Effect] =
    &[Effect::Admission("ipvlan when absent"), Effect::Planned("pod networks: who makes the interfaces of pods")];
const TENANTS: &[Effect] =
    &[Effect::Admission("only for a ClusterNetwork"), Effect::Planned("pod networks: whose pods are attached")];
const OPTIONS: &[Effect] = &[Effect::Planned("pod networks: where a network is and what its pods get")];
const DEVICE: &[Effect] = &[
    Effect::Admission("either a device of nodes or a pool of devices; fixed while pods are attached"),
    Effect::Planned("pod networks: what carries the interfaces of pods"),
];
const NUMBER: &[Effect] = &[
    Effect::Admission("either a VLAN or a VXLAN; fixed while pods are attached; not given for a TenantNetwork"),
    Effect::Planned("pod networks: links of nodes"),
];
const PREFIX: &[Effect] =
    &[Effect::Admission("must begin the name of a link"), Effect::Planned("pod networks: names of interfaces")];
const SUBNET: &[Effect] =
    &[Effect::Admission("must be a network of its family"), Effect::Planned("pod networks: addresses of pods")];
const POOL: &[Effect] = &[
    Effect::Admission("must be in the network, in ascending order; the whole network when absent"),
    Effect::Planned("pod networks: addresses of pods that ask for no certain one"),
];
const ROUTES: &[Effect] = &[
    Effect::Admission("gateways must be in the network; nobody gets their addresses"),
    Effect::Planned("pod networks: routes of pods"),
];
const TABLE: &[Effect] = &[
    Effect::Admission("none of the kernel's own tables"),
    Effect::Planned("pod networks: the table for routes that a pod asks for"),
];
const MTU: &[Effect] = &[Effect::Planned("pod networks: the MTU of interfaces")];

/// All fields; the content of the three kinds is the same.
const NETWORK: &[FieldEffect] = &[
    field("spec", OPTIONS),
    field("spec.NetworkID", LATER_LINK),
    field("spec.NetworkType", TYPE),
    field("spec.AllowedTenants", TENANTS),
    field("spec.Options", OPTIONS),
    field("spec.Options.host_device", DEVICE),
    field("spec.Options.device_pool", DEVICE),
    field("spec.Options.container_prefix", PREFIX),
    field("spec.Options.cidr", SUBNET),
    field("spec.Options.allocation_pool", POOL),
    field("spec.Options.allocation_pool.start", POOL),
    field("spec.Options.allocation_pool.end", POOL),
    field("spec.Options.allocation_pool.lastIp", PICTURE),
    field("spec.Options.alloc", PICTURE),
    field("spec.Options.routes", ROUTES),
    field("spec.Options.net6", SUBNET),
    field("spec.Options.allocation_pool_v6", POOL),
    field("spec.Options.allocation_pool_v6.cidr", POOL),
    field("spec.Options.allocation_pool_v6.start", POOL),
    field("spec.Options.allocation_pool_v6.end", POOL),
    field("spec.Options.allocation_pool_v6.lastIp", PICTURE),
    field("spec.Options.alloc6", PICTURE),
    field("spec.Options.routes6", ROUTES),
    field("spec.Options.rt_tables", TABLE),
    field("spec.Options.vlan", NUMBER),
    field("spec.Options.vxlan", NUMBER),
    field("spec.Options.mtu", MTU),
    field("status", CONDITION),
    field("status.conditions", CONDITION),
    field("status.conditions.**", CONDITION),
];

pub(super) const DANM_NET: &[FieldEffect] = NETWORK;
pub(super) const TENANT_NETWORK: &[FieldEffect] = NETWORK;
pub(super) const CLUSTER_NETWORK: &[FieldEffect] = NETWORK;
