//! Answers with everything that may differ between two servers put into one form, and only that:
//! identities, times, versions, ports, generated names and hashes.
//!
//! What is put away keeps its meaning where it has one: versions of one object are numbered in the
//! order in which they are seen, so a write that should change nothing still shows when it did.

use std::{collections::BTreeMap, sync::LazyLock};

use regex::{Captures, Regex};
use serde_json::{Map, Value, json};

use crate::wire::Answer;

/// Headers that clients act on.
const HEADERS: &[&str] = &["content-type", "warning", "retry-after", "cache-control"];

/// Scripts give years before this one when they mean a certain time.
const FIRST_YEAR_OF_NOW: &str = "2024";

static IDENTITY: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
static TIME: LazyLock<Regex> = LazyLock::new(|| pattern(r"(\d{4})-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z"));
static HASH: LazyLock<Regex> = LazyLock::new(|| pattern(r"hash=[0-9A-F]+"));
static AGE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\d+(\.\d+)?(ms|s|m\d+s|m|h|d)$"));
static CLUSTER_IP: LazyLock<Regex> = LazyLock::new(|| pattern(r"^10\.\d+\.\d+\.\d+$"));
static TOKEN: LazyLock<Regex> = LazyLock::new(|| pattern(r"eyJ[\w-]+\.[\w-]+\.[\w-]+"));
static GENERATED: LazyLock<Regex> = LazyLock::new(|| pattern("^[bcdfghjklmnpqrstvwxz2456789]{5}$"));
static VERSIONS_IN_TEXT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"(resource version: |[Cc]urrent: |requested: |in record \(|: \d+ \(|resourceVersion\\*":\\*")\d+"#)
});

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the patterns of this file are written manually and tried in its tests")
}

/// What one server's answers have shown so far.
#[derive(Debug, Default)]
pub(crate) struct Names {
    authority: String,
    versions: BTreeMap<String, Vec<String>>,
    generated: BTreeMap<String, String>,
}

impl Names {
    /// Nothing seen yet of the server at HOST:PORT.
    pub(crate) fn new(authority: &str) -> Self {
        Self { authority: authority.to_owned(), ..Self::default() }
    }

    /// An answer in its comparable form.
    pub(crate) fn answer(&mut self, answer: &Answer) -> Value {
        let body = match serde_json::from_slice::<Value>(&answer.body) {
            Ok(mut body) => {
                self.value(&mut body);
                body
            }
            Err(_) => Value::String(self.text(&String::from_utf8_lossy(&answer.body))),
        };
        json!({ "code": answer.code, "headers": self.headers(&answer.headers), "body": body })
    }

    /// The headers that are compared.
    pub(crate) fn headers(&mut self, headers: &[(String, String)]) -> Value {
        let mut kept: Map<String, Value> = Map::new();
        for (name, value) in headers.iter().filter(|(name, _)| HEADERS.contains(&name.as_str())) {
            let value = Value::String(self.text(value));
            match kept.entry(name.clone()).or_insert_with(|| json!([])) {
                Value::Array(values) => values.push(value),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {}
            }
        }
        Value::Object(kept)
    }

    /// A JSON value, in place.
    pub(crate) fn value(&mut self, value: &mut Value) {
        match value {
            Value::Object(fields) => self.object(fields),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::String(text) => *text = self.text(text),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn object(&mut self, fields: &mut Map<String, Value>) {
        self.version_of(fields);
        self.generated_name(fields);
        if let Some(Value::Array(managers)) = fields.get_mut("managedFields") {
            sort_managers(managers);
        }
        if fields.get("kind").is_some_and(|kind| kind == "Table") {
            ages(fields);
        }
        if fields.get("kind").is_some_and(|kind| kind == "Status") {
            sort_causes(fields);
        }
        for (name, value) in fields.iter_mut() {
            match (name.as_str(), &mut *value) {
                ("storageVersionHash" | "hash", Value::String(hash)) => "<hash>".clone_into(hash),
                ("continue", Value::String(token)) if !token.is_empty() => "<continue>".clone_into(token),
                ("clusterIP", Value::String(ip)) if CLUSTER_IP.is_match(ip) => "<cluster ip>".clone_into(ip),
                ("clusterIPs", Value::Array(ips)) => ips.iter_mut().for_each(|ip| {
                    if ip.as_str().is_some_and(|ip| CLUSTER_IP.is_match(ip)) {
                        *ip = json!("<cluster ip>");
                    }
                }),
                // Its form is final.
                ("resourceVersion", Value::String(_)) => {}
                _ => self.value(value),
            }
        }
        self.keys(fields);
    }

    /// Identities also stand in the names of managed fields.
    fn keys(&self, fields: &mut Map<String, Value>) {
        let odd: Vec<String> = fields.keys().filter(|key| IDENTITY.is_match(key)).cloned().collect();
        for key in odd {
            if let Some(value) = fields.remove(&key) {
                fields.insert(self.text(&key), value);
            }
        }
    }

    /// Versions of one object are numbered; a list's has no number.
    fn version_of(&mut self, fields: &mut Map<String, Value>) {
        let Some(version) = fields.get("resourceVersion").and_then(Value::as_str).map(str::to_owned) else { return };
        let name = if version.is_empty() || version == "0" {
            version
        } else if let Some(uid) = fields.get("uid").and_then(Value::as_str) {
            let seen = self.versions.entry(uid.to_owned()).or_default();
            let place = seen.iter().position(|known| *known == version).unwrap_or_else(|| {
                seen.push(version);
                seen.len() - 1
            });
            format!("<version number {}>", place + 1)
        } else {
            "<version>".to_owned()
        };
        fields.insert("resourceVersion".to_owned(), Value::String(name));
    }

    /// The random end of a generated name; later mentions of the name are recognised.
    fn generated_name(&mut self, fields: &Map<String, Value>) {
        let text = |key: &str| fields.get(key).and_then(Value::as_str);
        let (Some(base), Some(name)) = (text("generateName"), text("name")) else { return };
        let end = name.strip_prefix(base.get(..58).unwrap_or(base));
        if end.is_some_and(|end| GENERATED.is_match(end)) {
            let number = self.generated.len() + 1;
            self.generated.entry(name.to_owned()).or_insert_with(|| format!("{base}<generated {number}>"));
        }
    }

    /// A text with the same things put away.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut text = text.replace(&self.authority, "<server>");
        for (name, shown) in &self.generated {
            if text.contains(name) {
                text = text.replace(name, shown);
            }
        }
        let text = IDENTITY.replace_all(&text, "<uid>");
        let text = TOKEN.replace_all(&text, "<token>");
        let text = HASH.replace_all(&text, "hash=<hash>");
        let text = VERSIONS_IN_TEXT.replace_all(&text, "$1<version>");
        let text = TIME.replace_all(&text, |found: &Captures<'_>| {
            if &found[1] < FIRST_YEAR_OF_NOW {
                found[0].to_owned()
            } else if found.get(2).is_some() {
                "<microtime>".to_owned()
            } else {
                "<time>".to_owned()
            }
        });
        sort_quoted_managers(&text)
    }
}

/// What a text has before the managers of an object that it quotes.
const QUOTED_MANAGERS: &str = "\\\"managedFields\\\":[";

/// [`sort_managers`] for an object that stands in a message.
fn sort_quoted_managers(text: &str) -> String {
    let Some(begin) = text.find(QUOTED_MANAGERS).map(|at| at + QUOTED_MANAGERS.len()) else { return text.to_owned() };
    let (mut depth, mut entries, mut from) = (0, Vec::new(), begin);
    for (at, found) in text[begin..].char_indices().map(|(at, found)| (begin + at, found)) {
        match found {
            '{' | '[' => depth += 1,
            ',' if depth == 0 => {
                entries.push(&text[from..at]);
                from = at + 1;
            }
            ']' if depth == 0 => {
                entries.push(&text[from..at]);
                entries.sort_unstable();
                return format!("{}{}{}", &text[..begin], entries.join(","), &text[at..]);
            }
            '}' | ']' => depth -= 1,
            _ => {}
        }
    }
    text.to_owned()
}

/// Ages in a table depend on how fast the test is.
fn ages(table: &mut Map<String, Value>) {
    for row in table.get_mut("rows").and_then(Value::as_array_mut).into_iter().flatten() {
        for cell in row.get_mut("cells").and_then(Value::as_array_mut).into_iter().flatten() {
            if cell.as_str().is_some_and(|text| AGE.is_match(text)) {
                *cell = json!("<age>");
            }
        }
    }
}

/// Managers are in the order of their last write, by the second: two in one second change places.
fn sort_managers(managers: &mut [Value]) {
    managers
        .sort_by_key(|entry| ["operation", "manager", "subresource", "apiVersion"].map(|key| entry[key].to_string()));
}

/// The real server finds several errors in no fixed order, and names one as often as it finds it.
fn sort_causes(status: &mut Map<String, Value>) {
    let Some(causes) =
        status.get_mut("details").and_then(|details| details.get_mut("causes")).and_then(Value::as_array_mut)
    else {
        return;
    };
    causes.sort_by_key(|cause| (cause["field"].to_string(), cause["message"].to_string()));
    causes.dedup();
    let mut parts: Vec<String> = causes
        .iter()
        .map(|cause| {
            let part = |key: &str| cause[key].as_str().unwrap_or_default().to_owned();
            if part("field").is_empty() { part("message") } else { format!("{}: {}", part("field"), part("message")) }
        })
        .collect();
    // The same words for two reasons stand in the message once.
    parts.dedup();
    if let Some(Value::String(message)) = status.get_mut("message").filter(|_| parts.len() > 1) {
        let begin = parts.iter().filter_map(|part| message.find(part.as_str())).min();
        if let Some(begin) = begin.filter(|_| parts.iter().all(|part| message.contains(part.as_str()))) {
            let closed = if message.ends_with(']') { "]" } else { "" };
            *message = format!("{}{}{closed}", &message[..begin], parts.join(", "));
        }
    }
}
