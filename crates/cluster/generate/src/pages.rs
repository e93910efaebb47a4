//! Pages for people: one for each kind, one that lists them, one that says what comes of every field.

use std::fmt::Write;

use netloom_api::{
    Kind, Owner,
    effects::{self, Effect},
    fields::{self, Field},
    kinds,
};
use serde_json::Value;

use super::page_file;

/// The page of one kind.
pub fn kind_page(kind: &Kind) -> String {
    let crd = kind.crd();
    let schema = kind.schema();
    let mut page = format!("# {}\n\n", kind.kind);
    let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    push(&mut page, format_args!("{description}\n\n"));
    names(&mut page, kind, &crd);
    columns(&mut page, &crd);
    page.push_str("## Fields\n\n| field | type | meaning | takes effect |\n|---|---|---|---|\n");
    for field in fields::of(&schema) {
        push(
            &mut page,
            format_args!(
                "| `{}`{} | {} | {} | {} |\n",
                field.path,
                if field.required { " (required)" } else { "" },
                kind_of(&field.schema),
                cell(field.schema.get("description").and_then(Value::as_str).unwrap_or_default()),
                effect(kind, &field),
            ),
        );
    }
    rules(&mut page, &schema);
    page
}

/// The list of all kinds.
pub fn index_page() -> String {
    let mut page =
        "# Kinds\n\n| kind | group and version | short names | scope | written by |\n|---|---|---|---|---|\n"
            .to_owned();
    for kind in kinds() {
        let crd = kind.crd();
        let short = crd.pointer("/spec/names/shortNames").and_then(Value::as_array);
        let short: Vec<_> =
            short.into_iter().flatten().filter_map(Value::as_str).map(|name| format!("`{name}`")).collect();
        let scope = crd.pointer("/spec/scope").and_then(Value::as_str).unwrap_or_default();
        push(
            &mut page,
            format_args!(
                "| [{}]({}) | `{}` | {} | {scope} | {} |\n",
                kind.kind,
                page_file(kind),
                kind.api_version(),
                short.join(", "),
                writers(kind),
            ),
        );
    }
    page.push_str(
        "\n[What comes of every field](effects.md)\n\nThere is an object of every kind in \
         [examples/objects](../../../examples/objects/). Objects there refer to each other: check a whole folder, with \
         `netloom validate -f examples/objects/hostnet`.\n",
    );
    page
}

/// Every field of every kind and where it takes effect.
pub fn effects_page() -> String {
    let mut page = "# Where every field takes effect\n\n".to_owned();
    page.push_str("*admission*: a write is refused, warned of or completed because of it. *front end*: it changes what nodes do. *later*: its front end is not built yet. *status*: who reports it. *reserved*: it is kept, and nothing acts on it.\n");
    for kind in kinds() {
        push(
            &mut page,
            format_args!("\n## {} `{}`\n\n| field | takes effect |\n|---|---|\n", kind.kind, kind.api_version()),
        );
        for field in fields::of(&kind.schema()) {
            push(&mut page, format_args!("| `{}` | {} |\n", field.path, effect(kind, &field)));
        }
    }
    page
}

fn names(page: &mut String, kind: &Kind, crd: &Value) {
    let text = |pointer: &str| crd.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let short = crd.pointer("/spec/names/shortNames").and_then(Value::as_array);
    let short: Vec<_> = short.into_iter().flatten().filter_map(Value::as_str).map(|name| format!("`{name}`")).collect();
    let scope = if text("/spec/scope") == "Namespaced" { "in a namespace" } else { "in no namespace" };
    push(page, format_args!("`{}`, {scope}. `kubectl get {}`", kind.api_version(), kind.plural));
    if !short.is_empty() {
        push(page, format_args!(", short {}", short.join(", ")));
    }
    push(page, format_args!(". Written by {}.", writers(kind)));
    if kind.has_status_subresource() {
        page.push_str(" `status` is written through its own subresource.");
    }
    push(page, format_args!(" Examples: [examples/objects/{0}](../../../examples/objects/{0}/).", examples(kind)));
    let selectable = crd.pointer("/spec/versions/0/selectableFields").and_then(Value::as_array);
    for path in selectable.into_iter().flatten().filter_map(|field| field.get("jsonPath")?.as_str()) {
        push(page, format_args!(" Field selector: `{}`.", path.trim_start_matches('.')));
    }
    page.push_str("\n\n");
}

/// The folder of the example objects of a kind. They refer to each other, so they are checked together.
fn examples(kind: &Kind) -> &'static str {
    match kind.group {
        "nmstate.io" => "nodestate",
        "network.harvesterhci.io" => "hostnet",
        "netloom.dev" => "rollout",
        "kubevirt.io" => "machine",
        _ => "fabric",
    }
}

fn writers(kind: &Kind) -> &'static str {
    // People may delete and annotate them, which is why they can be edited; what is in them is frozen.
    if kind.kind == "NetworkConfigRevision" {
        return "the controller";
    }
    match (kind.owner, kind.editable) {
        (Owner::Cluster, true) => "people",
        (Owner::Cluster, false) => "the controller",
        (Owner::Node(_), true) => "people, the controller and the agent of the node",
        (Owner::Node(_), false) => "the controller and the agent of the node",
    }
}

fn columns(page: &mut String, crd: &Value) {
    let columns = crd.pointer("/spec/versions/0/additionalPrinterColumns").and_then(Value::as_array);
    let names: Vec<_> = columns.into_iter().flatten().filter_map(|column| column.get("name")?.as_str()).collect();
    if !names.is_empty() {
        push(page, format_args!("Columns: Name, {}.\n\n", names.join(", ")));
    }
}

fn rules(page: &mut String, schema: &Value) {
    let mut found = Vec::new();
    collect_rules(schema, "", &mut found);
    if found.is_empty() {
        return;
    }
    page.push_str("\n## Rules in the schema\n\n");
    for (path, rule, message) in found {
        push(page, format_args!("- `{path}`: {message} (`{rule}`)\n"));
    }
}

fn collect_rules(schema: &Value, path: &str, found: &mut Vec<(String, String, String)>) {
    let text = |rule: &Value, key: &str| rule.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    for rule in schema.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten() {
        found.push((path.to_owned(), text(rule, "rule"), text(rule, "message")));
    }
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        collect_rules(property, &path, found);
    }
    for (key, suffix) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(inner) = schema.get(key) {
            collect_rules(inner, &format!("{path}{suffix}"), found);
        }
    }
}

/// The type with its limits and default, for a cell.
fn kind_of(schema: &Value) -> String {
    let mut text = type_name(schema);
    let number = |key: &str| schema.get(key).map(Value::to_string);
    match (number("minimum"), number("maximum")) {
        (Some(low), Some(high)) => push(&mut text, format_args!(", {low} to {high}")),
        (Some(low), None) => push(&mut text, format_args!(", at least {low}")),
        (None, Some(high)) => push(&mut text, format_args!(", at most {high}")),
        (None, None) => {}
    }
    let lengths = [("maxLength", "characters"), ("maxItems", "entries"), ("maxProperties", "entries")];
    for (key, unit) in lengths {
        if let Some(most) = number(key) {
            push(&mut text, format_args!(", at most {most} {unit}"));
        }
    }
    if let Some(default) = schema.get("default") {
        push(&mut text, format_args!(", default `{}`", cell(&default.to_string())));
    }
    text
}

fn type_name(schema: &Value) -> String {
    if schema.get("x-kubernetes-int-or-string").is_some() {
        return "number or text".to_owned();
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        let words: Vec<String> = words.iter().map(|word| format!("`{}`", word.as_str().unwrap_or_default())).collect();
        return words.join(", ");
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("array") => format!("list of {}", schema.get("items").map(type_name).unwrap_or_default()),
        Some("object") => match schema.get("additionalProperties") {
            Some(values) if values.is_object() => format!("map of {}", type_name(values)),
            _ if schema.get("x-kubernetes-preserve-unknown-fields").is_some() => "document".to_owned(),
            _ => "object".to_owned(),
        },
        Some("string") => match schema.get("format").and_then(Value::as_str) {
            Some(format) => format!("text ({format})"),
            None => "text".to_owned(),
        },
        Some(name) => name.to_owned(),
        None => "anything".to_owned(),
    }
}

fn effect(kind: &Kind, field: &Field) -> String {
    let effects = effects::entry(kind.effects, &field.path).map_or(&[][..], |entry| entry.effects);
    let words = effects.iter().map(|effect| match effect {
        Effect::Admission(text) => format!("admission: {text}"),
        Effect::FrontEnd(text) => format!("front end: {text}"),
        Effect::Planned(text) => format!("later: {text}"),
        Effect::Status(text) => format!("status: {text}"),
        Effect::Reserved(text) => format!("reserved: {text}"),
        Effect::Description => "people read it".to_owned(),
    });
    cell(&words.collect::<Vec<_>>().join("; "))
}

/// A text that stays in its cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ").replace('<', "&lt;")
}

fn push(page: &mut String, text: std::fmt::Arguments<'_>) {
    page.write_fmt(text).expect("a String takes every text");
}
