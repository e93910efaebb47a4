//! Every text that a rule can tell stands in some test, so that a rule without one is noticed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The ways in which a rule tells something.
const TELLING: [&str; 7] =
    [".invalid(", ".required(", ".forbidden(", ".duplicate(", ".not_found(", ".warn(", ".forbid("];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The literals in the arguments of a call, which begins at its parenthesis.
fn literals(call: &str) -> Vec<String> {
    let (mut depth, mut found) = (0, Vec::new());
    let mut letters = call.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '(' => depth += 1,
            ')' if depth == 1 => break,
            ')' => depth -= 1,
            '"' => {
                let mut text = String::new();
                while let Some(letter) = letters.next().filter(|letter| *letter != '"') {
                    text.push(letter);
                    if letter == '\\' {
                        text.extend(letters.next());
                    }
                }
                found.push(text);
            }
            _ => {}
        }
    }
    found
}

/// A literal over several lines, as one.
fn joined(text: &str) -> String {
    let mut lines = text.split("\\\n");
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(first, |whole, line| whole + line.trim_start())
}

/// The longest part of a text that is not filled in.
fn fixed(text: &str) -> String {
    let parts = text.split('{').map(|part| part.split_once('}').map_or(part, |(_, rest)| rest));
    parts.max_by_key(|part| part.len()).unwrap_or_default().replace("\\\"", "\"")
}

#[test]
fn every_text_of_a_rule_is_in_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut files, mut rules, mut shown) = (Vec::new(), Vec::new(), String::new());
    sources(&root.join("src"), &mut files);
    sources(&root.join("tests"), &mut files);
    for file in files {
        let whole = joined(&fs::read_to_string(&file).unwrap());
        let only_tests = file.starts_with(root.join("tests")) || file.ends_with("tests.rs");
        let (rule, proof) = match whole.split_once("#[cfg(test)]") {
            _ if only_tests => (String::new(), whole),
            Some((rule, proof)) => (rule.to_owned(), proof.to_owned()),
            None => (whole, String::new()),
        };
        shown += &proof.replace("\\\"", "\"");
        rules.push((file, rule));
    }
    let (mut reported, mut untested) = (0, Vec::new());
    for (file, rule) in &rules {
        for way in TELLING {
            for (at, _) in rule.match_indices(way) {
                // Paths and words are not what is reported.
                let words = literals(&rule[at + way.len() - 1..]).into_iter().filter(|literal| literal.contains(' '));
                for text in words.map(|literal| fixed(&literal)).filter(|text| text.contains(' ')) {
                    reported += 1;
                    if !shown.contains(&text) {
                        untested.push(format!("{}: {text}", file.display()));
                    }
                }
            }
        }
    }
    assert!(reported > 100, "only {reported} texts were found: this test looks in the wrong places");
    assert!(untested.is_empty(), "no test has these:\n{}", untested.join("\n"));
}
