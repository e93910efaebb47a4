//! What happened, as one number for all of it and as words for the last of it.

use std::{collections::VecDeque, fmt};

use netloom_api::GroupKind;
use netloom_object::Change;

use crate::{Cluster, Process, requests::Requests};

/// As many as one reads to see how it came to the end.
const LAST: usize = 60;

/// What happened.
#[derive(Debug, Clone)]
pub struct Trace {
    hash: u64,
    events: u64,
    last: VecDeque<String>,
}

impl Default for Trace {
    fn default() -> Self {
        Self { hash: 0xcbf2_9ce4_8422_2325, events: 0, last: VecDeque::new() }
    }
}

impl Trace {
    /// Takes an event down.
    pub(crate) fn note(&mut self, event: fmt::Arguments<'_>) {
        let line = event.to_string();
        for byte in line.bytes().chain([b'\n']) {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self.events += 1;
        if self.last.len() == LAST {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }

    /// A number that two runs have in common only when the same happened in both at the same times.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// How many events there were.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The last events.
    pub fn last(&self) -> impl Iterator<Item = &str> {
        self.last.iter().map(String::as_str)
    }
}

impl Cluster {
    pub(crate) fn note(&mut self, event: fmt::Arguments<'_>) {
        self.trace.note(format_args!("{:>12} {event}", self.now));
    }

    pub(crate) fn note_request(&mut self, from: Process, chain: &Requests) {
        if let Some(request) = chain.front() {
            let (kind, name) = (request.target.kind.kind, &request.target.key.name);
            self.note(format_args!("{from:?} asks {} {kind} {name}", request.id.0));
        }
    }

    pub(crate) fn note_change(&mut self, to: Process, kind: GroupKind<'static>, change: &Change) {
        let version = self.server.version();
        match change {
            Change::Put(object) | Change::Gone(object) => {
                let (name, of) = (&object["metadata"]["name"], &object["metadata"]["resourceVersion"]);
                self.note(format_args!("{to:?} sees {} {name} {of} of {version}", kind.kind));
            }
            Change::Listed { objects, .. } => {
                self.note(format_args!("{to:?} lists {} {} of {version}", objects.len(), kind.kind));
            }
        }
    }
}
