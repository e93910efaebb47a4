//! Scripts of requests: text files that read like HTTP.
//!
//! ```text
//! ### what this request is about
//! PATCH merge /api/v1/namespaces/{{ns}}/configmaps/a?fieldManager=me
//! Accept: application/json
//! @save version /metadata/resourceVersion
//!
//! data: {key: value}
//! ```
//!
//! A body is written as YAML and sent as JSON, unless its content type is another or `@raw` keeps it
//! as it stands. `{{name}}` is a saved value, `{{text*9}}` is the text nine times. This module only
//! reads scripts; `perform` sends them.

use serde_json::Value;

/// The kinds of patches by the word in the request's line, and the content types that they mean.
const PATCHES: &[(&str, &str)] = &[
    ("json", "application/json-patch+json"),
    ("merge", "application/merge-patch+json"),
    ("strategic", "application/strategic-merge-patch+json"),
    ("apply", "application/apply-patch+yaml"),
];

/// What kubectl asks for when it prints a table.
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,\
                     application/json";

/// One request with what is to be done around it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Step {
    pub(crate) title: String,
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Body,
    pub(crate) who: Who,
    pub(crate) saves: Vec<(String, String)>,
    pub(crate) until: Option<(String, String)>,
    pub(crate) picks: Vec<String>,
    pub(crate) watch: Option<Watch>,
}

/// A body as it stands in the script.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum Body {
    #[default]
    None,
    /// Sent as these characters.
    Text(String),
    /// Written as YAML, sent as JSON.
    Json(String),
    /// Bytes that are no text.
    Bytes(Vec<u8>),
}

/// Who sends the request.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum Who {
    /// The administrator, by certificate.
    #[default]
    Admin,
    /// The administrator in somebody else's name.
    As { user: String, groups: Vec<String> },
    /// Whoever this token stands for.
    Token(String),
    /// Nobody.
    Anonymous,
}

/// How a watch is read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Watch {
    /// It goes on under this name while later requests run.
    pub(crate) name: Option<String>,
    /// So many events, and then no more for a moment; or all until the server ends it.
    pub(crate) events: Option<usize>,
    /// Bookmarks come when they come, and are left out unless asked for.
    pub(crate) bookmarks: bool,
}

/// Reads a script.
pub(crate) fn parse(text: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut blocks = text.split("\n### ").enumerate();
    let head = blocks.next().map_or("", |(_, head)| head);
    if let Some(first) = head.strip_prefix("### ") {
        steps.push(step(first)?);
    } else if let Some(line) = head.lines().find(|line| !line.is_empty() && !line.starts_with('#')) {
        return Err(format!("a script begins with '# comment' or '### title', not with {line:?}"));
    }
    for (_, block) in blocks {
        steps.push(step(block)?);
    }
    Ok(steps)
}

fn step(block: &str) -> Result<Step, String> {
    let (title, rest) = block.split_once('\n').ok_or_else(|| format!("{block:?} has a title only"))?;
    let wrong = |why: &str| format!("request {title:?}: {why}");
    let (head, body) = match rest.split_once("\n\n") {
        Some((head, body)) => (head, body.trim_end_matches('\n')),
        None => (rest.trim_end_matches('\n'), ""),
    };
    let mut lines = head.lines();
    let mut step = Step { title: title.to_owned(), ..Step::default() };
    request_line(lines.next().unwrap_or_default(), &mut step).map_err(|why| wrong(&why))?;
    let mut raw = false;
    for line in lines {
        if let Some(directive) = line.strip_prefix('@') {
            raw |= directive == "raw";
            directive_line(directive, &mut step).map_err(|why| wrong(&why))?;
        } else if let Some((name, value)) = line.split_once(':') {
            set_header(&mut step, name, value.trim());
        } else {
            return Err(wrong(&format!("{line:?} is neither a header nor a directive")));
        }
    }
    set_body(&mut step, body, raw);
    Ok(step)
}

fn request_line(line: &str, step: &mut Step) -> Result<(), String> {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        ["PATCH", kind, target] => {
            let (_, content_type) = PATCHES
                .iter()
                .find(|(name, _)| *name == kind)
                .ok_or_else(|| format!("{kind:?} is no kind of patch"))?;
            set_header(step, "Content-Type", content_type);
            "PATCH".clone_into(&mut step.method);
            target.clone_into(&mut step.target);
        }
        ["WATCH", target] => {
            step.watch = Some(Watch { name: None, events: None, bookmarks: false });
            "GET".clone_into(&mut step.method);
            target.clone_into(&mut step.target);
        }
        ["EVENTS", name] => {
            step.watch = Some(Watch { name: Some(name.to_owned()), events: None, bookmarks: false });
            "EVENTS".clone_into(&mut step.method);
        }
        [method, target] => {
            method.clone_into(&mut step.method);
            target.clone_into(&mut step.target);
        }
        _ => return Err(format!("{line:?} is not METHOD TARGET")),
    }
    Ok(())
}

fn directive_line(line: &str, step: &mut Step) -> Result<(), String> {
    let (name, words) = line.split_once(' ').unwrap_or((line, ""));
    match (name, words, &mut step.watch) {
        ("raw", "", _) => {}
        ("table", "", _) => set_header(step, "Accept", TABLE),
        ("anonymous", "", _) => step.who = Who::Anonymous,
        ("token", token, _) => step.who = Who::Token(token.to_owned()),
        ("as", who, _) => {
            let (user, groups) = who.split_once(' ').unwrap_or((who, ""));
            let groups = groups.split(',').filter(|group| !group.is_empty()).map(str::to_owned).collect();
            step.who = Who::As { user: user.to_owned(), groups };
        }
        ("save", words, _) => step.saves.push(pair(words, " ")?),
        ("until", words, _) => step.until = Some(pair(words, " = ")?),
        ("pick", pointer, _) => step.picks.push(pointer.to_owned()),
        ("bytes", hex, _) => step.body = Body::Bytes(bytes(hex)?),
        ("background", name, Some(watch)) => watch.name = Some(name.to_owned()),
        ("events", count, Some(watch)) => watch.events = Some(count.parse().map_err(|_| format!("{count:?} events"))?),
        ("bookmarks", "", Some(watch)) => watch.bookmarks = true,
        _ => return Err(format!("there is no directive @{line}")),
    }
    Ok(())
}

fn pair(words: &str, separator: &str) -> Result<(String, String), String> {
    let (left, right) = words.split_once(separator).ok_or_else(|| format!("{words:?} is not two words"))?;
    Ok((left.trim().to_owned(), right.trim().to_owned()))
}

fn bytes(hex: &str) -> Result<Vec<u8>, String> {
    hex.split(' ').map(|two| u8::from_str_radix(two, 16).map_err(|error| format!("{two:?}: {error}"))).collect()
}

fn set_header(step: &mut Step, name: &str, value: &str) {
    step.headers.retain(|(old, _)| !old.eq_ignore_ascii_case(name) || name.eq_ignore_ascii_case("warning"));
    step.headers.push((name.to_owned(), value.to_owned()));
}

fn set_body(step: &mut Step, body: &str, raw: bool) {
    if body.is_empty() {
        return;
    }
    let content_type = step.header("Content-Type").unwrap_or("application/json");
    let json = content_type.contains("json") && !raw;
    if step.header("Content-Type").is_none() {
        set_header(step, "Content-Type", "application/json");
    }
    step.body = if json { Body::Json(body.to_owned()) } else { Body::Text(body.to_owned()) };
}

impl Step {
    /// The value of a header of the script.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// A text with `{{name}}` and `{{text*9}}` filled in.
pub(crate) fn fill(text: &str, saved: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let (word, tail) = after.split_once("}}").ok_or_else(|| format!("{{{{ without }}}} in {text:?}"))?;
        out.push_str(before);
        let repeated = word.rsplit_once('*').and_then(|(unit, count)| Some(unit.repeat(count.parse().ok()?)));
        let value = repeated.or_else(|| saved(word)).ok_or_else(|| format!("nothing was saved as {word:?}"))?;
        out.push_str(&value);
        rest = tail;
    }
    out.push_str(rest);
    Ok(out)
}

/// A body written as YAML, as the JSON that is sent.
pub(crate) fn json_of(yaml: &str) -> Result<Value, String> {
    netloom_testkit::yaml::read(yaml)
}
