//! Where each field of machines takes effect.

use crate::effects::{Effect, FieldEffect, field};

const SPEC: &[Effect] = &[Effect::FrontEnd("machines: what the domain of an instance is")];
const MEMORY: &[Effect] = &[
    Effect::Admission("must be an amount"),
    Effect::FrontEnd("machines: memory of the domain, in the place of that of its base"),
];
const CORES: &[Effect] = &[Effect::FrontEnd("machines: processors of the domain, in the place of those of its base")];
const NICS: &[Effect] = &[Effect::FrontEnd("machines: NICs of the domain; more of them are plugged in while it runs")];
const NAME: &[Effect] = &[
    Effect::Admission("the name of one network; not twice"),
    Effect::FrontEnd("machines: alias of the NIC; name of its tap and address where none is given follow from it"),
];
const DEVICE: &[Effect] = &[Effect::FrontEnd("machines: the device that the guest sees")];
const TAP: &[Effect] =
    &[Effect::Admission("at most one binding"), Effect::FrontEnd("machines: the NIC is a tap on the node")];
const SRIOV: &[Effect] = &[
    Effect::Admission("at most one binding; no link can be set"),
    Effect::FrontEnd("machines: the domain has no such NIC, and none is reported"),
];
const PASST: &[Effect] =
    &[Effect::Admission("at most one binding"), Effect::FrontEnd("machines: the NIC is connected by passt")];
const PLUGIN: &[Effect] = &[
    Effect::Admission("at most one binding"),
    Effect::FrontEnd("machines: a tap where the agent knows the plugin, else the plugin's own affair"),
];
const FORMER: &[Effect] = &[
    Effect::Admission("at most one binding"),
    Effect::FrontEnd("machines: the domain has no such NIC, and none is reported"),
];
const MAC: &[Effect] = &[
    Effect::Admission("the address of one station"),
    Effect::FrontEnd("machines: hardware address of the NIC; one that follows from names when absent"),
];
const PLACE: &[Effect] =
    &[Effect::Admission("must be in its range"), Effect::FrontEnd("machines: where and when the guest finds the NIC")];
const STATE: &[Effect] = &[
    Effect::Admission("up, down or absent, and not for every binding and network"),
    Effect::FrontEnd("machines: link of the NIC, at the start and while the domain runs; absent unplugs it"),
];
const QUEUES: &[Effect] = &[Effect::FrontEnd("machines: a pair of queues for each processor")];
const NETWORKS: &[Effect] = &[
    Effect::Admission("each has one interface; the first network keeps its interface"),
    Effect::FrontEnd("machines: a NIC is plugged in together with its network"),
];
const ATTACHMENT: &[Effect] = &[
    Effect::Admission("an attachment that machines use stays"),
    Effect::FrontEnd("machines: another one takes effect at the next start"),
];
const SELECTOR: &[Effect] = &[Effect::FrontEnd("machines: labels of the node that takes the instance")];
const PROBE: &[Effect] = &[Effect::Admission("a warning where it goes over an interface that is down")];
const STRATEGY: &[Effect] =
    &[Effect::Admission("Always or Halted, or running"), Effect::FrontEnd("machines: whether there is an instance")];
const TEMPLATE: &[Effect] = &[Effect::FrontEnd("machines: labels and annotations of the instance")];
const BY_CONTROLLER: &[Effect] = &[Effect::Status("controller")];
const NODE: &[Effect] = &[
    Effect::Status("controller: the node that it chose"),
    Effect::Admission("the agent of this node alone may report, besides administrators"),
];
const BY_AGENT: &[Effect] = &[Effect::Status("agent: what the domain has")];
const BY_BOTH: &[Effect] = &[Effect::Status("controller and agent")];
const MOVED: &[Effect] = &[Effect::FrontEnd("machines: which instance is moved to another node")];

pub(super) const MACHINE: &[FieldEffect] = &[
    field("spec", SPEC),
    field("spec.runStrategy", STRATEGY),
    field("spec.running", STRATEGY),
    field("spec.template", SPEC),
    field("spec.template.metadata", TEMPLATE),
    field("spec.template.spec", SPEC),
    field("spec.template.spec.domain", SPEC),
    field("spec.template.spec.domain.memory", MEMORY),
    field("spec.template.spec.domain.memory.guest", MEMORY),
    field("spec.template.spec.domain.cpu", CORES),
    field("spec.template.spec.domain.cpu.cores", CORES),
    field("spec.template.spec.domain.devices", SPEC),
    field("spec.template.spec.domain.devices.interfaces", NICS),
    field("spec.template.spec.domain.devices.interfaces[].name", NAME),
    field("spec.template.spec.domain.devices.interfaces[].model", DEVICE),
    field("spec.template.spec.domain.devices.interfaces[].bridge", TAP),
    field("spec.template.spec.domain.devices.interfaces[].masquerade", TAP),
    field("spec.template.spec.domain.devices.interfaces[].sriov", SRIOV),
    field("spec.template.spec.domain.devices.interfaces[].passtBinding", PASST),
    field("spec.template.spec.domain.devices.interfaces[].binding", PLUGIN),
    field("spec.template.spec.domain.devices.interfaces[].binding.name", PLUGIN),
    field("spec.template.spec.domain.devices.interfaces[].passt", FORMER),
    field("spec.template.spec.domain.devices.interfaces[].macvtap", FORMER),
    field("spec.template.spec.domain.devices.interfaces[].slirp", FORMER),
    field("spec.template.spec.domain.devices.interfaces[].macAddress", MAC),
    field("spec.template.spec.domain.devices.interfaces[].bootOrder", PLACE),
    field("spec.template.spec.domain.devices.interfaces[].pciAddress", PLACE),
    field("spec.template.spec.domain.devices.interfaces[].acpiIndex", PLACE),
    field("spec.template.spec.domain.devices.interfaces[].state", STATE),
    field("spec.template.spec.domain.devices.networkInterfaceMultiqueue", QUEUES),
    field("spec.template.spec.networks", NETWORKS),
    field("spec.template.spec.networks[].name", NETWORKS),
    field("spec.template.spec.networks[].pod", NETWORKS),
    field("spec.template.spec.networks[].multus", NETWORKS),
    field("spec.template.spec.networks[].multus.networkName", ATTACHMENT),
    field("spec.template.spec.networks[].multus.default", NETWORKS),
    field("spec.template.spec.nodeSelector", SELECTOR),
    field("spec.template.spec.readinessProbe", PROBE),
    field("spec.template.spec.readinessProbe.httpGet", PROBE),
    field("spec.template.spec.readinessProbe.tcpSocket", PROBE),
    field("spec.template.spec.livenessProbe", PROBE),
    field("spec.template.spec.livenessProbe.httpGet", PROBE),
    field("spec.template.spec.livenessProbe.tcpSocket", PROBE),
    field("status", BY_CONTROLLER),
    field("status.**", BY_CONTROLLER),
];

pub(super) const INSTANCE: &[FieldEffect] = &[
    field("spec", SPEC),
    field("spec.domain", SPEC),
    field("spec.domain.memory", MEMORY),
    field("spec.domain.memory.guest", MEMORY),
    field("spec.domain.cpu", CORES),
    field("spec.domain.cpu.cores", CORES),
    field("spec.domain.devices", SPEC),
    field("spec.domain.devices.interfaces", NICS),
    field("spec.domain.devices.interfaces[].name", NAME),
    field("spec.domain.devices.interfaces[].model", DEVICE),
    field("spec.domain.devices.interfaces[].bridge", TAP),
    field("spec.domain.devices.interfaces[].masquerade", TAP),
    field("spec.domain.devices.interfaces[].sriov", SRIOV),
    field("spec.domain.devices.interfaces[].passtBinding", PASST),
    field("spec.domain.devices.interfaces[].binding", PLUGIN),
    field("spec.domain.devices.interfaces[].binding.name", PLUGIN),
    field("spec.domain.devices.interfaces[].passt", FORMER),
    field("spec.domain.devices.interfaces[].macvtap", FORMER),
    field("spec.domain.devices.interfaces[].slirp", FORMER),
    field("spec.domain.devices.interfaces[].macAddress", MAC),
    field("spec.domain.devices.interfaces[].bootOrder", PLACE),
    field("spec.domain.devices.interfaces[].pciAddress", PLACE),
    field("spec.domain.devices.interfaces[].acpiIndex", PLACE),
    field("spec.domain.devices.interfaces[].state", STATE),
    field("spec.domain.devices.networkInterfaceMultiqueue", QUEUES),
    field("spec.networks", NETWORKS),
    field("spec.networks[].name", NETWORKS),
    field("spec.networks[].pod", NETWORKS),
    field("spec.networks[].multus", NETWORKS),
    field("spec.networks[].multus.networkName", ATTACHMENT),
    field("spec.networks[].multus.default", NETWORKS),
    field("spec.nodeSelector", SELECTOR),
    field("spec.readinessProbe", PROBE),
    field("spec.readinessProbe.httpGet", PROBE),
    field("spec.readinessProbe.tcpSocket", PROBE),
    field("spec.livenessProbe", PROBE),
    field("spec.livenessProbe.httpGet", PROBE),
    field("spec.livenessProbe.tcpSocket", PROBE),
    field("status", BY_BOTH),
    field("status.nodeName", NODE),
    field("status.phase", BY_BOTH),
    field("status.interfaces", BY_AGENT),
    field("status.interfaces.**", BY_AGENT),
    field("status.conditions", BY_BOTH),
    field("status.conditions.**", BY_BOTH),
    field("status.migrationState", BY_BOTH),
    field("status.migrationState.**", BY_BOTH),
];

pub(super) const MIGRATION: &[FieldEffect] = &[
    field("spec", MOVED),
    field("spec.vmiName", MOVED),
    field("status", BY_CONTROLLER),
    field("status.**", BY_CONTROLLER),
];
