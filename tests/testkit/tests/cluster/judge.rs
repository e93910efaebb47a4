//! Two servers' answers to one script, and the differences that are allowed.
//!
//! The list of allowed differences is one file. An entry that no difference needs any more fails the
//! tier, so the list can only get shorter by itself.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    path::Path,
};

use netloom_testkit::runner::{Ended, Outcome};
use serde_json::Value;

use crate::script::{self, Step};

/// How many characters of a value a report shows.
const SHOWN: usize = 700;

/// One reason for differences, with the requests that have them.
#[derive(Debug)]
struct Entry {
    requests: Vec<String>,
    fields: Vec<String>,
    /// The code that ours must answer, for the entry to count.
    ours: Option<u64>,
    reason: String,
}

/// All allowed differences, and which of them were met.
pub(crate) struct Allowed {
    entries: Vec<Entry>,
    /// By the number of the entry and of the request in it.
    used: RefCell<BTreeSet<(usize, usize)>>,
}

impl Allowed {
    /// Reads the list.
    pub(crate) fn load(file: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let list = script::json_of(&text).map_err(|why| format!("{}: {why}", file.display()))?;
        let entries = list.as_array().ok_or("the allowed differences are not a list")?.iter().map(|entry| {
            // One may stand without its brackets.
            let texts = |key: &str| -> Vec<String> {
                let several = entry[key].as_array().into_iter().flatten();
                several.chain(Some(&entry[key])).filter_map(Value::as_str).map(str::to_owned).collect()
            };
            let text = |key: &str| {
                entry[key]
                    .as_str()
                    .map(str::to_owned)
                    .filter(|text| !text.is_empty())
                    .ok_or(format!("{key} is missing in {entry}"))
            };
            let (requests, fields) = (texts("requests"), texts("fields"));
            if requests.is_empty() || fields.is_empty() {
                return Err(format!("requests or fields are missing in {entry}"));
            }
            if fields.iter().any(|field| matches!(field.as_str(), "*" | "/*")) {
                return Err(format!("an entry names the fields in which it allows something, not all: {entry}"));
            }
            let ours = entry["ours"].as_u64();
            if ours.is_none() && fields.iter().any(|field| field == "/body*") {
                return Err(format!("where the whole body may differ, the code of ours must be reported: {entry}"));
            }
            Ok(Entry { requests, fields, ours, reason: text("reason")? })
        });
        let entries = entries.collect::<Result<_, String>>()?;
        Ok(Self { entries, used: RefCell::default() })
    }

    fn allows(&self, request: &str, field: &str, ours: &Value) -> bool {
        let mut found = false;
        for (number, entry) in self.entries.iter().enumerate() {
            if entry.ours.is_some_and(|code| ours["code"] != code) {
                continue;
            }
            if !entry.fields.iter().any(|known| glob(known, field)) {
                continue;
            }
            for (place, _) in entry.requests.iter().enumerate().filter(|(_, known)| glob(known, request)) {
                self.used.borrow_mut().insert((number, place));
                found = true;
            }
        }
        found
    }

    /// Requests of the list that do not need it.
    pub(crate) fn unused(&self) -> Vec<String> {
        let used = self.used.borrow();
        let mut unused = Vec::new();
        for (number, entry) in self.entries.iter().enumerate() {
            for (place, request) in entry.requests.iter().enumerate() {
                if !used.contains(&(number, place)) {
                    unused.push(format!("{request} {:?} ({})", entry.fields, entry.reason));
                }
            }
        }
        unused
    }
}

/// The outcome of a comparison. The differences are also written into a file as soon as they are
/// known: a whole run takes minutes.
pub(crate) fn outcome(folder: &Path, name: &str, compared: usize, reports: &[String]) -> Outcome {
    if reports.is_empty() {
        return Ok(Ended::Passed(Some(format!("{compared} compared"))));
    }
    let text = format!("{} of {compared} differ\n\n{}", reports.len(), reports.join("\n"));
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(folder.join(format!("{}.txt", name.replace('/', "-"))), &text))
        .map_err(|error| format!("{}: {error}\n{text}", folder.display()))?;
    Err(text)
}

/// The first state that ours came to and the real server did not.
pub(crate) fn only_real_was_late<'a>(steps: &'a [Step], real: &[Value], ours: &[Value]) -> Option<&'a str> {
    let late = |answer: &Value| answer.get("failed").is_some();
    let mut waits = steps.iter().zip(real).zip(ours).filter(|((step, _), _)| step.until.is_some());
    waits.find(|((_, real), ours)| late(real) && !late(ours)).map(|((step, _), _)| step.title.as_str())
}

/// What two servers answered to the same request, where it is not the same.
pub(crate) fn report(script: &str, steps: &[Step], real: &[Value], ours: &[Value], allowed: &Allowed) -> Vec<String> {
    let mut reports = Vec::new();
    for ((step, real), ours) in steps.iter().zip(real).zip(ours) {
        let request = format!("{script}: {}", step.title);
        let mut found = BTreeMap::new();
        walk("", real, ours, &mut found);
        found.retain(|field, _| !allowed.allows(&request, field, ours));
        if let Some(why) = real.get("failed") {
            // The script itself is wrong, whatever the other server reported.
            found.insert("/failed".to_owned(), (why.to_string(), ours["failed"].to_string()));
        }
        if found.is_empty() {
            continue;
        }
        let mut text = format!("{request}\n    {} {}\n", step.method, step.target);
        for (field, (real, ours)) in found {
            writeln!(text, "    {field}\n      real: {}\n      ours: {}", short(&real), short(&ours)).ok();
        }
        reports.push(text);
    }
    reports
}

/// The smallest places in which two values differ.
fn walk(place: &str, real: &Value, ours: &Value, found: &mut BTreeMap<String, (String, String)>) {
    match (real, ours) {
        (Value::Object(left), Value::Object(right)) => {
            let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            for key in keys {
                let inner = format!("{place}/{}", key.replace('~', "~0").replace('/', "~1"));
                match (left.get(key), right.get(key)) {
                    (Some(left), Some(right)) => walk(&inner, left, right, found),
                    (left, right) => {
                        let show = |side: Option<&Value>| side.map_or("(absent)".to_owned(), Value::to_string);
                        found.insert(inner, (show(left), show(right)));
                    }
                }
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (number, (left, right)) in left.iter().zip(right).enumerate() {
                walk(&format!("{place}/{number}"), left, right, found);
            }
        }
        (left, right) if left == right => {}
        // What both begin with says nothing about where they part.
        (Value::Array(left), Value::Array(right)) => {
            let same = left.iter().zip(right).take_while(|(left, right)| left == right).count();
            let rest = |items: &[Value]| format!("(after {same} equal) {}", Value::from(items[same..].to_vec()));
            found.insert(place.to_owned(), (rest(left), rest(right)));
        }
        (left, right) => {
            found.insert(place.to_owned(), (left.to_string(), right.to_string()));
        }
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}… ({} more)", &text[..end], text.len() - end),
        None => text.to_owned(),
    }
}

/// A pattern in which `*` stands for any characters.
pub(crate) fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}
