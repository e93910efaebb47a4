//! Every folder under `tests/cases` is a configuration of a node, `node.yaml`, with the base file of the node beside it.
//!
//! `host.yaml` is what the host is to have of it; `NETLOOM_BLESS=1` writes it again. `frr.conf` is what FRR 8.4 showed
//! as its running configuration after it was given the lines: nothing else may be in it, and nothing may be missing.
//! `tests/record` writes it again.

mod common;

use std::{collections::BTreeSet, fs, path::Path};

use common::{blesses, host, leave, lines, ours, rendered, shown, text, yaml};

#[test]
fn each_case_is_rendered_as_frr_shows_it() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases"));
    let mut wrong = Vec::new();
    let mut count = 0;
    for folder in fs::read_dir(root).expect("there are cases").map(|entry| entry.expect("a folder").path()) {
        let name = folder.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        let base = fs::read_to_string(folder.join("base.yaml")).expect("a base file");
        let sentence = fs::read_to_string(folder.join("node.yaml")).expect("a configuration");
        assert!(sentence.starts_with("# "), "{name} does not begin with its sentence");
        let rendered = rendered(&yaml(&folder.join("node.yaml")), &base).unwrap_or_else(|e| panic!("{name}: {e}"));
        leave(&format!("case-{name}"), &text(&rendered));
        wrong.extend(differs(&folder.join("host.yaml"), &host(&rendered)));
        let recorded = fs::read_to_string(folder.join("frr.conf")).unwrap_or_default();
        let shown_by_frr: BTreeSet<String> = lines(&recorded).iter().map(shown).collect();
        let made: BTreeSet<String> = ours(&rendered).iter().map(shown).collect();
        wrong.extend(made.difference(&shown_by_frr).map(|line| format!("{name}: FRR does not show: {line}")));
        wrong.extend(shown_by_frr.difference(&made).map(|line| format!("{name}: FRR shows also: {line}")));
        count += 1;
    }
    assert!(count > 0, "there are no cases");
    assert!(wrong.is_empty(), "not as expected:\n{}", wrong.join("\n"));
}

fn differs(file: &Path, found: &str) -> Option<String> {
    if fs::read_to_string(file).is_ok_and(|wanted| wanted == found) {
        return None;
    }
    if blesses() {
        fs::write(file, found).expect("a file can be written");
        return None;
    }
    Some(format!("{}; NETLOOM_BLESS=1 writes it again:\n{found}", file.display()))
}
