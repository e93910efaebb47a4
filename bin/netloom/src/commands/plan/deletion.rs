//! What there would be without some objects, and what a server would say to their deletion.
//!
//! Nobody is asked to delete anything: this is for plans.

use netloom_admission::{Objects, Operation, Review, User};
use netloom_api::{GroupKind, registry};
use netloom_compile::BUILT_IN;
use serde_json::Value;

use crate::{cluster::Served, commands::validate::Verdict, failure::Failure};

/// The objects that are left when those that are named, as `KIND/[NAMESPACE/]NAME`, are gone, one after the other. Those
/// that name no namespace are in `home`.
pub(super) fn without(objects: &[Value], home: &str, named: &[String]) -> Result<(Vec<Value>, Verdict), Failure> {
    let mut left = objects.to_vec();
    let mut verdict = Verdict::default();
    for word in named {
        let place = place_of(&left, home, word)?;
        judge(&left, place, &mut verdict);
        left.remove(place);
    }
    Ok((left, verdict))
}

fn place_of(objects: &[Value], home: &str, word: &str) -> Result<usize, Failure> {
    let wrong = |why: String| Failure::usage(format_args!("--delete {word}: {why}"));
    let (called, place) =
        word.split_once('/').ok_or_else(|| wrong("write KIND/NAME, such as `vlanconfig/uplink-1`".to_owned()))?;
    let kind = kind_of(called).map_err(wrong)?;
    let (namespace, name) = match (place.split_once('/'), kind.namespaced) {
        (Some((namespace, name)), true) => (namespace, name),
        (None, true) => (home, place),
        (None, false) => ("", place),
        (Some(_), false) => return Err(wrong(format!("objects of kind {} have no namespace", kind.kind))),
    };
    let is_of_kind = |object: &Value| group_of(object) == kind.group && text_of(object, "/kind") == kind.kind;
    let is_it = |object: &Value| {
        is_of_kind(object)
            && text_of(object, "/metadata/namespace") == namespace
            && text_of(object, "/metadata/name") == name
    };
    objects.iter().position(is_it).ok_or_else(|| {
        let all: Vec<&Value> = objects.iter().filter(|object| is_of_kind(object)).collect();
        Failure::refused(format_args!("--delete {word}: there is no such {}; {}", kind.kind, listed(&all)))
    })
}

/// The kind that people call so, among those that front ends read: what nodes have of other objects is nothing.
fn kind_of(word: &str) -> Result<Served, String> {
    let read = BUILT_IN.iter().flat_map(|front_end| front_end.kinds());
    let own = read.filter_map(|read| registry::find(read.kind.group, read.kind.kind)).map(Served::of);
    let planned: Vec<Served> = own.chain([Served::attachment()]).collect();
    planned.iter().find(|kind| kind.is_called(word)).cloned().ok_or_else(|| {
        let known: Vec<&str> = planned.iter().map(|kind| kind.kind.as_ref()).collect();
        format!("what goes with objects of kind {word:?} is not planned, only with {}", known.join(", "))
    })
}

/// Some names of objects, for somebody who has got one wrong.
fn listed(objects: &[&Value]) -> String {
    const MOST: usize = 20;
    let names: Vec<String> = objects.iter().take(MOST).map(|object| called(object)).collect();
    match objects.len() {
        0 => "there is none".to_owned(),
        all if all > MOST => format!("there are {} and {} more", names.join(", "), all - MOST),
        _ => format!("there are {}", names.join(", ")),
    }
}

/// Name and namespace as they are written after the kind.
fn called(object: &Value) -> String {
    let (namespace, name) = (text_of(object, "/metadata/namespace"), text_of(object, "/metadata/name"));
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
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
    let mut view = Objects::default();
    for object in objects {
        view.put(object.clone());
    }
    let reported = netloom_admission::review(&Review {
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
    verdict.refusals.extend(reported.errors.iter().map(|error| line(error.to_string())));
    verdict.refusals.extend(reported.forbidden.iter().cloned().map(line));
    verdict.warnings.extend(reported.warnings.iter().cloned().map(line));
}
