//! `netloom get`

use http::{Request, header::ACCEPT};
use serde_json::Value;

use crate::{
    args::{Format, cluster::GetArgs},
    cluster::{Cluster, Served, escaped, object_text},
    connection::asynchronously,
    failure::{Exit, Failure},
    output, text,
};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

pub(crate) fn run(args: &GetArgs) -> Result<Exit, Failure> {
    asynchronously(get(args))
}

async fn get(args: &GetArgs) -> Result<Exit, Failure> {
    let GetArgs { kind, name, place, all_namespaces, selector, show_managed_fields, format } = args;
    let cluster = Cluster::connect(place.kubeconfig.as_deref()).await?;
    let served = cluster.find(kind).await?;
    let namespace = place.namespace.as_deref().unwrap_or(cluster.namespace());
    let namespace = Some(namespace).filter(|_| !all_namespaces);
    let path = served.path(namespace, name.as_deref()) + &query(selector.as_deref());
    let format = format.or(Format::Table);
    let accept = if format == Format::Table { TABLE } else { "application/json" };
    let request = Request::get(path).header(ACCEPT, accept).body(Vec::new()).map_err(Failure::usage)?;
    let mut answer = cluster.send(request).await?;
    if !show_managed_fields {
        hide_managed_fields(&mut answer);
    }
    let text = match format {
        Format::Table => table(&answer, served.namespaced && *all_namespaces),
        Format::Yaml | Format::Json => object_text(&answer, format),
    };
    if text.is_empty() {
        output::Output::new(false).note(&nothing(&served, namespace));
    }
    output::data(&text)?;
    Ok(Exit::Done)
}

/// Who manages which field is long and for machines.
fn hide_managed_fields(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    for item in object.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten() {
        hide_managed_fields(item);
    }
}

fn query(selector: Option<&str>) -> String {
    selector.map(|selector| format!("?labelSelector={}", escaped(selector))).unwrap_or_default()
}

fn nothing(served: &Served, namespace: Option<&str>) -> String {
    match namespace.filter(|_| served.namespaced) {
        Some(namespace) => format!("There are no {} in the namespace {namespace}.", served.plural),
        None => format!("There are no {}.", served.plural),
    }
}

/// The server's table, its wide columns left out, in columns of equal width.
fn table(answer: &Value, with_namespace: bool) -> String {
    let list = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let columns = list(answer, "columnDefinitions");
    let shown: Vec<usize> = (0..columns.len())
        .filter(|&at| columns[at].get("priority").and_then(Value::as_i64).unwrap_or(0) == 0)
        .collect();
    let mut lines: Vec<Vec<String>> = Vec::new();
    for row in list(answer, "rows") {
        let cells = list(&row, "cells");
        let mut line = Vec::new();
        if with_namespace {
            line.push(cell(row.pointer("/object/metadata/namespace")));
        }
        line.extend(shown.iter().map(|&at| cell(cells.get(at))));
        lines.push(line);
    }
    if lines.is_empty() {
        return String::new();
    }
    let mut head: Vec<String> = with_namespace.then(|| "NAMESPACE".to_owned()).into_iter().collect();
    head.extend(shown.iter().map(|&at| cell(columns[at].get("name")).to_uppercase()));
    lines.insert(0, head);
    text::table(&lines)
}

fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => output::plain(text).replace('\n', " "),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_table_is_aligned_and_leaves_wide_columns_out() {
        let answer = json!({
            "columnDefinitions": [{"name": "Name"}, {"name": "Wide", "priority": 1}, {"name": "Ready"}],
            "rows": [
                {"cells": ["a", "x", "True"], "object": {"metadata": {"namespace": "n"}}},
                {"cells": ["long-name", "x", null], "object": {"metadata": {"namespace": "n"}}},
            ],
        });
        assert_eq!(table(&answer, false), "NAME       READY\na          True\nlong-name\n");
        assert!(table(&answer, true).starts_with("NAMESPACE  NAME       READY\nn"));
        assert_eq!(table(&json!({"columnDefinitions": [], "rows": []}), false), "");
    }
}
