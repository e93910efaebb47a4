//! Messages, reasons, manifests, examples and documentation use the words of the field: none that the glossary retired.
//!
//! The words and what to write instead are read from the glossary. Looked at are sentences: string literals of programs
//! without their tests, and whole files of text. Reasons are looked at word by word (`NotAsDesired`). What is part of a
//! path, a file name or a key is a name, and stays what it is.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use netloom_testkit::scenarios;

/// Folders and files of text for users, below the root.
const TEXTS: [&str; 5] = ["README.md", "CONTRIBUTING.md", "docs", "deploy", "examples"];
/// Folders of programs, below the root.
const PROGRAMS: [&str; 2] = ["bin", "crates"];
const GLOSSARY: &str = "docs/glossary.md";

/// A word or phrase that is not used any more, and what to write instead.
struct Retired {
    words: String,
    instead: String,
}

fn root() -> PathBuf {
    scenarios().join("..").canonicalize().expect("the root of the tree")
}

/// The table of retired words: each line has some in the type of a machine, and what to write.
fn retired(glossary: &str) -> Vec<Retired> {
    let (_, table) = glossary.split_once("\n## Retired words\n").unwrap_or_default();
    let lines = table.lines().filter(|line| line.starts_with("| `"));
    let cells = lines.filter_map(|line| line.trim_matches('|').split_once('|'));
    let of = |(old, new): (&str, &str)| -> Vec<Retired> {
        let words = old.split('`').skip(1).step_by(2).map(str::to_lowercase);
        words.map(|words| Retired { words, instead: new.trim().to_owned() }).collect()
    };
    cells.flat_map(of).collect()
}

/// All files below a folder whose path is wanted, or the file itself.
fn files(path: &Path, is_wanted: fn(&Path) -> bool, found: &mut Vec<PathBuf>) {
    if path.is_file() {
        found.extend(is_wanted(path).then(|| path.to_owned()));
        return;
    }
    let entries = fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        files(&path, is_wanted, found);
    }
}

fn is_text(path: &Path) -> bool {
    !path.ends_with(GLOSSARY)
}

/// Whether a file belongs to a program and is not a test.
fn is_source(path: &Path) -> bool {
    let has = |part: &str| path.components().any(|component| component.as_os_str() == part);
    path.extension().is_some_and(|extension| extension == "rs")
        && has("src")
        && !["tests", "target", "testkit"].into_iter().any(has)
        && !path.ends_with("tests.rs")
}

/// The string literals of a source with their places, without those of its tests.
fn literals(source: &str) -> Vec<(usize, String)> {
    let end = source.find("#[cfg(test)]\nmod ").unwrap_or(source.len());
    let letters: Vec<(usize, char)> = source[..end].char_indices().collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some((place, letter)) = letters.get(at).copied() {
        let rest = &source[place..end];
        if rest.starts_with("//") {
            at += rest.chars().take_while(|letter| *letter != '\n').count();
        } else if let Some(text) = rest.starts_with("r\"").then(|| raw(&rest[2..], "\"")).flatten() {
            at += text.chars().count() + 3;
            found.push((place, text));
        } else if let Some(text) = rest.starts_with("r#\"").then(|| raw(&rest[3..], "\"#")).flatten() {
            at += text.chars().count() + 5;
            found.push((place, text));
        } else if letter == '"' {
            let text = quoted(&rest[1..]);
            at += text.chars().count() + 2;
            found.push((place, text));
        } else {
            at += if rest.starts_with("'\"'") || rest.starts_with("'\\\"'") { 3 } else { 1 };
        }
    }
    found
}

fn raw(rest: &str, end: &str) -> Option<String> {
    rest.split_once(end).map(|(text, _)| text.to_owned())
}

/// A literal up to its end.
fn quoted(rest: &str) -> String {
    let mut escaped = false;
    let inside = rest.chars().take_while(|letter| {
        let ends = *letter == '"' && !escaped;
        escaped = *letter == '\\' && !escaped;
        !ends
    });
    inside.collect()
}

/// A literal as what is looked at: a sentence, or a reason as its words; none for a key or a name.
fn sentence(literal: &str) -> Option<String> {
    if literal.contains(char::is_whitespace) {
        return Some(literal.replace("\\\n", " ").replace("\\n", " ").replace("\\\"", "\""));
    }
    let is_reason = literal.starts_with(char::is_uppercase) && literal.chars().all(char::is_alphanumeric);
    let spaced = |letter: char| if letter.is_uppercase() { format!(" {letter}") } else { letter.to_string() };
    is_reason.then(|| literal.chars().map(spaced).collect())
}

/// Whether a letter before or after a word makes it part of a name.
fn joins(letter: char) -> bool {
    letter.is_alphanumeric() || "_-/$\\".contains(letter)
}

/// The places of a phrase in a text, whatever blanks and line breaks are in it.
fn places(text: &str, phrase: &str) -> Vec<usize> {
    let mut words = phrase.split(' ');
    let first = words.next().unwrap_or_default();
    let rest: Vec<&str> = words.collect();
    let is_phrase = |at: usize| {
        let mut after = &text[at + first.len()..];
        for word in &rest {
            let next = after.trim_start_matches([' ', '\n', '\t', '#', '\\']);
            if next.len() == after.len() {
                return false;
            }
            let Some(behind) = next.strip_prefix(word) else { return false };
            after = behind;
        }
        let named = after.strip_prefix('.').is_some_and(|end| end.starts_with(char::is_alphanumeric));
        !named && !after.starts_with(joins) && !text[..at].ends_with(|letter| joins(letter) || letter == '.')
    };
    text.match_indices(first).map(|(at, _)| at).filter(|at| is_phrase(*at)).collect()
}

/// What is wrong with a text, a line for each word.
fn judge(name: &str, before: &str, text: &str, retired: &[Retired]) -> String {
    let (text, start, mut wrong) = (text.to_lowercase(), before.matches('\n').count() + 1, String::new());
    for Retired { words, instead } in retired {
        for at in places(&text, words) {
            let line = start + text[..at].matches('\n').count();
            let _ = writeln!(wrong, "{name}:{line}: {words:?} is retired, write: {instead}");
        }
    }
    wrong
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn no_retired_word_is_in_messages_reasons_and_documentation() {
    let retired = retired(&read(&root().join(GLOSSARY)));
    assert!(retired.len() > 10, "the glossary retires only {} words", retired.len());
    let (mut texts, mut sources, mut wrong) = (Vec::new(), Vec::new(), String::new());
    for path in TEXTS {
        files(&root().join(path), is_text, &mut texts);
    }
    for path in PROGRAMS {
        files(&root().join(path), is_source, &mut sources);
    }
    assert!(texts.len() > 50 && sources.len() > 300, "{} texts and {} sources", texts.len(), sources.len());
    for path in texts {
        wrong += &judge(&path.display().to_string(), "", &read(&path), &retired);
    }
    for path in sources {
        let source = read(&path);
        for (at, literal) in literals(&source) {
            let text = sentence(&literal).unwrap_or_default();
            wrong += &judge(&path.display().to_string(), &source[..at], &text, &retired);
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn words_are_found_in_sentences_and_reasons_and_not_in_names() {
    let glossary = "\n## Retired words\n\n| retired | write |\n|---|---|\n| `gear`, `old gear` | device |\n";
    let retired = retired(glossary);
    let wrong = |text: &str| judge("f", "", text, &retired);
    assert_eq!(wrong("A gear.\n"), "f:1: \"gear\" is retired, write: device\n");
    assert!(wrong("some\nold\n# gear").starts_with("f:3: \"gear\""), "{}", wrong("some\nold\n# gear"));
    assert!(wrong("old\n# gear").contains("\"old gear\""));
    assert_eq!(wrong("gear.json, old-gear, gears, $gear and a/gear are names"), "");
    let source = "fn a() { // \"gear\"\n b(\"one \\\"gear\\\" more\", r#\"x \"gear\"\"#, '\"', \"NotGear\", \"gear\") }\n#[cfg(test)]\nmod t";
    let found: Vec<Option<String>> = literals(source).iter().map(|(_, literal)| sentence(literal)).collect();
    let shown: Vec<bool> = found.iter().map(|text| text.as_ref().is_some_and(|text| !wrong(text).is_empty())).collect();
    assert_eq!(shown, [true, true, true, false], "{found:?}");
}
