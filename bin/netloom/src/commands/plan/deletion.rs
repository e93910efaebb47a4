//! What there would be without some objects, and what a server would say to their deletion.
//!
//! Nobody is asked to delete anything: this is for plans.

use netloom_api::{
    admission::{self, GroupKind, Objects, Operation, Review, User},
    registry,
};
use serde_json::Value;

use crate::{commands::validate::Verdict, failure::Failure};

/// The objects that are left when those that are named, as `KIND/[NAMESPACE/]NAME`, are gone, one after the other.
pub(super) fn without(objects: &[Value], named: &[String]) -> Result<(Vec<Value>, Verdict), Failure> {
    let mut left = objects.to_vec();
    let mut verdict = Verdict::default();
    for word in named {
        let place = place_of(&left, word)?;
        judge(&left, place, &mut verdict);
        left.remove(place);
    }
    Ok((left, verdict))
}

fn place_of(objects: &[Value], word: &str) -> Result<usize, Failure> {
    let (kind, object) = word.split_once('/').ok_or_else(|| {
        Failure::usage(format_args!("--delete {word}: write KIND/NAME, such as `vlanconfig/uplink-1`"))
    })?;
    let (namespace, name) = match object.split_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, object),
    };
    let of_kind: Vec<usize> = (0..objects.len()).filter(|place| is_called(&objects[*place], kind)).collect();
    let is_it = |object: &Value| {
        let home = text_of(object, "/metadata/namespace");
        let at_home = home.is_empty() || namespace.map_or(home == "default", |namespace| namespace == home);
        at_home && text_of(object, "/metadata/name") == name
    };
    of_kind.iter().copied().find(|place| is_it(&objects[*place])).ok_or_else(|| {
        let names: Vec<String> = of_kind.iter().map(|place| called(&objects[*place])).collect();
        let known = if names.is_empty() {
            format!("there is no object of kind {kind:?} that nodes are told of")
        } else {
            format!("there are {}", names.join(", "))
        };
        Failure::refused(format_args!("--delete {word}: there is no such object; {known}"))
    })
}

/// Name and namespace as they are written after the kind.
fn called(object: &Value) -> String {
    let (namespace, name) = (text_of(object, "/metadata/namespace"), text_of(object, "/metadata/name"));
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

/// Whether a word is a name of the kind of an object: the kind itself, or what its definition calls it.
fn is_called(object: &Value, word: &str) -> bool {
    let kind = text_of(object, "/kind");
    let definition = registry::find(group_of(object), kind).map(netloom_api::Kind::crd);
    let names = definition.as_ref().map(|crd| &crd["spec"]["names"]);
    let short = names.and_then(|names| names["shortNames"].as_array()).into_iter().flatten();
    let long = names.into_iter().flat_map(|names| [&names["plural"], &names["singular"]]);
    let mut known = short.chain(long).filter_map(Value::as_str);
    kind.eq_ignore_ascii_case(word) || known.any(|name| name.eq_ignore_ascii_case(word))
}

fn text_of<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn group_of(object: &Value) -> &str {
    text_of(object, "/apiVersion").split_once('/').map_or("", |(group, _)| group)
}

/// What the rules of its kind say to the deletion of an object.
fn judge(objects: &[Value], place: usize, verdict: &mut Verdict) {
    let object = &objects[place];
    let (kind, name) = (text_of(object, "/kind"), text_of(object, "/metadata/name"));
    if registry::find(group_of(object), kind).is_none() {
        return;
    }
    let mut view = Objects::default();
    for object in objects {
        view.put(object.clone());
    }
    let said = admission::review(&Review {
        operation: Operation::Delete,
        kind: GroupKind::new(group_of(object), kind),
        namespace: Some(text_of(object, "/metadata/namespace")).filter(|namespace| !namespace.is_empty()),
        name,
        subresource: None,
        object: None,
        old: Some(object),
        user: &User::new("netloom-plan", &["system:masters"]),
        dry_run: true,
        view: &view,
    });
    let line = |why: String| format!("{kind} {name:?}: {why}");
    verdict.refusals.extend(said.errors.iter().map(|error| line(error.to_string())));
    verdict.refusals.extend(said.forbidden.iter().cloned().map(line));
    verdict.warnings.extend(said.warnings.iter().cloned().map(line));
}
