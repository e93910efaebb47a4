//! One script, sent to one server.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use http::Request;
use netloom_testkit::timeouts::stretched;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout, timeout_at};

use crate::{
    normal::Names,
    script::{self, Body, Step, Watch, Who},
    wire::{Answer, Credentials, Lines, Wire},
};

/// How long an event or a state may be in coming.
const TIME_LIMIT: Duration = Duration::from_secs(25);

/// How long a watch must stay silent after the events that were expected.
const QUIET: Duration = Duration::from_millis(150);

/// A state that comes without an event to wait for is asked for this often.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// One server, with what a script has saved from its answers.
pub(crate) struct Performer<'a> {
    wire: &'a Wire,
    names: Names,
    saved: BTreeMap<String, String>,
    watches: BTreeMap<String, Lines>,
}

impl<'a> Performer<'a> {
    pub(crate) fn new(wire: &'a Wire, saved: BTreeMap<String, String>) -> Self {
        Self { wire, names: Names::new(wire.authority()), saved, watches: BTreeMap::new() }
    }

    /// What the script has saved under a name.
    pub(crate) fn saved(&self, name: &str) -> Option<&str> {
        self.saved.get(name).map(String::as_str)
    }

    /// Sends all requests in order. What a server does not answer at all is an answer too.
    pub(crate) async fn run(&mut self, steps: &[Step]) -> Vec<Value> {
        let mut answers = Vec::new();
        for step in steps {
            let answer = match self.step(step).await {
                Ok(answer) => picked(answer, &self.places(step)),
                Err(why) => json!({ "failed": self.names.text(&why) }),
            };
            answers.push(answer);
        }
        answers
    }

    /// The places that are compared, which may have saved values in their names.
    fn places(&self, step: &Step) -> Vec<(String, String)> {
        step.picks.iter().map(|place| (place.clone(), self.fill(place).unwrap_or_default())).collect()
    }

    async fn step(&mut self, step: &Step) -> Result<Value, String> {
        match &step.watch {
            Some(watch) if step.method == "EVENTS" => {
                let name = watch.name.clone().unwrap_or_default();
                let lines = self.watches.remove(&name).ok_or_else(|| format!("no watch {name:?}"))?;
                self.events(&name, lines, watch).await
            }
            Some(watch) => self.watch(step, watch).await,
            None => {
                let answer = self.until(step).await?;
                self.save(step, &answer)?;
                Ok(self.names.answer(&answer))
            }
        }
    }

    async fn watch(&mut self, step: &Step, watch: &Watch) -> Result<Value, String> {
        let (request, who) = self.request(step)?;
        let lines = self.wire.open(request, &credentials(&who)).await?;
        let Some(name) = &watch.name else { return self.events("", lines, watch).await };
        let opened = json!({ "code": lines.code, "headers": self.names.headers(&lines.headers) });
        self.watches.insert(name.clone(), lines);
        Ok(opened)
    }

    /// Reads the events that are asked for; a named watch then goes on.
    async fn events(&mut self, name: &str, mut lines: Lines, watch: &Watch) -> Result<Value, String> {
        let mut events = Vec::new();
        let mut end = "open";
        let deadline = Instant::now() + stretched(TIME_LIMIT);
        loop {
            let enough = watch.events.is_some_and(|wanted| events.len() >= wanted);
            let limit = if enough { Instant::now() + QUIET } else { deadline };
            match timeout_at(limit, lines.next()).await {
                Err(_) if enough => break,
                Err(_) => {
                    end = "waited in vain";
                    break;
                }
                Ok(Ok(None)) => {
                    end = "closed by the server";
                    break;
                }
                Ok(Err(why)) => return Err(why),
                Ok(Ok(Some(line))) => self.event(&line, watch, &mut events),
            }
        }
        let answer =
            json!({ "code": lines.code, "headers": self.names.headers(&lines.headers), "events": events, "end": end });
        if !name.is_empty() {
            self.watches.insert(name.to_owned(), lines);
        }
        Ok(answer)
    }

    fn event(&mut self, line: &str, watch: &Watch, events: &mut Vec<Value>) {
        let mut event: Value = serde_json::from_str(line).unwrap_or_else(|_| Value::String(line.to_owned()));
        let initial_end = line.contains("k8s.io/initial-events-end");
        if event["type"] == "BOOKMARK" && !initial_end && !watch.bookmarks {
            return;
        }
        self.names.value(&mut event);
        // One bookmark after the other says nothing new, and how many there are depends on speed.
        if event["type"] == "BOOKMARK" && events.last() == Some(&event) {
            return;
        }
        events.push(event);
    }

    /// Sends a request, again and again if it waits for something.
    async fn until(&mut self, step: &Step) -> Result<Answer, String> {
        let deadline = Instant::now() + stretched(TIME_LIMIT);
        let mut pause = tokio::time::interval(ASK_AGAIN);
        loop {
            pause.tick().await;
            let (request, who) = self.request(step)?;
            let answer = self.wire.send(request, &credentials(&who)).await?;
            let Some((place, wanted)) = &step.until else { return Ok(answer) };
            if text_at(&answer, place).unwrap_or_default() == *wanted {
                return Ok(answer);
            }
            if Instant::now() > deadline {
                return Err(format!(
                    "{place} was never {wanted:?}; at the end: {}",
                    String::from_utf8_lossy(&answer.body)
                ));
            }
        }
    }

    fn save(&mut self, step: &Step, answer: &Answer) -> Result<(), String> {
        for (name, place) in &step.saves {
            let value = text_at(answer, place).ok_or_else(|| {
                format!("nothing at {place} to save, in {} {}", answer.code, String::from_utf8_lossy(&answer.body))
            })?;
            self.saved.insert(name.clone(), value);
        }
        Ok(())
    }

    fn fill(&self, text: &str) -> Result<String, String> {
        script::fill(text, &|name| self.saved.get(name).cloned())
    }

    fn request(&self, step: &Step) -> Result<(Request<Bytes>, Who), String> {
        let target = self.fill(&step.target)?;
        let mut request = Request::builder().method(step.method.as_str()).uri(&target);
        if step.header("Accept").is_none() {
            request = request.header("Accept", "application/json");
        }
        if step.header("User-Agent").is_none() {
            request = request.header("User-Agent", "script/1.0");
        }
        for (name, value) in step.headers.iter().filter(|(_, value)| !value.is_empty()) {
            request = request.header(name, self.fill(value)?);
        }
        if let Who::As { user, groups } = &step.who {
            request = request.header("Impersonate-User", self.fill(user)?);
            for group in groups {
                request = request.header("Impersonate-Group", self.fill(group)?);
            }
        }
        let who = match &step.who {
            Who::Token(token) => Who::Token(self.fill(token)?),
            other @ (Who::Admin | Who::As { .. } | Who::Anonymous) => other.clone(),
        };
        let body = match &step.body {
            Body::None => Bytes::new(),
            Body::Bytes(bytes) => bytes.clone().into(),
            Body::Text(text) => self.fill(text)?.into(),
            Body::Json(text) => script::json_of(&self.fill(text)?)?.to_string().into(),
        };
        Ok((request.body(body).map_err(|error| format!("{target:?}: {error}"))?, who))
    }
}

fn credentials(who: &Who) -> Credentials<'_> {
    match who {
        Who::Admin | Who::As { .. } => Credentials::Admin,
        Who::Token(token) => Credentials::Token(token),
        Who::Anonymous => Credentials::None,
    }
}

/// `code`, `header:NAME`, or a JSON pointer into the body; as text.
fn text_at(answer: &Answer, place: &str) -> Option<String> {
    if place == "code" {
        return Some(answer.code.to_string());
    }
    if let Some(wanted) = place.strip_prefix("header:") {
        return answer
            .headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(wanted))
            .map(|(_, value)| value.clone());
    }
    let body: Value = serde_json::from_slice(&answer.body).ok()?;
    match pointed(&body, place)? {
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// Only the places that are asked for, each under its name.
fn picked(answer: Value, picks: &[(String, String)]) -> Value {
    if picks.is_empty() {
        return answer;
    }
    let places = picks
        .iter()
        .map(|(name, place)| (name.clone(), pointed(&answer["body"], place).cloned().unwrap_or(Value::Null)));
    let mut places: Value = places.collect::<serde_json::Map<_, _>>().into();
    places["code"] = answer["code"].clone();
    if answer["body"]["status"] == "Failure" {
        places["message"] = answer["body"]["message"].clone();
    }
    places["headers"] = answer["headers"].clone();
    places
}

/// A JSON pointer whose parts may also be `key=value`: the item of a list with that field.
fn pointed<'v>(value: &'v Value, place: &str) -> Option<&'v Value> {
    place.split('/').skip(1).try_fold(value, |at, part| {
        let part = part.replace("~1", "/").replace("~0", "~");
        match at {
            Value::Array(items) => match part.split_once('=') {
                Some((key, wanted)) => items.iter().find(|item| {
                    key.split('.').try_fold(*item, |at, key| at.get(key)).and_then(Value::as_str) == Some(wanted)
                }),
                None => items.get(part.parse::<usize>().ok()?),
            },
            Value::Object(fields) => fields.get(&part),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        }
    })
}

/// Runs something with a limit, for callers that have no request of their own.
pub(crate) async fn within<T>(limit: Duration, what: &str, work: impl Future<Output = T>) -> Result<T, String> {
    timeout(limit, work).await.map_err(|_| format!("{what}: not within {limit:?}"))
}
