//! Each field of the fabric part of a `NodeNetworkConfig` alone changes what a host or its routing daemon is given.
//!
//! `fields.yaml` has a pair for each: the value at a place is `from` in one configuration and `to` in the other, and
//! nothing where it is not given. `fields.txt` is what they differ in; `NETLOOM_BLESS=1` writes it again. Values under
//! `refused` are refused in these words. `base-pairs` has the same for the keys of a base file. A field of the schema, or a
//! key of a base file, without a pair or a refusal fails.

mod common;

use std::{collections::BTreeSet, fs, path::Path};

use common::{blesses, host, leave, ours, rendered, shown, text, yaml};
use netloom_render::{Base, Rendered};
use netloom_schema::decode::{Limits, yaml_documents};
use serde_json::{Value, json};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");

struct Input {
    config: Value,
    base: String,
    pairs: Vec<Value>,
    refused: Vec<Value>,
    base_pairs: Vec<Value>,
    /// Keys of a base file that change nothing, which the page of the fabric says.
    without_effect: Vec<Value>,
}

fn input() -> Input {
    let file = yaml(&Path::new(ROOT).join("fields.yaml"));
    let list = |key: &str| file[key].as_array().cloned().unwrap_or_default();
    let base = file["base"].as_str().expect("a base file").to_owned();
    let (base_pairs, without_effect) = (list("base-pairs"), list("base-without-effect"));
    Input {
        config: file["config"].clone(),
        base,
        pairs: list("pairs"),
        refused: list("refused"),
        base_pairs,
        without_effect,
    }
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("{value} has no {key}"))
}

/// The configuration with a value at a place, or without any there.
fn with(config: &Value, at: &str, value: Option<&Value>) -> Value {
    let mut config = config.clone();
    let mut node = &mut config;
    let mut keys = at.split('.').peekable();
    while let Some(key) = keys.next() {
        if keys.peek().is_none() {
            match (value, node.as_object_mut()) {
                (Some(value), _) => node[key] = value.clone(),
                (None, Some(map)) => drop(map.remove(key)),
                (None, None) => {}
            }
            break;
        }
        node = match key.parse::<usize>() {
            Ok(index) if node.is_array() => &mut node[index],
            _ => &mut node[key],
        };
        if node.is_null() {
            *node = json!({});
        }
    }
    config
}

fn side(input: &Input, pair: &Value, key: &str) -> Result<Rendered, String> {
    let both = pair["both"].as_object().cloned().unwrap_or_default();
    let config = both.iter().fold(input.config.clone(), |config, (at, value)| with(&config, at, Some(value)));
    rendered(&with(&config, word(pair, "at"), pair.get(key)), &input.base)
}

/// The same with a value at a place of the base file.
fn base_side(input: &Input, pair: &Value, key: &str) -> Result<Rendered, String> {
    let documents = yaml_documents(input.base.as_bytes(), Limits::default()).expect("a base file can be read");
    let base = documents.into_iter().next().expect("it is one document").decoded.value;
    let both = pair["both"].as_object().cloned().unwrap_or_default();
    let base = both.iter().fold(base, |base, (at, value)| with(&base, at, Some(value)));
    let config = pair["config"].as_object().cloned().unwrap_or_default();
    let config = config.iter().fold(input.config.clone(), |config, (at, value)| with(&config, at, Some(value)));
    rendered(&config, &with(&base, word(pair, "at"), pair.get(key)).to_string())
}

fn difference(from: &BTreeSet<String>, to: &BTreeSet<String>) -> Vec<String> {
    let gone = from.difference(to).map(|line| format!("- {line}"));
    gone.chain(to.difference(from).map(|line| format!("+ {line}"))).collect()
}

/// Lines of an entry with what they stand under.
fn placed(text: &str) -> BTreeSet<String> {
    let mut above: Vec<(usize, String)> = Vec::new();
    let mut all = BTreeSet::new();
    for line in text.lines() {
        let depth = line.find(|c: char| c != ' ' && c != '-').unwrap_or(0);
        above.retain(|(other, _)| *other < depth);
        let path: Vec<&str> = above.iter().map(|(_, line)| line.as_str()).chain([line.trim()]).collect();
        all.insert(path.join(" / "));
        above.push((depth, line.trim().to_owned()));
    }
    all
}

/// The parts of a document, one for each link and rule, in one line.
fn entries(rendered: &Rendered) -> BTreeSet<String> {
    let text = host(rendered);
    let mut all = BTreeSet::new();
    let mut entry = String::new();
    let mut name = String::new();
    let (comments, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('#'));
    all.extend(comments.into_iter().map(str::to_owned));
    // A rule is one line, for it has no name.
    let is_rule = |line: &&&str| line.starts_with("  ") && text.starts_with("route-rules:");
    let rules = lines.iter().skip_while(|line| !line.starts_with("route-rules:")).skip(2).take_while(is_rule);
    let rules: Vec<&str> = rules.map(|line| line.trim()).collect();
    all.extend(
        rules
            .join(", ")
            .split("- ")
            .map(|rule| rule.trim_end_matches(", "))
            .filter(|rule| !rule.is_empty())
            .map(|rule| format!("rule {rule}")),
    );
    for line in lines.into_iter().skip_while(|line| *line != "interfaces:").chain(["- "]) {
        if let Some(first) = line.strip_prefix("- ") {
            all.extend(placed(&entry).into_iter().map(|line| format!("{name}: {line}")));
            entry.clear();
            first.clone_into(&mut name);
        }
        entry += line;
        entry.push('\n');
    }
    all
}

/// What each of these pairs changes, compared with what a file says.
fn compare(file: &str, pairs: &[Value], side: impl Fn(&Value, &str) -> Result<Rendered, String>) {
    let mut found = Vec::new();
    for pair in pairs {
        let (field, at) = (word(pair, "field"), word(pair, "at"));
        let [from, to] = ["from", "to"].map(|key| side(pair, key).unwrap_or_else(|e| panic!("{field}: {e}")));
        for (side, rendered) in [("from", &from), ("to", &to)] {
            leave(&format!("field-{at}-{}-{side}", found.len()), &text(rendered));
        }
        let lines = |rendered: &Rendered| ours(rendered).iter().map(shown).collect();
        let mut changes = difference(&entries(&from), &entries(&to));
        changes.extend(difference(&lines(&from), &lines(&to)));
        assert!(!changes.is_empty(), "{field} changes nothing");
        found.push(format!("{field}: {at}\n{}\n", changes.join("\n")));
    }
    let (file, found) = (Path::new(ROOT).join(file), found.join("\n"));
    if fs::read_to_string(&file).is_ok_and(|wanted| wanted == found) {
        return;
    }
    assert!(blesses(), "not as expected; NETLOOM_BLESS=1 writes it again:\n{found}");
    fs::write(file, found).expect("a file can be written");
}

#[test]
fn each_field_alone_changes_what_is_rendered() {
    let input = input();
    compare("fields.txt", &input.pairs, |pair, key| side(&input, pair, key));
}

#[test]
fn each_key_of_a_base_file_alone_changes_what_is_rendered() {
    let input = input();
    compare("base_fields.txt", &input.base_pairs, |pair, key| base_side(&input, pair, key));
    let given: Vec<&str> = input.base_pairs.iter().map(|pair| word(pair, "field")).collect();
    let without: Vec<&str> = input.without_effect.iter().filter_map(Value::as_str).collect();
    let missing: Vec<String> = Base::keys()
        .into_iter()
        .filter(|key| !given.contains(&key.as_str()) && !without.contains(&key.as_str()))
        .collect();
    assert!(missing.is_empty(), "keys without a pair: {missing:#?}");
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let input = input();
    for refused in &input.refused {
        let error = side(&input, refused, "to").expect_err(&format!("{refused} was taken"));
        assert_eq!(error, word(refused, "words"), "{refused}");
    }
}

/// Fields of a schema below a place. A filter is the same everywhere, so its fields are asked for once.
fn fields(schema: &Value, path: &str, all: &mut BTreeSet<String>) {
    let is_filter = schema["properties"].get("defaultAction").is_some();
    if is_filter && !path.ends_with("evpnExportFilter") {
        all.insert(path.to_owned());
        return;
    }
    let inner = ["items", "additionalProperties"].into_iter().find(|key| schema[key].is_object());
    match (schema["properties"].as_object(), inner) {
        (Some(properties), _) => {
            for (name, schema) in properties {
                fields(schema, &format!("{path}.{name}"), all);
            }
        }
        (None, Some(inner)) => fields(&schema[inner], path, all),
        (None, None) => drop(all.insert(path.to_owned())),
    }
}

#[test]
fn every_field_of_the_schema_has_a_pair_or_is_refused() {
    let file = Path::new(ROOT).join("../../../../deploy/crds/network.t-caas.telekom.com_nodenetworkconfigs.yaml");
    let spec = &yaml(&file)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
    let mut wanted = BTreeSet::new();
    for part in ["layer2s", "fabricVRFs"] {
        fields(&spec[part], part, &mut wanted);
    }
    assert!(wanted.len() > 40, "{wanted:?}");
    let input = input();
    let given: Vec<&str> = input.pairs.iter().chain(&input.refused).map(|entry| word(entry, "field")).collect();
    let covers = |field: &str| given.iter().any(|given| *given == field || field.starts_with(&format!("{given}.")));
    let missing: Vec<&String> = wanted.iter().filter(|field| !covers(field)).collect();
    assert!(missing.is_empty(), "fields without a pair: {missing:#?}");
}
