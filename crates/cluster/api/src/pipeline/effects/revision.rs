//! What is frozen, and how far it has come.

use crate::effects::{
    Effect::{self, Admission, FrontEnd, Planned, Status},
    FieldEffect, field,
};

const STATUS_REPORT: &[Effect] = &[Status("controller: how far the revision has come")];
const FROZEN: &[Effect] =
    &[Admission("immutable"), Planned("fabric front end: a copy of the object, compiled for each node")];
const FROZEN_OBJECT: &[Effect] = &[
    Admission("immutable"),
    FrontEnd("the front end of its kind: a copy of the object, compiled for each node that has the revision"),
];

const EARLIER: &[Effect] = &[
    Admission("immutable"),
    FrontEnd("the front end of its kind: objects in revisions of earlier versions, read in the place of `objects`"),
];

pub(crate) const REVISION: &[FieldEffect] = &[
    field("spec", &[Admission("immutable")]),
    field("spec.layer2", FROZEN),
    field("spec.layer2.**", FROZEN),
    field("spec.vrf", FROZEN),
    field("spec.vrf.**", FROZEN),
    field("spec.bgp", FROZEN),
    field("spec.bgp.**", FROZEN),
    field("spec.mirrorTargets", FROZEN),
    field("spec.mirrorTargets.**", FROZEN),
    field("spec.mirrorSelectors", FROZEN),
    field("spec.mirrorSelectors.**", FROZEN),
    field("spec.nodePolicies", EARLIER),
    field("spec.vlanConfigs", EARLIER),
    field("spec.hostNetworkConfigs", EARLIER),
    field("spec.attachments", EARLIER),
    field("spec.objects", FROZEN_OBJECT),
    field("spec.objects[].group", FROZEN_OBJECT),
    field("spec.objects[].kind", FROZEN_OBJECT),
    field("spec.objects[].namespace", FROZEN_OBJECT),
    field("spec.objects[].name", FROZEN_OBJECT),
    field(
        "spec.objects[].created",
        &[
            Admission("immutable"),
            FrontEnd("all front ends: of two objects that contradict each other the older one wins"),
        ],
    ),
    field("spec.objects[].given", FROZEN_OBJECT),
    field("spec.objects[].spec", FROZEN_OBJECT),
    field(
        "spec.parts",
        &[Admission("immutable; a part that is named stays"), FrontEnd("rollout: the rest of what is frozen")],
    ),
    field(
        "spec.revision",
        &[Admission("starts with the name of the object"), FrontEnd("rollout: what nodes report to have applied")],
    ),
    field("status", STATUS_REPORT),
    field("status.attempts", STATUS_REPORT),
    field("status.canaries", STATUS_REPORT),
    field("status.canaries[].healthySince", STATUS_REPORT),
    field("status.canaries[].policy", STATUS_REPORT),
    field("status.conditions", STATUS_REPORT),
    field("status.conditions.**", STATUS_REPORT),
    field("status.failedAt", STATUS_REPORT),
    field("status.failedMessage", STATUS_REPORT),
    field("status.failedNode", STATUS_REPORT),
    field("status.failedUnder", STATUS_REPORT),
    field("status.isInvalid", STATUS_REPORT),
    field("status.message", STATUS_REPORT),
    field("status.nextAttemptAt", STATUS_REPORT),
    field("status.ongoing", STATUS_REPORT),
    field("status.passedOver", STATUS_REPORT),
    field("status.passedOver[].node", STATUS_REPORT),
    field("status.passedOver[].reason", STATUS_REPORT),
    field("status.phase", STATUS_REPORT),
    field("status.provenAt", STATUS_REPORT),
    field("status.queued", STATUS_REPORT),
    field("status.ready", STATUS_REPORT),
    field("status.total", STATUS_REPORT),
];

pub(crate) const REVISION_PART: &[FieldEffect] = &[
    field("spec", &[Admission("immutable")]),
    field("spec.nodePolicies", EARLIER),
    field("spec.vlanConfigs", EARLIER),
    field("spec.hostNetworkConfigs", EARLIER),
    field("spec.attachments", EARLIER),
    field("spec.objects", FROZEN_OBJECT),
    field("spec.objects.**", FROZEN_OBJECT),
];
