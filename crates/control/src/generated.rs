//! Objects that front ends write themselves, because of what people wrote: generated, and pruned when they are generated
//! no more.
//!
//! They are real objects that anybody can look at. Each carries a label with the name of its front end and is owned by
//! the object because of which it is there, so it goes with that whoever is left to see to it. What somebody else
//! made under the same name is left alone. A revision is made of what there is: where something that revisions hold
//! must first be written, the revision waits for it.

use std::collections::BTreeSet;

use netloom_api::rollout::annotation;
use netloom_object::{Action, ObjectRef};
use serde_json::{Value, json};

use crate::{
    front_end::FrontEnd,
    index::{Index, Mark},
    status::hash,
    work::Work,
};

/// The label that names the front end which generated an object.
pub(crate) const GENERATED_BY: &str = "netloom.dev/generated-by";

/// An object that shall be there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Generated {
    pub(crate) target: ObjectRef,
    /// The object because of which it is there; in the same namespace, or of a kind without namespaces.
    pub(crate) owner: ObjectRef,
    pub(crate) spec: Value,
}

/// Asks for what is generated and differs, and for the removal of what is generated no more. Says what of it revisions
/// hold: they are not made before that is written.
pub(crate) fn generate(
    index: &Index,
    front_end: &dyn FrontEnd,
    wanted: &[Generated],
    work: &mut Work,
) -> Vec<ObjectRef> {
    let mut awaited = Vec::new();
    let kinds = front_end.kinds().iter().filter(|row| row.generated);
    for row in kinds {
        let of_kind = || wanted.iter().filter(|object| object.target.kind == row.kind);
        for object in of_kind() {
            if let Some(action) = written(index, front_end.name(), &row.api_version(), object) {
                work.single(object.target.clone(), action);
                awaited.extend(row.frozen.then(|| object.target.clone()));
            }
        }
        let stays: BTreeSet<_> = of_kind().map(|object| &object.target.key).collect();
        let ours = index.marks(row.kind).filter(|(_, mark)| mark.generated_by.as_deref() == Some(front_end.name()));
        for (key, _) in ours.filter(|(key, mark)| !stays.contains(key) && !mark.deleted) {
            work.delete(index, row.kind, key);
            awaited.extend(row.frozen.then(|| ObjectRef { kind: row.kind, key: key.clone() }));
        }
    }
    awaited
}

/// The request that makes an object what it shall be; none when it is that, or is not ours to write.
fn written(index: &Index, front_end: &str, api_version: &str, wanted: &Generated) -> Option<Action> {
    let Generated { target, owner, spec } = wanted;
    let digest = format!("{:016x}", hash(&[&spec.to_string()]));
    let known = index.mark(target.kind, &target.key);
    if let Some(known) = known
        && (known.generated_by.as_deref() != Some(front_end) || known.deleted || is(known, spec, &digest))
    {
        return None;
    }
    // What nobody asks for any more is not made.
    let uid = &index.mark(owner.kind, &owner.key)?.uid;
    let row = index.kinds().rows(owner.kind).next()?;
    let reference = json!({
        "apiVersion": row.api_version(), "kind": owner.kind.kind, "name": owner.key.name, "uid": uid, "controller": true,
    });
    let mut metadata = json!({
        "name": target.key.name,
        "labels": {GENERATED_BY: front_end},
        "annotations": {annotation::DIGEST: digest},
        "ownerReferences": [reference],
    });
    if !target.key.namespace.is_empty() {
        metadata["namespace"] = json!(target.key.namespace);
    }
    if let Some(known) = known {
        metadata["resourceVersion"] = json!(known.resource_version);
    }
    let object = json!({"apiVersion": api_version, "kind": target.kind.kind, "metadata": metadata, "spec": spec});
    Some(Action::Apply { object, late: None })
}

/// Whether an object is what it shall be. The digest tells of what was left out since; a server adds defaults, and
/// people may have changed anything.
fn is(known: &Mark, spec: &Value, digest: &str) -> bool {
    let same = known.notes.get(annotation::DIGEST).is_some_and(|known| known == digest);
    same && known.spec.as_ref().is_some_and(|known| has(known, spec))
}

/// Whether a value has everything that another one says.
fn has(known: &Value, wanted: &Value) -> bool {
    match (known, wanted) {
        (Value::Object(known), Value::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| known.get(key).is_some_and(|known| has(known, wanted)))
        }
        (Value::Array(known), Value::Array(wanted)) => {
            known.len() == wanted.len() && known.iter().zip(wanted).all(|(known, wanted)| has(known, wanted))
        }
        (known, wanted) => known == wanted,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;
    use netloom_api::GroupKind;
    use netloom_compile::ObjectKey;
    use netloom_object::Change;

    use super::*;
    use crate::{
        controller::{Controller, Leadership, Settings},
        front_end::{Assigned, FrontEnds, Scene},
        kinds::Row,
    };

    const INTENT: GroupKind<'static> = GroupKind::new("g.io", "Intent");
    const PIECE: GroupKind<'static> = GroupKind::new("g.io", "Piece");

    const ROWS: &[Row] = &[
        Row { spec: true, ..Row::followed(INTENT, "v1") },
        Row { generated: true, frozen: true, ..Row::followed(PIECE, "v1") },
    ];

    /// Makes a piece of every intent that asks for one.
    #[derive(Debug)]
    struct Pieces;

    impl FrontEnd for Pieces {
        fn name(&self) -> &'static str {
            "pieces"
        }

        fn kinds(&self) -> &'static [Row] {
            ROWS
        }

        fn generate(&self, Scene { index, .. }: Scene<'_>) -> Vec<Generated> {
            let piece = |(key, mark): (&ObjectKey, &Mark)| {
                let spec = mark.spec.clone().filter(|spec| spec["size"] != 0)?;
                let owner = ObjectRef { kind: INTENT, key: key.clone() };
                Some(Generated { target: ObjectRef { kind: PIECE, key: key.clone() }, owner, spec })
            };
            index.marks(INTENT).filter_map(piece).collect()
        }

        fn prepare(&self, _: Scene<'_>, _: &mut Work) {}

        fn report(&self, _: Scene<'_>, _: Assigned<'_>, _: &mut Work) {}
    }

    /// A controller beside a server that takes everything.
    struct Rig {
        index: Index,
        controller: Controller,
        version: u64,
    }

    impl Rig {
        fn new() -> Self {
            let front_ends = FrontEnds::of([Arc::new(Pieces) as Arc<dyn FrontEnd>]);
            let mut index = Index::of(&front_ends);
            for kind in index.kinds().all().to_vec() {
                index.take(Timestamp::UNIX_EPOCH, Change::Listed { kind, objects: Vec::new() });
            }
            Self { index, controller: Controller::with(Settings::default(), front_ends), version: 0 }
        }

        fn put(&mut self, mut object: Value) {
            self.version += 1;
            let version = self.version.to_string();
            object["metadata"]["resourceVersion"] = json!(version);
            if object["metadata"].get("uid").is_none() {
                object["metadata"]["uid"] = json!(format!("u{version}"));
            }
            self.index.take(Timestamp::UNIX_EPOCH, Change::Put(Arc::new(object)));
        }

        fn intent(&mut self, size: u64) {
            let metadata = json!({"name": "a", "uid": "intent"});
            self.put(json!({"apiVersion": "g.io/v1", "kind": "Intent", "metadata": metadata, "spec": {"size": size}}));
        }

        /// What is asked for now, and done at once.
        fn turn(&mut self) -> Vec<(ObjectRef, Action)> {
            let until = Timestamp::MAX;
            let turn =
                self.controller.decide(Timestamp::from_second(9).unwrap(), &self.index, Leadership::Leading { until });
            let requests: Vec<_> = turn.chains.into_iter().flat_map(|chain| chain.0).collect();
            for request in &requests {
                if let Action::Apply { object, late: None } = &request.action {
                    let mut stored = object.clone();
                    stored["spec"]["defaulted"] = json!(true);
                    self.put(stored);
                }
                self.controller.answered(Timestamp::UNIX_EPOCH, request.id, &netloom_object::Answer::Done);
            }
            requests.into_iter().map(|request| (request.target, request.action)).collect()
        }
    }

    fn piece() -> ObjectRef {
        ObjectRef { kind: PIECE, key: ObjectKey::global("a") }
    }

    #[test]
    fn what_is_generated_is_owned_and_labelled_and_follows_its_owner() {
        let mut rig = Rig::new();
        rig.intent(1);
        let asked = rig.turn();
        let [(target, Action::Apply { object, late: None })] = asked.as_slice() else { panic!("{asked:?}") };
        assert_eq!((target, &object["spec"]), (&piece(), &json!({"size": 1})));
        assert_eq!(object["metadata"]["labels"], json!({GENERATED_BY: "pieces"}));
        let owner =
            json!([{"apiVersion": "g.io/v1", "kind": "Intent", "name": "a", "uid": "intent", "controller": true}]);
        assert_eq!(object["metadata"]["ownerReferences"], owner);
        assert!(rig.turn().is_empty(), "what a server has added is no difference");
        rig.intent(2);
        let asked = rig.turn();
        assert!(
            matches!(asked.as_slice(), [(_, Action::Apply { object, late: None })] if object["spec"]["size"] == 2),
            "{asked:?}"
        );
        rig.intent(0);
        let asked = rig.turn();
        assert!(matches!(asked.as_slice(), [(target, Action::Delete { .. })] if *target == piece()), "{asked:?}");
    }

    #[test]
    fn what_somebody_else_made_is_left_alone() {
        let mut rig = Rig::new();
        rig.put(json!({"apiVersion": "g.io/v1", "kind": "Piece", "metadata": {"name": "a"}, "spec": {"size": 7}}));
        rig.intent(1);
        assert!(rig.turn().is_empty());
        rig.intent(0);
        assert!(rig.turn().is_empty());
    }

    #[test]
    fn a_revision_waits_for_what_it_shall_hold() {
        let mut rig = Rig::new();
        rig.intent(1);
        let (front_end, index) = (Pieces, &rig.index);
        let wanted = [Generated {
            target: piece(),
            owner: ObjectRef { kind: INTENT, key: ObjectKey::global("a") },
            spec: json!({"size": 1}),
        }];
        assert_eq!(generate(index, &front_end, &wanted, &mut Work::default()), [piece()]);
        rig.turn();
        assert!(generate(&rig.index, &front_end, &wanted, &mut Work::default()).is_empty());
    }
}
