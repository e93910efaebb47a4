//! What is done for each call: the node's decision, then disk and kernel, then the decision's end.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    os::unix::fs::MetadataExt as _,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use netloom_cnispec::{Answer, Attached, Attachment, Call, Code, Failure, Request, Verb};
use netloom_netlink::KernelHost;
use netloom_podnet::{Decision, Node, Record, State, Waiting};

use crate::{links, records::Records};

/// What calls share.
pub(crate) struct Calls {
    node: Mutex<Node>,
    /// Something has become known.
    news: Condvar,
    records: Records,
    kernel: KernelHost,
    own_netns: Option<(u64, u64)>,
    timeout: Duration,
    /// Namespaces that somebody is at work in.
    busy: Mutex<BTreeSet<String>>,
    idle: Condvar,
    /// Whoever asks the API is told that there may be something to ask.
    wake: tokio::sync::Notify,
    began: Instant,
}

/// Somebody is at work in a namespace until this is dropped.
struct Work<'a> {
    calls: &'a Calls,
    netns: String,
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        lock(&self.calls.busy).remove(&self.netns);
        self.calls.idle.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[expect(clippy::disallowed_methods, reason = "this is the outermost shell: decisions take time as a value")]
fn clock() -> Instant {
    Instant::now()
}

impl Calls {
    pub(crate) fn new(
        node: Node,
        records: Records,
        kernel: KernelHost,
        own_netns: Option<(u64, u64)>,
        timeout: Duration,
    ) -> Self {
        Self {
            node: Mutex::new(node),
            news: Condvar::new(),
            records,
            kernel,
            own_netns,
            timeout,
            busy: Mutex::default(),
            idle: Condvar::new(),
            wake: tokio::sync::Notify::new(),
            began: clock(),
        }
    }

    /// Changes what is known, and tells everybody who waits.
    pub(crate) fn learn<T>(&self, learn: impl FnOnce(&mut Node) -> T) -> T {
        let result = learn(&mut lock(&self.node));
        self.news.notify_all();
        result
    }

    /// Milliseconds since the beginning, for decisions.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Waits until there may be something to ask the API.
    pub(crate) async fn woken(&self) {
        self.wake.notified().await;
    }

    /// Takes away what an earlier life left half made.
    pub(crate) fn clean(&self) {
        let half: Vec<Record> =
            lock(&self.node).records().filter(|record| record.state == State::Making).cloned().collect();
        for record in half {
            if let Err(failure) = self.release(&record) {
                tracing::warn!(container = record.container, %failure, "what was half made could not be taken away");
            }
        }
    }

    fn work_in(&self, netns: &str) -> Work<'_> {
        let busy = lock(&self.busy);
        let taken = |busy: &mut BTreeSet<String>| !busy.insert(netns.to_owned());
        drop(self.idle.wait_while(busy, taken).unwrap_or_else(PoisonError::into_inner));
        Work { calls: self, netns: netns.to_owned() }
    }

    /// Takes everything of a record away: links, then the file, then the addresses are free.
    fn release(&self, record: &Record) -> Result<(), Failure> {
        links::remove(record)?;
        self.records.remove(&record.container).map_err(|why| disk(&why))?;
        self.learn(|node| node.released(&record.container));
        self.wake.notify_one();
        Ok(())
    }

    fn add(&self, attachment: &Attachment, request: &Request) -> Result<Attached, Failure> {
        let netns = attachment.netns.as_deref().unwrap_or_default();
        self.is_a_pods(netns, request)?;
        let _work = self.work_in(netns);
        let deadline = clock() + self.timeout;
        loop {
            match self.decide(attachment, request, deadline) {
                Decision::Same(attached) => return Ok(attached),
                Decision::Refused(failure) => return Err(failure),
                Decision::Wait(waiting) => return Err(waiting.failure()),
                Decision::ReleaseFirst(containers) => {
                    for container in containers {
                        let record = lock(&self.node).record(&container).cloned();
                        record.map_or(Ok(()), |record| self.release(&record))?;
                    }
                }
                Decision::Make(record) => return self.make(&record),
            }
        }
    }

    /// Decides as soon as everything is known, or when there is no more time.
    fn decide(&self, attachment: &Attachment, request: &Request, deadline: Instant) -> Decision {
        let mut node = lock(&self.node);
        loop {
            let decision = node.add(attachment, &request.config);
            let left = deadline.saturating_duration_since(clock());
            let Decision::Wait(waiting) = &decision else { return decision };
            if left.is_zero() {
                return decision;
            }
            if let Waiting::Address(_) = waiting {
                self.wake.notify_one();
            }
            node = self.news.wait_timeout(node, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn make(&self, record: &Record) -> Result<Attached, Failure> {
        let made =
            self.records.write(record).map_err(|why| disk(&why)).and_then(|()| links::make(&self.kernel, record));
        let made = made.and_then(|attached| {
            let whole = self.learn(|node| node.made(&record.container, attached.clone()).cloned());
            whole.map_or(Ok(()), |whole| self.records.write(&whole)).map_err(|why| disk(&why))?;
            Ok(attached)
        });
        match made {
            Ok(attached) => {
                self.wake.notify_one();
                Ok(attached)
            }
            Err(failure) => match self.release(record) {
                Ok(()) => Err(failure),
                Err(why) => Err(Failure { details: format!("{} {why}", failure.details).trim().to_owned(), ..failure }),
            },
        }
    }

    /// The namespace of a pod is not that of its node.
    fn is_a_pods(&self, netns: &str, request: &Request) -> Result<(), Failure> {
        let file = fs::metadata(netns).map_err(|why| {
            Failure::new(Code::Namespace, format!("there is no network namespace {netns}")).with(why.to_string())
        })?;
        if !request.own_netns_allowed && self.own_netns == Some((file.dev(), file.ino())) {
            return Err(Failure::new(
                Code::Namespace,
                format!("CNI_NETNS {netns} is the network namespace of the node"),
            ));
        }
        Ok(())
    }

    fn del(&self, container: &str) -> Result<(), Failure> {
        let find = || lock(&self.node).record(container).cloned();
        let Some(record) = find() else { return Ok(()) };
        let _work = self.work_in(&record.netns);
        // Somebody else may have been faster.
        find().map_or(Ok(()), |record| self.release(&record))
    }

    fn check(&self, attachment: &Attachment) -> Result<(), Failure> {
        let record = lock(&self.node).record(&attachment.container).cloned();
        let Some(record) = record else {
            let msg = format!("container {} is not attached", attachment.container);
            return Err(Failure::new(Code::Refused, msg));
        };
        let missing = links::missing(&record)?;
        if missing.is_empty() {
            return Ok(());
        }
        let msg = format!("container {} is not attached as it was: {} missing", record.container, missing.join(", "));
        Err(Failure::new(Code::Interface, msg))
    }

    fn status(&self) -> Result<(), Failure> {
        if lock(&self.node).is_whole() {
            return Ok(());
        }
        Err(Failure::new(Code::Unavailable, "the agent of this node has not read its objects from the API yet"))
    }

    /// Detaches every container of the runtime's network that it does not name.
    fn collect(&self, request: &Request) -> Result<(), Failure> {
        let valid: BTreeSet<&str> =
            request.config.valid.iter().flatten().map(|attachment| attachment.container.as_str()).collect();
        let surplus: Vec<String> = lock(&self.node)
            .records()
            .filter(|record| record.network == request.config.name && !valid.contains(record.container.as_str()))
            .map(|record| record.container.clone())
            .collect();
        let mut failed: BTreeMap<String, Failure> = BTreeMap::new();
        for container in surplus {
            if let Err(failure) = self.del(&container) {
                failed.insert(container, failure);
            }
        }
        let Some((_, first)) = failed.first_key_value() else { return Ok(()) };
        let all: Vec<String> = failed.values().map(ToString::to_string).collect();
        Err(Failure::new(first.code, "some containers could not be detached").with(all.join("; ")))
    }
}

fn disk(why: &io::Error) -> Failure {
    Failure::new(Code::Io, "cannot write the record of the container").with(why.to_string())
}

/// Answers a call.
pub(crate) fn serve(calls: &Calls, call: &Call) -> Result<Answer, Failure> {
    let request = Request::read(&call.variables, call.config.as_bytes())?;
    let nothing = || Answer { ok: true, output: String::new() };
    match (request.verb, &request.attachment) {
        (Verb::Add, Some(attachment)) => {
            let attached = calls.add(attachment, &request)?;
            Ok(Answer { ok: true, output: attached.to_json(request.config.version).to_string() })
        }
        (Verb::Check, Some(attachment)) => calls.check(attachment).map(|()| nothing()),
        (Verb::Del, Some(attachment)) => calls.del(&attachment.container).map(|()| nothing()),
        (Verb::Gc, _) => calls.collect(&request).map(|()| nothing()),
        (Verb::Status, _) => calls.status().map(|()| nothing()),
        // A request about a container is only read with one.
        (Verb::Add | Verb::Check | Verb::Del, None) => Err(Failure::new(Code::Environment, "no container is named")),
    }
}

/// The node, shared.
pub(crate) type Shared = Arc<Calls>;
