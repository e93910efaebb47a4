//! The handle by which the rest of netloom uses a kernel.

use std::{collections::BTreeSet, io, thread, time::Duration};

use netloom_model::{Engine, EngineError, Observed, Scope, Step, StepError};
use netloom_types::{FilterInstruction, IfName, MacAddr};

use crate::{
    cable,
    child::{self, Child},
    events::Watch,
    execute,
    frames::{FrameError, FrameSocket, LinkAddress},
    hearing::{DeafError, Hearing},
    kernel::{Kernel, Options},
    netns::{Namespace, Worker},
    observe,
    probe::{Answer, Probe, default_gateway},
    socket::Counters,
    sysctl,
};

/// One network namespace of the running kernel. Everything happens on a thread inside it, which is a
/// thread of its own unless the caller's will do.
#[derive(Debug)]
pub struct KernelHost {
    worker: Worker<Kernel>,
}

impl KernelHost {
    /// Opens a namespace in the usual way.
    pub fn open(namespace: Namespace) -> Result<Self, EngineError> {
        Self::open_with(Options::of(namespace))
    }

    /// Opens a namespace.
    pub fn open_with(options: Options) -> Result<Self, EngineError> {
        let namespace = options.namespace.clone();
        let worker = if options.here && namespace == Namespace::Host {
            Worker::here(|| Kernel::open(&options))
        } else {
            Worker::start(namespace, move || Kernel::open(&options))
        };
        Ok(Self { worker: worker? })
    }

    /// The namespace.
    pub fn namespace(&self) -> &Namespace {
        self.worker.namespace()
    }

    /// Lays a cable from a link here to one in another namespace; both are made, and are down. What is refused is
    /// in the inner result.
    pub fn cable(&self, near: IfName, there: &Namespace, far: IfName) -> Result<Result<(), StepError>, EngineError> {
        let there = there.clone();
        self.worker.run(move |kernel| cable::lay(&mut kernel.route, near, &there, far))?
    }

    /// Makes a link on top of one of this namespace in another one. It is down. What is refused is in the inner
    /// result.
    pub fn child(&self, child: Child, there: &Namespace) -> Result<Result<(), StepError>, EngineError> {
        let there = there.clone();
        self.worker.run(move |kernel| child::make(&mut kernel.route, child, &there))?
    }

    /// Tells a link of this namespace, which is that of a pod, to announce its addresses when it comes up, and whether it
    /// has IPv6. What is refused is in the inner result.
    pub fn settle_child(&self, name: IfName, ipv6: bool) -> Result<Result<(), StepError>, EngineError> {
        self.worker.run(move |_| sysctl::set_of_pod(name, ipv6))
    }

    /// What went over the request sockets until now.
    pub fn counters(&self) -> Result<Counters, EngineError> {
        self.worker.run(|kernel| kernel.counters())
    }

    /// Subscribes to changes; `buffer` bounds the bytes that the kernel keeps for the watcher. The
    /// watch belongs to the namespace and can be used on any thread.
    pub fn watch(&self, buffer: usize) -> Result<Watch, EngineError> {
        self.worker.run(move |_| Watch::open(buffer))?.map_err(|e| e.doing("watch for changes"))
    }

    /// Somebody who hears frames of a protocol, on no link yet. It belongs to the namespace and can be
    /// asked for frames on any thread.
    pub fn hearing(&self, ethertype: u16, groups: &[MacAddr]) -> Result<Hearing, EngineError> {
        let groups = groups.to_vec();
        self.worker.run(move |_| Hearing::open(ethertype, &groups))?.map_err(|e| e.doing("listen for neighbours"))
    }

    /// Listens on these links and on no others; says on which it cannot.
    pub fn listen_on(
        &self,
        mut hearing: Hearing,
        links: BTreeSet<IfName>,
    ) -> Result<(Hearing, Vec<DeafError>), EngineError> {
        let done = self.worker.run(move |_| hearing.listen_on(&links).map(|deaf| (hearing, deaf)))?;
        done.map_err(|e| e.doing("listen for neighbours"))
    }

    /// A socket for whole frames of a protocol on a link, as a program of the packet filter lets them
    /// through. It belongs to the namespace and can be used on any thread.
    pub fn frame_socket(
        &self,
        link: IfName,
        ethertype: u16,
        program: Vec<FilterInstruction>,
    ) -> Result<Result<FrameSocket, FrameError>, EngineError> {
        self.worker.run(move |_| FrameSocket::open(link, ethertype, &program))
    }

    /// The same on a link that was found before.
    pub fn frame_socket_on(
        &self,
        link: LinkAddress,
        ethertype: u16,
        program: Vec<FilterInstruction>,
    ) -> Result<Result<FrameSocket, FrameError>, EngineError> {
        self.worker.run(move |_| FrameSocket::open_on(link, ethertype, &program))
    }

    /// Those of these links that carry frames, as sockets are bound to them.
    pub fn link_addresses(&self, links: BTreeSet<IfName>) -> Result<Vec<LinkAddress>, EngineError> {
        let failed = |error: io::Error| EngineError { doing: "list the links".to_owned(), why: error.to_string() };
        self.worker.run(move |_| LinkAddress::of(&links))?.map_err(failed)
    }

    /// Asks all probes at once, each within `limit`; answers are in the order of the probes. The
    /// default gateway is taken from `observed`.
    pub fn probe(&self, probes: &[Probe], observed: &Observed, limit: Duration) -> Result<Vec<Answer>, EngineError> {
        let gateway = default_gateway(observed);
        let probes = probes.to_vec();
        self.worker.run(move |_| {
            // A thread begins in the namespace of the one that starts it.
            thread::scope(|scope| {
                let asked: Vec<_> = probes.iter().map(|probe| scope.spawn(move || probe.run(gateway, limit))).collect();
                let failed = |_| Answer::Failed("the probe ended without an answer".to_owned());
                asked.into_iter().map(|probe| probe.join().unwrap_or_else(failed)).collect()
            })
        })
    }
}

impl Engine for KernelHost {
    fn observe(&mut self, scope: Scope) -> Result<Observed, EngineError> {
        self.worker.run(move |kernel| {
            // What was reported before this reading is in it.
            if let Some(watch) = &mut kernel.watch {
                watch.drain().map_err(|e| e.doing("watch for changes"))?;
            }
            observe::observe(kernel, scope)
        })?
    }

    fn execute(&mut self, steps: &[Step]) -> Result<Vec<Result<(), StepError>>, EngineError> {
        if let Some(kernel) = self.worker.state_here() {
            return execute::execute(kernel, steps);
        }
        let steps = steps.to_vec();
        self.worker.run(move |kernel| execute::execute(kernel, &steps))?
    }

    /// The first call only begins to listen and says that there was a change: nothing is known of the
    /// time before it.
    fn wait_for_change(&mut self, at_most: Duration) -> Result<bool, EngineError> {
        self.worker.run(move |kernel| {
            let failed = |e: crate::socket::NetlinkError| e.doing("watch for changes");
            if let Some(watch) = &mut kernel.watch {
                return Ok(!watch.settle(at_most).map_err(failed)?.is_empty());
            }
            kernel.watch = Some(Watch::open(kernel.event_buffer).map_err(failed)?);
            Ok(true)
        })?
    }
}
