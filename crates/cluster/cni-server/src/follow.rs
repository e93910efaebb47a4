//! The API beside the socket: objects of this node are followed, and what the node asks for is carried out.

use std::{collections::BTreeMap, time::Duration};

use futures_util::StreamExt as _;
use kube::{
    Client,
    api::{ApiResource, GroupVersionKind},
    runtime::watcher,
};
use netloom_api::{
    Declared as _, GroupKind, Owner,
    podnet::{self, DANM_EP, DanmEp, IP_BLOCK, IPBlock, NetworkRef},
};
use netloom_client::{Ended, Watch, Writer};
use netloom_object::{Change, RequestId};
use netloom_podnet::POD;
use serde_json::Value;
use std::sync::Arc;
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::{AbortHandle, JoinSet},
    time::sleep,
};

use crate::calls::Shared;

/// The name under which fields are owned.
const MANAGER: &str = "netloom-agent";

/// How long one request may take.
const TIME_LIMIT: Duration = Duration::from_secs(15);

/// What comes from the API.
enum News {
    Change(Change),
    Network(NetworkRef, Option<Arc<Value>>),
    Answered(RequestId, netloom_object::Answer),
}

/// Follows and asks.
pub(crate) struct Follower {
    node: String,
    client: Client,
    calls: Shared,
    news: UnboundedSender<News>,
    queue: UnboundedReceiver<News>,
    networks: BTreeMap<NetworkRef, AbortHandle>,
}

impl Follower {
    pub(crate) fn new(node: String, client: Client, calls: Shared) -> Self {
        let (news, queue) = unbounded_channel();
        Self { node, client, calls, news, queue, networks: BTreeMap::new() }
    }

    /// Begins; everything ends when the set is dropped.
    pub(crate) fn start(self) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        for (kind, fields) in [
            (POD, format!("spec.nodeName={}", self.node)),
            (IP_BLOCK, selector(IPBlock::OWNER, &self.node)),
            (DANM_EP, selector(DanmEp::OWNER, &self.node)),
        ] {
            let watch = Watch { fields: Some(fields), ..Watch::all(kind, resource(kind)) };
            tasks.spawn(follow(watch, self.client.clone(), self.news.clone()));
        }
        tasks.spawn(self.run());
        tasks
    }

    async fn run(mut self) {
        let resource = |kind| Some(resource(kind));
        let writer = Writer { client: self.client.clone(), manager: MANAGER, time_limit: TIME_LIMIT, resource };
        let mut running = JoinSet::new();
        loop {
            let now = self.calls.now();
            let (follows, (chains, wake_at)) = self.calls.learn(|node| (node.follows(), node.requests(now)));
            self.networks.retain(|network, task| {
                let stays = follows.contains(network);
                if !stays {
                    task.abort();
                }
                stays
            });
            for network in follows {
                if !self.networks.contains_key(&network) {
                    let task = running.spawn(follow_network(network.clone(), self.client.clone(), self.news.clone()));
                    self.networks.insert(network, task);
                }
            }
            for chain in chains {
                let (writer, news) = (writer.clone(), self.news.clone());
                running.spawn(async move { writer.carry(chain, || true, |ended| tell(&news, ended)).await });
            }
            let pause = wake_at.map(|at| Duration::from_millis(at.saturating_sub(self.calls.now())));
            tokio::select! {
                news = self.queue.recv() => match news {
                    Some(news) => self.take(news),
                    None => return,
                },
                () = self.calls.woken() => {}
                () = sleep(pause.unwrap_or_default()), if pause.is_some() => {}
                Some(_) = running.join_next() => {}
            }
            while let Ok(news) = self.queue.try_recv() {
                self.take(news);
            }
        }
    }

    fn take(&self, news: News) {
        let now = self.calls.now();
        self.calls.learn(|node| match news {
            News::Change(change) => node.take(&change),
            News::Network(network, object) => node.network(&network, object.as_deref()),
            News::Answered(id, answer) => node.answered(now, id, &answer),
        });
    }
}

fn tell(news: &UnboundedSender<News>, ended: Ended) {
    let Ended { request, outcome, change, why: _ } = ended;
    let answered = News::Answered(request.id, outcome.answer());
    for one in change.map(News::Change).into_iter().chain([answered]) {
        // Nobody listens any more only when the server ends.
        news.send(one).ok();
    }
}

fn selector(owner: Owner, node: &str) -> String {
    owner.selector(node).unwrap_or_default()
}

async fn follow(watch: Watch, client: Client, news: UnboundedSender<News>) {
    let kind = watch.kind;
    let mut changes = watch.follow(client);
    while let Some(change) = changes.next().await {
        match change {
            Ok(change) => {
                if news.send(News::Change(change)).is_err() {
                    return;
                }
            }
            Err(why) => tracing::warn!(kind = kind.kind, %why, "the watch was interrupted"),
        }
    }
}

/// Follows one network. A kind that the cluster does not have has no networks.
async fn follow_network(network: NetworkRef, client: Client, news: UnboundedSender<News>) {
    let kind = network.kind.group_kind();
    let namespace = Some(network.namespace.clone()).filter(|namespace| !namespace.is_empty());
    let fields = Some(format!("metadata.name={}", network.name));
    let mut changes = Watch { namespace, fields, ..Watch::all(kind, resource(kind)) }.follow(client);
    while let Some(change) = changes.next().await {
        let object = match change {
            Ok(Change::Put(object)) => Some(object),
            Ok(Change::Gone(_)) => None,
            Ok(Change::Listed { objects, .. }) => objects.into_iter().next(),
            Err(why) if is_absent(&why) => None,
            Err(why) => {
                tracing::warn!(%network, %why, "the watch was interrupted");
                continue;
            }
        };
        if news.send(News::Network(network.clone(), object)).is_err() {
            return;
        }
    }
}

fn is_absent(why: &watcher::Error) -> bool {
    let (watcher::Error::InitialListFailed(why) | watcher::Error::WatchStartFailed(why)) = why else { return false };
    matches!(why, kube::Error::Api(status) if status.code == 404)
}

/// How objects of a kind are asked for.
fn resource(kind: GroupKind<'static>) -> ApiResource {
    let (version, plural) = match kind {
        POD => ("v1", "pods"),
        IP_BLOCK => ("v1alpha1", "ipblocks"),
        DANM_EP => (podnet::VERSION, "danmeps"),
        other => (podnet::VERSION, podnet::NetworkKind::named(other.kind).map_or("", podnet::NetworkKind::plural)),
    };
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(kind.group, version, kind.kind), plural)
}
