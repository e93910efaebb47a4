//! What is frozen, and how far it has come.

use crate::effects::{
    Effect::{self, Admission, FrontEnd, Planned, Status},
    FieldEffect, field,
};

const TOLD: &[Effect] = &[Status("controller: how far the revision has come")];
const FROZEN: &[Effect] =
    &[Admission("immutable"), Planned("fabric front end: a copy of the object, compiled for each node")];
const FROZEN_OBJECT: &[Effect] = &[
    Admission("immutable"),
    FrontEnd("the front end of its kind: a copy of the object, compiled for each node that has the revision"),
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
    field("status", TOLD),
    field("status.attempts", TOLD),
    field("status.canaries", TOLD),
    field("status.canaries[].healthySince", TOLD),
    field("status.canaries[].policy", TOLD),
    field("status.conditions", TOLD),
    field("status.conditions.**", TOLD),
    field("status.failedAt", TOLD),
    field("status.failedMessage", TOLD),
    field("status.failedNode", TOLD),
    field("status.failedUnder", TOLD),
    field("status.isInvalid", TOLD),
    field("status.message", TOLD),
    field("status.nextAttemptAt", TOLD),
    field("status.ongoing", TOLD),
    field("status.passedOver", TOLD),
    field("status.passedOver[].node", TOLD),
    field("status.passedOver[].reason", TOLD),
    field("status.phase", TOLD),
    field("status.provenAt", TOLD),
    field("status.queued", TOLD),
    field("status.ready", TOLD),
    field("status.total", TOLD),
];

pub(crate) const REVISION_PART: &[FieldEffect] = &[
    field("spec", &[Admission("immutable")]),
    field("spec.objects", FROZEN_OBJECT),
    field("spec.objects.**", FROZEN_OBJECT),
];
