//! What comes of a snapshot once everything that it generates is there, as the controller brings it about turn by turn.

use std::collections::{BTreeMap, BTreeSet};

use netloom_object::ObjectRef;
use serde_json::{Value, json};

use crate::{
    compiler::{Compiled, Compiler},
    front_end::{BUILT_IN, Generated},
    snapshot::{Put, Snapshot},
};

/// Objects are generated of what people wrote, and hardly of what was generated: after so many turns nothing is new.
const TURNS: usize = 8;

/// Compiles, puts what is generated into the snapshot, and does so again until nothing is new. `made` has what was put
/// there before; it leaves with whatever it was generated from.
pub fn settle(compiler: &mut Compiler, snapshot: &mut Snapshot, made: &mut BTreeSet<ObjectRef>) -> Compiled {
    let mut result = compiler.compile(snapshot);
    for _ in 0..TURNS {
        let wanted: BTreeMap<&ObjectRef, &Generated> = all(&result).map(|one| (&one.target, one)).collect();
        let gone: Vec<ObjectRef> = made.iter().filter(|one| !wanted.contains_key(one)).cloned().collect();
        let mut changed = !gone.is_empty();
        for one in gone {
            snapshot.remove(one.kind, &one.key);
            made.remove(&one);
        }
        for (target, one) in wanted {
            changed |= snapshot.put(&one.object()) != Put::Same;
            made.insert(target.clone());
        }
        if !changed {
            break;
        }
        result = compiler.compile(snapshot);
    }
    result
}

/// Everything that is generated.
pub(crate) fn all(compiled: &Compiled) -> impl Iterator<Item = &Generated> {
    compiled.generated.iter().flat_map(|(_, all)| all)
}

impl Generated {
    /// The object, but for what ties it to its owner.
    pub(crate) fn object(&self) -> Value {
        let kind = self.target.kind;
        let served = BUILT_IN.iter().flat_map(|front_end| front_end.kinds()).find(|served| served.kind == kind);
        let version = served.map_or("v1", |served| served.version);
        let mut metadata = json!({"name": self.target.key.name, "labels": self.labels});
        if !self.target.key.namespace.is_empty() {
            metadata["namespace"] = json!(self.target.key.namespace);
        }
        json!({
            "apiVersion": format!("{}/{version}", kind.group), "kind": kind.kind, "metadata": metadata, "spec": self.spec,
        })
    }
}
