//! Intents: what people want of networks, worked out to low-level objects.
//!
//! ```text
//! VRF, Network, Destination --Catalogue--> usable ones, with what the operator configuration adds
//! Layer2Attachment x Catalogue --plan--> low-level objects, and what those cannot say (Extra)
//! ```
//!
//! An intent that cannot be used keeps the low-level objects that it has.

mod attachment;
mod catalogue;
mod extra;
mod low_level;
mod node_ips;
mod scope;

pub(super) use extra::{Combined, Existing, Extra};

use std::{collections::BTreeMap, sync::Arc};

use netloom_api::fabric::{
    GROUP, OWNER_KIND, OWNER_NAME, OWNER_UID, bgp_peering::BgpPeeringSpec, layer2_attachment::Layer2AttachmentSpec,
    layer2_network_configuration::Layer2NetworkConfigurationSpec, operator::OperatorConfig,
    vrf_route_configuration::VrfRouteConfigurationSpec,
};
use netloom_object::{ObjectKey, ObjectRef};
use serde_json::{Value, json};

use super::{
    in_force::Broken,
    objects::{Object, Spec},
    piece::{Given, Piece},
    report::FabricReport,
};
use crate::{
    front_end::Generated,
    frozen::Frozen,
    snapshot::{Readable as _, Snapshot, plain},
};
use attachment::Plan;
use catalogue::Catalogue;

/// An attachment.
pub(super) type Attachment = Object<Layer2AttachmentSpec>;

/// What came of all intents.
#[derive(Debug, Clone, Default)]
pub(super) struct Intents {
    /// Low-level objects, in the order of kind and name.
    pub(super) generated: Vec<Generated>,
    /// What low-level objects cannot say.
    pub(super) extras: Vec<Arc<Piece<Extra>>>,
    /// What there is to say about each intent before nodes are asked.
    pub(super) reports: BTreeMap<ObjectRef, FabricReport>,
}

impl Intents {
    /// Those of a snapshot.
    pub(super) fn live(snapshot: &Snapshot, config: &OperatorConfig, before: Option<&Frozen<'_>>) -> Self {
        let catalogue = Catalogue::of(snapshot, config, before);
        let mut intents = Self::default();
        let mut uses = BTreeMap::new();
        let mut attachments: Vec<&Arc<Attachment>> =
            snapshot.iter::<Attachment>().map(|(_, one)| one).filter(|one| !one.meta.deleted).collect();
        attachments.sort_by(|a, b| a.meta.precedence().cmp(&b.meta.precedence()));
        for attachment in attachments {
            let planned = Plan::of(attachment, &catalogue, snapshot, before, &mut uses);
            intents.add(attachment, planned, snapshot, before);
        }
        catalogue.report(&uses, &mut intents.reports);
        intents.generated.sort_by(|a, b| a.target.cmp(&b.target));
        intents
    }

    fn add(
        &mut self,
        attachment: &Attachment,
        planned: Result<Plan, crate::Finding>,
        snapshot: &Snapshot,
        before: Option<&Frozen<'_>>,
    ) {
        let object = attachment.reference();
        let mut report = FabricReport { asker: Some(object.clone()), status: json!({}), ..FabricReport::default() };
        match planned {
            Ok(plan) => {
                report.status = plan.status();
                report.note = plan.note;
                report.awaits =
                    plan.generated.iter().find(|(target, spec)| !is_there(target, spec, snapshot)).map(first);
                self.generated
                    .extend(plan.generated.into_iter().map(|(target, spec)| of_owner(attachment, target, spec)));
                if let Some(extra) = plan.extra {
                    self.extras.push(Arc::new(Piece::of_intent(&attachment.meta, extra, Given::new())));
                }
            }
            Err(finding) => {
                let kept = kept(attachment, snapshot);
                let thawed = before.and_then(|before| before.get(Attachment::KIND, &attachment.meta.key));
                let extra = thawed.and_then(|frozen| Piece::thawed(frozen).ok());
                report.broken = Some(Broken { findings: vec![finding], stays: !kept.is_empty() || extra.is_some() });
                self.generated.extend(kept);
                self.extras.extend(extra.map(Arc::new));
            }
        }
        self.reports.insert(object, report);
    }
}

fn first((target, _): &(ObjectRef, Value)) -> ObjectRef {
    target.clone()
}

/// Whether a low-level object says what it shall, whoever wrote it.
fn is_there(target: &ObjectRef, spec: &Value, snapshot: &Snapshot) -> bool {
    says::<Layer2NetworkConfigurationSpec>(target, spec, snapshot)
        || says::<VrfRouteConfigurationSpec>(target, spec, snapshot)
        || says::<BgpPeeringSpec>(target, spec, snapshot)
}

fn says<S: Spec>(target: &ObjectRef, spec: &Value, snapshot: &Snapshot) -> bool {
    let found = (target.kind == Object::<S>::KIND).then(|| snapshot.get::<Object<S>>(&target.key)).flatten();
    // A server adds what is usual; reading it in its type does too.
    found.is_some_and(|found| plain::<S>(spec).is_ok_and(|wanted| wanted == found.spec))
}

/// A low-level object of an attachment.
fn of_owner(attachment: &Attachment, target: ObjectRef, spec: Value) -> Generated {
    let labels = [(OWNER_KIND, Attachment::KIND.kind), (OWNER_NAME, attachment.meta.key.name.as_str())];
    Generated {
        target,
        owner: attachment.reference(),
        labels: labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        owner_uid: Some(OWNER_UID),
        spec,
    }
}

/// The low-level objects that there are because of an attachment, as they are.
fn kept(attachment: &Attachment, snapshot: &Snapshot) -> Vec<Generated> {
    let owner = attachment.reference();
    let mut all = of_kind::<Layer2NetworkConfigurationSpec>(&owner, snapshot);
    all.extend(of_kind::<VrfRouteConfigurationSpec>(&owner, snapshot));
    all.extend(of_kind::<BgpPeeringSpec>(&owner, snapshot));
    all.into_iter().map(|(target, spec)| of_owner(attachment, target, spec)).collect()
}

fn of_kind<S: Spec>(owner: &ObjectRef, snapshot: &Snapshot) -> Vec<(ObjectRef, Value)> {
    let ours = snapshot.iter::<Object<S>>().filter(|(_, one)| one.owner().as_ref() == Some(owner));
    ours.map(|(_, one)| (one.reference(), json!(one.spec))).collect()
}

/// The name of an object that is generated: it says of what, and is short enough.
fn name_of(parts: &[&str]) -> String {
    /// The longest name of an object.
    const MOST: usize = 253;
    let name = parts.join("-");
    if name.len() <= MOST {
        return name;
    }
    let digest = crate::digest::of_text(&name);
    let end = (0..MOST - 9).rev().find(|end| name.is_char_boundary(*end)).unwrap_or_default();
    format!("{}-{}", &name[..end], &digest[..8])
}

/// An object of a low-level kind.
fn target<S: Spec>(name: String) -> ObjectRef {
    debug_assert_eq!(Object::<S>::KIND.group, GROUP);
    Object::<S>::object(&ObjectKey::global(name))
}
