//! What pages name is there: files, tests and functions, other pages, and every reason that the product writes.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use netloom_testkit::scenarios;

/// Pages whose files, tests and functions are looked up.
const CHECKED: [&str; 3] = ["CONTRIBUTING.md", "docs/architecture.md", "docs/security.md"];
/// What a path of this project begins with.
const FOLDERS: [&str; 9] =
    ["bin/", "crates/", "deploy/", "docs/", "examples/", "lab/", "scenarios/", "scripts/", "tests/"];
/// What stands for any name in a path.
const PLACEHOLDERS: [&str; 4] = ["AREA", "FRONT", "KIND", "NAME"];
/// The part of the architecture that lists functions.
const WAY: &str = "One HostNetworkConfig, function by function";

/// Crates that write conditions and events.
const WRITERS: [&str; 5] = [
    "crates/cluster/agent-core/src",
    "crates/cluster/compile/src",
    "crates/cluster/controller-core/src",
    "crates/cluster/machine/src",
    "crates/cluster/rollout/src",
];
/// Reasons that writers share are constants of the kinds.
const KINDS: &str = "crates/cluster/api/src";
/// Names in those crates that are no reasons, beside our kinds.
const OTHER_NAMES: &[&str] = &[
    // Kinds that others define.
    "Event",
    "Lease",
    "Node",
    // Whether a condition holds.
    "False",
    "True",
    "Unknown",
    // Selectors and taints.
    "DoesNotExist",
    "Equal",
    "Exists",
    "Gt",
    "In",
    "Lt",
    "NoExecute",
    "NoSchedule",
    "NotIn",
    // Fields of events, and what is done about drift.
    "Enforce",
    "Normal",
    "Report",
    "Rollout",
    "Warning",
    // Whether machines run and where instances are in their life, units of memory, and a name in schemas.
    "Always",
    "Gi",
    "Halted",
    "Ki",
    "Mi",
    "Pi",
    "Quantity",
    "Running",
    "Succeeded",
    "Ti",
];

fn root() -> PathBuf {
    scenarios().join("..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn page(name: &str) -> String {
    read(&root().join(name))
}

/// Every page that people begin with or are led to.
fn pages() -> Vec<String> {
    let docs = entries(&root().join("docs")).into_iter().map(|path| format!("docs/{}", name_of(&path)));
    let mut pages: Vec<String> = docs.filter(|name| is_of(name, "md")).collect();
    pages.extend(["README.md".to_owned(), "CONTRIBUTING.md".to_owned()]);
    pages.sort();
    pages
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.flatten().map(|entry| entry.path()).collect()
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn is_of(name: &str, kind: &str) -> bool {
    Path::new(name).extension().is_some_and(|end| end == kind)
}

/// A page without its examples.
fn prose(page: &str) -> String {
    page.split("\n```").step_by(2).collect()
}

/// What a page has in the type of a machine.
fn words(page: &str) -> BTreeSet<String> {
    prose(page).split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The lines of the tables under a heading, as cells, without their heads.
fn rows(page: &str, title: &str) -> Vec<Vec<String>> {
    let heading = format!("\n## {title}\n");
    let (_, rest) = page.split_once(&heading).unwrap_or_else(|| panic!("the page has no part {title:?}"));
    let part = rest.split("\n## ").next().unwrap_or_default();
    let lines = part.lines().filter(|line| line.starts_with("| `"));
    lines.map(|line| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()).collect()
}

/// The word in the first cell of each line.
fn firsts(page: &str, title: &str) -> BTreeSet<String> {
    rows(page, title).into_iter().map(|row| row[0].trim_matches('`').to_owned()).collect()
}

/// Whether a part of a path stands for any name.
fn is_placeholder(part: &str) -> bool {
    PLACEHOLDERS.contains(&part.split('.').next().unwrap_or_default())
}

fn has_function(text: &str, name: &str) -> bool {
    [format!("fn {name}("), format!("fn {name}<")].iter().any(|begin| text.contains(begin))
}

#[test]
fn what_pages_name_is_there() {
    let mut found = 0;
    for name in CHECKED {
        for word in words(&page(name)).iter().filter(|word| FOLDERS.iter().any(|folder| word.starts_with(folder))) {
            let (file, function) =
                word.split_once("::").map_or((word.as_str(), None), |(file, name)| (file, Some(name)));
            if file.split('/').any(is_placeholder) {
                continue;
            }
            let path = root().join(file);
            assert!(path.exists(), "{name}: there is no {file}");
            if let Some(function) = function {
                assert!(has_function(&read(&path), function), "{name}: {file} has no {function}");
            }
            found += 1;
        }
    }
    assert!(found > 50, "{found} names");
}

#[test]
fn the_way_of_a_host_network_is_made_of_functions_that_are_there() {
    let steps = rows(&page("docs/architecture.md"), WAY);
    assert!(steps.len() > 20, "{} steps", steps.len());
    for step in steps {
        let (function, file) = (step[0].trim_matches('`'), step[1].trim_matches('`'));
        let text = read(&root().join(file));
        let name = function.rsplit("::").next().unwrap_or_default();
        assert!(has_function(&text, name), "{file} has no {name}");
        if let Some((owner, _)) = function.rsplit_once("::") {
            assert!(text.contains(owner), "{file} has no {owner}");
        }
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    for name in pages() {
        let (text, folder) = (prose(&page(&name)), root().join(&name));
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| !target.starts_with("http") && !target.starts_with('#')) {
            let file = target.split('#').next().unwrap_or_default();
            assert!(folder.with_file_name(file).exists(), "{name}: there is no {target}");
        }
    }
}

#[test]
fn the_readme_lists_every_page() {
    let readme = page("README.md");
    for name in pages().iter().filter(|name| name.starts_with("docs/")) {
        assert!(readme.contains(&format!("]({name})")), "README.md does not list {name}");
    }
}

/// All Rust files below a folder, but for tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in entries(folder) {
        let name = name_of(&path);
        if path.is_dir() && name != "tests" {
            files.extend(sources(&path));
        } else if is_of(&name, "rs") && name != "tests.rs" {
            files.push(path);
        }
    }
    files
}

/// The names in quotes of a source, as reasons are written: `LikeThis`. Comments and tests do not count.
fn names(text: &str) -> BTreeSet<String> {
    let production = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = production.lines().filter(|line| !line.trim_start().starts_with("//"));
    let quoted = lines.flat_map(|line| line.split('"').skip(1).step_by(2));
    quoted.filter(|word| is_name(word)).map(str::to_owned).collect()
}

fn is_name(word: &str) -> bool {
    word.starts_with(|letter: char| letter.is_ascii_uppercase())
        && word.contains(|letter: char| letter.is_ascii_lowercase())
        && word.chars().all(|letter| letter.is_ascii_alphanumeric())
}

/// The names that writers use, and those of constants that they share.
fn written() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for folder in WRITERS {
        for file in sources(&root().join(folder)) {
            all.append(&mut names(&read(&file)));
        }
    }
    for file in sources(&root().join(KINDS)) {
        let is_text = |line: &&str| line.starts_with("pub const ") && line.contains(": &str = ");
        let constants: String = read(&file).lines().filter(is_text).collect();
        all.append(&mut names(&constants));
    }
    all
}

#[test]
fn the_page_about_reasons_has_every_reason_and_no_other() {
    let page = page("docs/reasons.md");
    let [types, reasons, events] = ["Condition types", "Reasons", "Events"].map(|title| firsts(&page, title));
    let written = written();
    let kinds: BTreeSet<&str> = netloom_api::kinds().iter().map(|kind| kind.kind).collect();
    for name in &written {
        let known = [&types, &reasons, &events].iter().any(|table| table.contains(name));
        let other = kinds.contains(name.as_str()) || OTHER_NAMES.contains(&name.as_str());
        assert!(known || other, "docs/reasons.md has no {name:?}; if it is no reason, add it to OTHER_NAMES here");
    }
    for name in reasons.iter().chain(&events) {
        assert!(written.contains(name), "docs/reasons.md has {name:?}, which nothing writes");
    }
    for name in OTHER_NAMES {
        assert!(written.contains(*name), "nothing writes {name:?}: remove it from OTHER_NAMES here");
    }
}

#[test]
fn names_are_found_where_they_are_written() {
    let text = "// \"Comment\"\nlet one = (\"NoLink\", \"two words\", \"ALL\", \"lower\");\n#[cfg(test)]\nlet two = \"Test\";\n";
    assert_eq!(names(text), BTreeSet::from(["NoLink".to_owned()]));
    assert!(is_placeholder("NAME.http") && !is_placeholder("README.md"));
}
