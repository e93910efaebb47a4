//! Ownership that was recorded under another schema.
//!
//! When a list or object has become one piece since, whoever owned something below it owns the piece. The other way
//! round nothing needs to be done: the owner of the piece keeps it, and fields below are free.

use super::types::{Atom, Fields, Relation, Type};
use crate::fields::{Element, Path, Set};

/// The set as it reads under the schema of today.
pub(crate) fn reconcile(ty: Type<'_>, set: Set) -> Set {
    let mut walk = Walk { path: Vec::new(), pieces: Set::new() };
    walk.node(ty, Some(&set), false);
    if walk.pieces.is_empty() { set } else { set.without_subtrees(&walk.pieces).union(&walk.pieces) }
}

struct Walk {
    path: Path,
    /// Places that are one piece now and had members below.
    pieces: Set,
}

impl Walk {
    /// `whole` says that the place is owned as one piece already.
    fn node(&mut self, ty: Type<'_>, set: Option<&Set>, whole: bool) {
        let Atom { scalar, list, map } = ty.atom();
        if let Some(fields) = map {
            self.map(&fields, set, whole);
        } else if let (None, Some(list)) = (scalar, list) {
            match list.relation {
                Relation::Atomic if !whole => self.pieces.insert(&self.path),
                Relation::Atomic | Relation::Set | Relation::Keyed(_) => {
                    self.each(set, |_| Some(list.item));
                }
            }
        }
    }

    fn map(&mut self, fields: &Fields<'_>, set: Option<&Set>, whole: bool) {
        let free_form = !fields.has_named() && fields.element.is_some_and(Type::is_deduced);
        if free_form {
            return;
        }
        if fields.atomic && !whole {
            if set.is_some_and(|set| !set.is_empty()) {
                self.pieces.insert(&self.path);
            }
            return;
        }
        self.each(set, |element| match element {
            Element::Field(name) => fields.of(name),
            Element::Key(_) | Element::Value(_) | Element::Index(_) => fields.element,
        });
    }

    fn each<'t>(&mut self, set: Option<&Set>, type_of: impl Fn(&Element) -> Option<Type<'t>>) {
        let Some(set) = set else { return };
        let only_parents = set.children().map(|(element, _)| element).filter(|element| !set.has_member(element));
        for element in only_parents.chain(set.members()) {
            let Some(ty) = type_of(element) else { continue };
            let below = set.below(element);
            self.path.push(element.clone());
            self.node(ty, below, set.has_member(element) && below.is_none());
            self.path.pop();
        }
    }
}
