//! Objects that front ends write themselves, because of what people wrote: generated, and pruned when they are generated
//! no more.
//!
//! They are real objects that anybody can look at. Each carries a label with the name of its front end and is owned by
//! the object because of which it is there, so it goes with that whoever is left to see to it. What somebody else
//! made under the same name is left alone. A revision is made of what there is: where something that revisions hold
//! must first be written, the revision waits for it.

use std::collections::BTreeSet;

use netloom_api::rollout::annotation;
use netloom_compile::{Compiled, Generated};
use netloom_object::{Action, ObjectRef};
use serde_json::{Value, json};

use crate::{
    front_end::FrontEndStatus,
    index::{Index, Mark},
    status::hash,
    work::Work,
};

/// The label that names the front end which generated an object.
pub const GENERATED_BY: &str = "netloom.dev/generated-by";

/// Asks for what is generated and differs, and for the removal of what is generated no more. Says what of it revisions
/// hold: they are not made before that is written.
pub(crate) fn generate(
    index: &Index,
    front_end: &dyn FrontEndStatus,
    compiled: &Compiled,
    work: &mut Work,
) -> Vec<ObjectRef> {
    let mut awaited = Vec::new();
    let wanted = || compiled.generated.iter().filter(|(by, _)| *by == front_end.name()).flat_map(|(_, all)| all);
    for row in front_end.kinds().iter().filter(|row| row.generated) {
        let of_kind = || wanted().filter(|object| object.target.kind == row.kind);
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
    let Generated { target, owner, labels, owner_uid, spec } = wanted;
    let digest = format!("{:016x}", hash(&[&json!([spec, labels]).to_string()]));
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
    for (key, value) in labels {
        metadata["labels"][key] = json!(value);
    }
    if let Some(key) = owner_uid {
        metadata["labels"][*key] = json!(uid);
    }
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
    use std::{collections::BTreeMap, sync::Arc};

    use jiff::Timestamp;
    use netloom_api::GroupKind;
    use netloom_compile::{
        Compiler, FrontEnd, Frozen, Looks, ObjectKey, Outcome, Readable, Reader, Report, Selected, Selects, ServedKind,
        Snapshot, Wants, Weighed,
    };
    use netloom_object::Change;

    use super::*;
    use crate::{
        controller::{Controller, Leadership, Settings},
        plain::Plain,
    };

    const INTENT: GroupKind<'static> = Intent::KIND;
    const PIECE: GroupKind<'static> = Piece::KIND;

    /// What somebody wants a piece for.
    #[derive(Debug, PartialEq)]
    struct Intent(Value);

    #[derive(Debug, PartialEq)]
    struct Piece(Value);

    macro_rules! kept {
        ($($kind:ident),*) => {$(
            impl Readable for $kind {
                const KIND: GroupKind<'static> = GroupKind::new("g.io", stringify!($kind));
                const VERSION: &'static str = "v1";

                fn read(object: &Value) -> Result<Self, String> {
                    Ok(Self(object["spec"].clone()))
                }

                fn same(&self, other: &Self) -> bool {
                    self == other
                }
            }
        )*};
    }
    kept!(Intent, Piece);

    /// Makes a piece of every intent that asks for one.
    #[derive(Debug)]
    struct Pieces;

    impl FrontEnd for Pieces {
        fn name(&self) -> &'static str {
            "pieces"
        }

        fn kinds(&self) -> &'static [ServedKind] {
            const { &[ServedKind::read::<Intent>(), ServedKind::generated::<Piece>()] }
        }

        fn reader(&self) -> Box<dyn Reader> {
            Box::new(Pieces)
        }
    }

    impl Reader for Pieces {
        fn live(&mut self, snapshot: &Snapshot) -> Arc<dyn Wants> {
            let piece = |(key, intent): (&ObjectKey, &Arc<Intent>)| {
                let owner = ObjectRef { kind: INTENT, key: key.clone() };
                let piece = || Generated {
                    target: ObjectRef { kind: PIECE, key: key.clone() },
                    owner,
                    labels: BTreeMap::new(),
                    owner_uid: None,
                    spec: intent.0.clone(),
                };
                (intent.0["size"] != 0).then(piece)
            };
            Arc::new(Wanted(snapshot.iter::<Intent>().filter_map(piece).collect()))
        }

        fn frozen(&mut self, _: &Frozen<'_>) -> Arc<dyn Wants> {
            Arc::new(Wanted(Vec::new()))
        }

        fn read(&self) -> usize {
            0
        }
    }

    #[derive(Debug)]
    struct Wanted(Vec<Generated>);

    impl Wants for Wanted {
        fn looks(&self) -> Looks<'_> {
            Looks::default()
        }

        fn freeze(&self) -> Vec<Weighed> {
            Vec::new()
        }

        fn choose(&self, _: &mut Selects<'_>) -> Vec<Arc<dyn Selected>> {
            Vec::new()
        }

        fn generate(&self) -> Vec<Generated> {
            self.0.clone()
        }

        fn reports(&self, _: &Outcome<'_>) -> Vec<(ObjectRef, Arc<dyn Report>)> {
            Vec::new()
        }
    }

    /// A controller beside a server that takes everything.
    struct Rig {
        index: Index,
        controller: Controller,
        version: u64,
    }

    impl Rig {
        fn new() -> Self {
            let mut index = Index::of(&[&Pieces]);
            for kind in index.kinds().all().to_vec() {
                index.take(Timestamp::UNIX_EPOCH, Change::Listed { kind, objects: Vec::new() });
            }
            Self { index, controller: Controller::of(Settings::default(), &[&Pieces]), version: 0 }
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
        let awaited = |rig: &Rig| {
            let compiled = Compiler::new(&[&Pieces]).compile(rig.index.snapshot());
            generate(&rig.index, &Plain(&Pieces), &compiled, &mut Work::default())
        };
        assert_eq!(awaited(&rig), [piece()]);
        rig.turn();
        assert!(awaited(&rig).is_empty());
    }
}
