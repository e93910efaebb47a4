//! Stories with kubectl: one bash script each, the same words to both servers, with the newest
//! kubectl and with an older one.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::LazyLock,
};

use netloom_testkit::runner::Outcome;
use regex::Regex;
use serde_json::{Value, json};

use crate::{
    Stage, judge,
    normal::Names,
    script::Step,
    servers::{Server, Side},
};

/// A kubectl to tell stories with.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) program: PathBuf,
    /// `1.36`.
    pub(crate) minor: String,
}

/// What differs from run to run in text that is meant for people.
static VARYING: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let pattern = |text: &str| Regex::new(text).expect("the patterns of this file are written manually");
    vec![
        (pattern(r#"resourceVersion: "?\d+"?"#), "resourceVersion: <version>"),
        (pattern(r#""resourceVersion": ?"\d+""#), r#""resourceVersion": "<version>""#),
        (pattern(r"Resource Version: +\d+"), "Resource Version: <version>"),
        (pattern(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} 20[2-9]\d \d\d:\d\d:\d\d [+-]\d{4}"), "<date>"),
        (pattern(r"20[2-9]\d-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? [+-]\d{4}"), "<date>"),
        (pattern(r"/tmp/(LIVE|MERGED)-\d+"), "/tmp/$1"),
        (pattern(r"/tmp/[\w.-]*kubectl-edit-\d+"), "/tmp/edit"),
        (pattern(r"\b\d+(m\d+)?s\b( ago)?"), "<age>"),
        (pattern(r"E\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ "), "E<time> "),
        (pattern(r"-[bcdfghjklmnpqrstvwxz2456789]{5} created"), "-<generated> created"),
        // A kubectl whose own time is up logs this or not, whichever of its two threads comes first; and how much of that
        // time is left for a watch is not for the server to say either. Versions differ in how they begin such a line.
        (pattern(r"(?m)^[EIW]\S* .*reflector\.go:\d+\] .*(context deadline exceeded|very short watch: ).*\n"), ""),
    ]
});

/// The newest kubectl and an older one, as far as they can be asked who they are.
pub(crate) fn clients(peers: &Path) -> Vec<Client> {
    let programs = ["kubectl", "older-kubectl"].map(|name| peers.join(name));
    programs.into_iter().filter_map(|program| Some(Client { minor: minor(&program)?, program })).collect()
}

fn minor(program: &Path) -> Option<String> {
    let output = Command::new(program).args(["version", "--client", "-o", "json"]).output().ok()?;
    let answer: Value = serde_json::from_slice(&output.stdout).ok()?;
    let part = |name: &str| answer["clientVersion"][name].as_str().map(|text| text.trim_end_matches('+').to_owned());
    Some(format!("{}.{}", part("major")?, part("minor")?))
}

/// The stories by name.
pub(crate) fn stories() -> Vec<(String, PathBuf)> {
    let folder = netloom_testkit::scenarios().join("kubectl");
    let mut stories: Vec<(String, PathBuf)> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "bash"))
        .map(|path| (path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), path))
        .filter(|(name, _)| name != "prelude")
        .collect();
    stories.sort();
    stories
}

/// Tells a story to both servers and compares what came back, command by command.
pub(crate) fn compare(stage: &Stage, name: &str, file: &Path, client: &Client) -> Outcome {
    let (real, ours) = (&stage.servers[&Side::Real], &stage.servers[&Side::Ours]);
    let tell = |server: &Server| tell(server, name, file, client);
    let (real, ours) = std::thread::scope(|scope| {
        let real = scope.spawn(|| tell(real));
        let ours = tell(ours);
        (real.join().unwrap_or_else(|_| Err("the story panicked".to_owned())), ours)
    });
    let (real, ours) = (commands(&real?), commands(&ours?));
    let steps: Vec<Step> = real.iter().map(|(command, _)| Step { title: command.clone(), ..Step::default() }).collect();
    let printed = |story: Vec<(String, Value)>| story.into_iter().map(|(_, printed)| printed).collect::<Vec<Value>>();
    let (real, ours) = (printed(real), printed(ours));
    if real.len() != ours.len() {
        return Err(format!("{} commands with the real server, {} with ours", real.len(), ours.len()));
    }
    let reports = judge::report(&format!("kubectl {name}"), &steps, &real, &ours, &stage.allowed);
    let test = format!("kubectl-{}/{name}", client.minor);
    judge::outcome(&stage.differences(), &test, steps.len(), &reports)
}

/// A story cut into its commands, each with the lines that it reported.
fn commands(text: &str) -> Vec<(String, Value)> {
    let mut commands: Vec<(String, Value)> = Vec::new();
    for (number, part) in text.split("$ kubectl ").enumerate() {
        let (command, printed) =
            if number == 0 { ("(before)", part) } else { part.split_once('\n').unwrap_or((part, "")) };
        let mut printed: Vec<&str> = printed.lines().collect();
        // Errors of one object are found in no fixed order.
        printed
            .chunk_by_mut(|left, right| left.starts_with("* ") && right.starts_with("* "))
            .for_each(<[&str]>::sort_unstable);
        commands.push((command.to_owned(), json!({ "said": printed })));
    }
    commands
}

/// One story with one server, as text.
pub(crate) fn tell(server: &Server, name: &str, file: &Path, client: &Client) -> Result<String, String> {
    let output = Command::new("bash")
        .arg(file)
        .env("KUBECTL", &client.program)
        .env("KUBECONFIG", &server.kubeconfig)
        .env("STORY", format!("{name}-{}", client.minor.replace('.', "")))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("bash: {error}"))?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    let mut text = Names::new(server.wire.authority()).text(&text);
    for (pattern, shown) in VARYING.iter() {
        text = pattern.replace_all(&text, *shown).into_owned();
    }
    Ok(text.lines().map(narrow).collect::<Vec<_>>().join("\n"))
}

/// Columns are as wide as what stands in them; what a line begins with stays.
fn narrow(line: &str) -> String {
    let begin = line.len() - line.trim_start_matches(['+', '-', ' ']).len();
    let mut narrow = line[..begin].to_owned();
    let mut spaces = 0;
    for letter in line[begin..].chars() {
        spaces = if letter == ' ' { spaces + 1 } else { 0 };
        if spaces < 3 {
            narrow.push(letter);
        }
    }
    narrow
}
