//! The page that says where each promise of host networks is shown, compared with what there is: whatever it names is
//! there, and no story that is named after a promise, a fault or a request is missing on it.

use std::{collections::BTreeSet, fs, path::Path};

use netloom_testkit::scenarios;

/// What stories are called that belong on the page.
const NAMED: [&str; 4] = ["story-", "upstream-", "asked-", "refused-"];
/// The parts of the page, and how many lines each has at least: one for each promise, fault and request that is known.
const PARTS: [(&str, usize); 3] = [("Promises", 18), ("Faults of other software", 14), ("What people asked for", 9)];

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn page() -> String {
    read(&scenarios().join("../docs/host-network-promises.md"))
}

/// What a page has in the type of a machine.
fn words(page: &str) -> BTreeSet<&str> {
    page.split('`').skip(1).step_by(2).collect()
}

/// The lines of the table under a heading, without its head.
fn lines<'a>(page: &'a str, title: &str) -> Vec<&'a str> {
    let heading = format!("\n## {title}\n");
    let (_, rest) = page.split_once(&heading).unwrap_or_else(|| panic!("the page has no part {title:?}"));
    let part = rest.split("\n## ").next().unwrap_or_default();
    part.lines().filter(|line| line.starts_with("| ")).skip(1).collect()
}

#[test]
fn what_the_page_names_is_there() {
    let page = page();
    let rules = read(&scenarios().join("admission/rules.http"));
    let titles: BTreeSet<&str> = rules.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    for word in words(&page) {
        let area = word.split('/').next().unwrap_or_default();
        if let Some(title) = word.strip_prefix("rules.http: ") {
            assert!(titles.contains(title), "rules.http has no step {title:?}");
        } else if let Some((file, test)) = word.split_once("::") {
            let text = read(&scenarios().join("..").join(file));
            assert!(text.contains(&format!("fn {test}()")), "{file} has no {test}");
        } else if ["hostnet", "nodestate"].contains(&area) && word != "hostnet/NAME" {
            assert!(scenarios().join(word).join("story.yaml").exists(), "there is no story {word}");
        }
    }
}

#[test]
fn every_story_with_a_promise_is_on_the_page() {
    let page = page();
    let named = words(&page);
    for folder in fs::read_dir(scenarios().join("hostnet")).unwrap() {
        let name = folder.unwrap().file_name().into_string().unwrap();
        let belongs = NAMED.iter().any(|prefix| name.starts_with(prefix));
        assert!(!belongs || named.contains(format!("hostnet/{name}").as_str()), "{name} is not on the page");
    }
}

#[test]
fn every_line_names_what_shows_it() {
    let page = page();
    for (title, least) in PARTS {
        let lines = lines(&page, title);
        assert!(lines.len() >= least, "{title} has {} lines, not {least}", lines.len());
        for line in lines {
            let shown = line.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
            assert!(words(shown).iter().any(|word| word.starts_with("hostnet/")), "no story shows: {line}");
        }
    }
}
