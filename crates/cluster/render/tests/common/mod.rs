//! Inputs of goldens, and the text of what they become.

use std::{collections::BTreeSet, fs, path::Path};

use netloom_model::Section;
use netloom_nmstate::Document;
use netloom_render::{Base, Rendered, render};
use netloom_schema::decode::{Limits, yaml_documents};
use serde_json::Value;

/// A line with the blocks that it stands in.
pub(crate) type Line = (Vec<String>, String);

/// The one YAML document of a file.
pub(crate) fn yaml(file: &Path) -> Value {
    let bytes = fs::read(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let documents = yaml_documents(&bytes, Limits::default()).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    documents.into_iter().next().unwrap_or_else(|| panic!("{} is empty", file.display())).decoded.value
}

/// Renders for `node1`.
pub(crate) fn rendered(config: &Value, base: &str) -> Result<Rendered, String> {
    let base = Base::parse(base).map_err(|e| e.to_string())?;
    let config = serde_json::from_value(config.clone()).map_err(|e| e.to_string())?;
    render("node1", &config, &base).map_err(|e| format!("{}: {e}", e.reason()))
}

/// Links and rules as a document.
pub(crate) fn document(rendered: &Rendered) -> Document {
    let interfaces = rendered.interfaces.iter().map(|(interface, _)| interface.clone()).collect();
    let routes = rendered.routes.iter().map(|(route, _)| route.clone()).collect();
    let rules = rendered.rules.iter().map(|(rule, _)| rule.clone()).collect();
    Document::default().with_entries(interfaces, routes, rules)
}

/// The same as text, with the origin of each, and the notes.
pub(crate) fn host(rendered: &Rendered) -> String {
    let mut parts = vec![document(rendered).to_yaml()];
    for (interface, origin) in &rendered.interfaces {
        parts.push(format!("# {}: {origin}", interface.name));
        // As a port, a link has properties that a document lists with its bridge.
        let of_port = interface.attrs.iter().filter(|(attr, _)| attr.section() == Section::BridgePort);
        parts.extend(of_port.map(|(attr, value)| format!(", {attr} {}", value.display(attr))));
        parts.push("\n".to_owned());
    }
    parts.extend(rendered.routes.iter().map(|(_, origin)| format!("# route: {origin}\n")));
    let mut origins: Vec<String> = rendered.rules.iter().map(|(_, origin)| format!("# rule: {origin}\n")).collect();
    origins.dedup();
    parts.extend(origins);
    let of_base = || "base file".to_owned();
    let asked = rendered.routing.with_origins().map(|(_, _, origin)| origin.map_or_else(of_base, ToString::to_string));
    parts.extend(asked.collect::<BTreeSet<_>>().into_iter().map(|origin| format!("# lines: {origin}\n")));
    parts.extend(rendered.notes.iter().map(|note| format!("# note: {note}\n")));
    parts.concat()
}

/// The lines, as the routing daemon can read them.
pub(crate) fn text(rendered: &Rendered) -> String {
    let lines = rendered.routing.iter().map(|(context, line)| (context.to_vec(), line.to_owned())).collect();
    print(&Block::of(lines), 0)
}

/// A block with its lines and the blocks in it, in the order in which they came.
#[derive(Default)]
struct Block(Vec<(String, Block)>);

impl Block {
    fn of(lines: Vec<Line>) -> Self {
        let mut root = Self::default();
        for (context, line) in lines {
            let mut at = &mut root;
            for key in context.iter().chain([&line]) {
                let index = at.0.iter().position(|(known, _)| known == key).unwrap_or_else(|| {
                    at.0.push((key.clone(), Self::default()));
                    at.0.len() - 1
                });
                at = &mut at.0[index].1;
            }
        }
        root
    }
}

fn end(head: &str) -> Option<&'static str> {
    let first = head.split(' ').next().unwrap_or_default();
    match first {
        "vrf" => Some("exit-vrf"),
        "address-family" => Some("exit-address-family"),
        "vni" => Some("exit-vni"),
        "router" | "route-map" | "bfd" | "profile" => Some("exit"),
        _ => None,
    }
}

fn print(block: &Block, depth: usize) -> String {
    let margin = " ".repeat(depth);
    // Lines first: a block may speak of what they make.
    let (blocks, lines): (Vec<_>, Vec<_>) = block.0.iter().partition(|(head, _)| head.starts_with("address-family"));
    let mut parts = Vec::new();
    for (head, inner) in lines.into_iter().chain(blocks) {
        parts.push(format!("{margin}{head}\n{}", print(inner, depth + 1)));
        // `vni` in a VRF is a line.
        if !inner.0.is_empty() || (depth == 0 && head.starts_with("route-map")) || head.starts_with("profile") {
            parts.extend(end(head).map(|end| format!("{margin}{end}\n")));
        }
    }
    parts.concat()
}

/// The lines of a text that the routing daemon printed, without what is about the daemon itself.
pub(crate) fn lines(text: &str) -> Vec<Line> {
    const OF_THE_DAEMON: &[&str] =
        &["frr version", "frr defaults ", "hostname ", "no ip forwarding", "no ipv6 forwarding"];
    let mut all: Vec<Line> = Vec::new();
    let mut blocks: Vec<String> = Vec::new();
    let body = text.lines().skip_while(|line| !line.starts_with("frr version"));
    for line in body.filter(|line| !matches!(line.trim(), "" | "!" | "end")) {
        let word = line.trim();
        let depth = line.len() - line.trim_start().len();
        if word.starts_with("exit") {
            blocks.truncate(depth);
            continue;
        }
        if depth == 0 && OF_THE_DAEMON.iter().any(|own| word.starts_with(own)) {
            continue;
        }
        blocks.truncate(depth);
        all.push((blocks.clone(), word.to_owned()));
        blocks.push(word.to_owned());
    }
    // The head of a block that has lines is no line of its own.
    let heads: Vec<Vec<String>> = all.iter().map(|(context, _)| context.clone()).collect();
    let is_head = |(context, line): &Line| {
        let mut path = context.clone();
        path.push(line.clone());
        heads.iter().any(|other| other.starts_with(&path))
    };
    all.into_iter().filter(|line| !is_head(line)).collect()
}

/// Those of ours, in the same form.
pub(crate) fn ours(rendered: &Rendered) -> Vec<Line> {
    lines(&format!("frr version\n{}", text(rendered)))
}

/// One line for people.
pub(crate) fn shown((context, line): &Line) -> String {
    context.iter().chain([line]).cloned().collect::<Vec<_>>().join(" | ")
}

/// Whether what differs is written, or an error.
pub(crate) fn blesses() -> bool {
    std::env::var_os("NETLOOM_BLESS").is_some_and(|value| !value.is_empty() && value != "0")
}

/// Leaves a text for whoever feeds it to the routing daemon.
pub(crate) fn leave(name: &str, text: &str) {
    if let Some(folder) = std::env::var_os("NETLOOM_RENDERED") {
        let folder = Path::new(&folder);
        fs::create_dir_all(folder).expect("a folder can be made");
        fs::write(folder.join(format!("{name}.conf")), text).expect("a file can be written");
    }
}
