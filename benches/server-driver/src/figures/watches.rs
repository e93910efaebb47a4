//! Many watches: what they cost while they wait, and how fast they are reported.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bench_table::{Bound, Row, Series, Unit};
use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::{
    sync::{Mutex, Notify},
    task::JoinSet,
    time::timeout,
};

use super::{Bench, tell};
use crate::{
    Failure,
    client::Client,
    crowd,
    objects::{CONFIG_MAPS, Place},
    server::{Server, Whose},
};

const WATCHES: usize = 5_000;
/// Watches share connections, as those of one client do. No more on one than a real server takes by
/// default.
const CONNECTIONS: usize = 20;
const WRITERS: usize = 32;
/// How many objects are watched when the rate is measured, by how many watches each.
const OBJECTS: usize = 50;
const LASTS: Duration = Duration::from_secs(4);
/// How long an event may take to arrive before it counts as lost.
const TIME_LIMIT: Duration = Duration::from_secs(60);
const PLACE: Place = CONFIG_MAPS;

const MEMORY_BOUND: f64 = 10.0;
const RATE_BOUND: f64 = 20_000.0;

impl Bench {
    pub(super) async fn watches(&self) -> Result<Vec<Row>, Failure> {
        let (mut memory, mut rate) = (Series::default(), Series::default());
        for round in 0..self.rounds {
            let (more, events) = self.watch_round().await?;
            tell("watches", round, Whose::Ours, &format!("{more:.1} MiB, {events:.0} events/s"));
            memory.push(more);
            rate.push(events);
        }
        let row = |what: String, ours: Series, unit: Unit, bound: Bound| Row {
            what,
            ours: None,
            peer: None,
            figure: (ours, unit),
            bound,
        };
        let each = WATCHES / OBJECTS;
        Ok(vec![
            row(
                format!("{WATCHES} watches of one object each: memory for them"),
                memory,
                Unit::Mebibytes,
                Bound::AtMost(MEMORY_BOUND),
            ),
            row(
                format!("events delivered to {WATCHES} watches, {each} to an object"),
                rate,
                Unit::PerSecond,
                Bound::AtLeast(RATE_BOUND),
            ),
        ])
    }

    /// Memory in MiB, and events per second.
    async fn watch_round(&self) -> Result<(f64, f64), Failure> {
        let server = self.programs.start(Whose::Ours).await?;
        let writers = crowd::gather(&server.access, WRITERS).await?;
        crowd::create(&writers, PLACE, WATCHES).await?;
        // Everything that a write leaves in memory is there before the watches come.
        crowd::change(&writers, PLACE, WATCHES, 1).await?;
        let before = server.resident()?;
        let crowd = Watchers::gather(&server, |number| number).await?;
        crowd.arrive(WATCHES, crowd::change(&writers, PLACE, WATCHES, 2)).await?;
        let more = server.resident()? - before;
        drop(crowd);
        let crowd = Watchers::gather(&server, |number| number % OBJECTS).await?;
        let started = Instant::now();
        let mut events = 0;
        for edition in 3.. {
            if started.elapsed() > LASTS {
                break;
            }
            crowd.arrive(WATCHES, crowd::change(&writers, PLACE, OBJECTS, edition)).await?;
            events += WATCHES;
        }
        #[expect(clippy::cast_precision_loss, reason = "some hundred thousands")]
        let rate = events as f64 / started.elapsed().as_secs_f64();
        drop(crowd);
        server.stop().await?;
        Ok((more, rate))
    }
}

/// Watches that wait for events, and count them.
struct Watchers {
    seen: Arc<Seen>,
    /// Ends them with this.
    _tasks: Mutex<JoinSet<()>>,
    _connections: Vec<Client>,
}

#[derive(Default)]
struct Seen {
    number: AtomicUsize,
    wanted: AtomicUsize,
    enough: Notify,
}

impl Watchers {
    /// Opens [`WATCHES`] watches, each of the object that `object` says, and waits until the server
    /// has taken them.
    async fn gather(server: &Server, object: fn(usize) -> usize) -> Result<Self, Failure> {
        let mut clients = crowd::gather(&server.access, CONNECTIONS).await?;
        let revision = revision(&mut clients[0]).await?;
        let seen = Arc::new(Seen::default());
        let mut tasks = JoinSet::new();
        // The connections open theirs side by side.
        let mut opened = JoinSet::new();
        for (first, mut client) in clients.into_iter().enumerate() {
            let revision = revision.clone();
            opened.spawn(async move {
                let mut bodies = Vec::new();
                for number in (first..WATCHES).step_by(CONNECTIONS) {
                    let name = (PLACE.name)(object(number));
                    let query = format!("watch=true&resourceVersion={revision}&fieldSelector=metadata.name%3D{name}");
                    bodies.push(client.follow(&format!("{}?{query}", PLACE.path)).await?);
                }
                Ok::<_, Failure>((client, bodies))
            });
        }
        let mut connections = Vec::new();
        while let Some(ended) = opened.join_next().await {
            let (client, bodies) = ended??;
            connections.push(client);
            for body in bodies {
                tasks.spawn(listen(body, Arc::clone(&seen)));
            }
        }
        Ok(Self { seen, _tasks: Mutex::new(tasks), _connections: connections })
    }

    /// Does something that leads to so many events, and waits until exactly so many have arrived.
    async fn arrive(&self, events: usize, work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
        let wanted = self.seen.wanted.fetch_add(events, Ordering::SeqCst) + events;
        work.await?;
        let all = async {
            while self.seen.number.load(Ordering::SeqCst) < wanted {
                self.seen.enough.notified().await;
            }
        };
        let arrived = timeout(TIME_LIMIT, all).await;
        let number = self.seen.number.load(Ordering::SeqCst);
        if arrived.is_err() || number != wanted {
            return Err(format!("{number} of {wanted} events have arrived").into());
        }
        Ok(())
    }
}

/// Counts the lines of a watch; each is an event.
async fn listen(mut body: Incoming, seen: Arc<Seen>) {
    while let Some(Ok(frame)) = body.frame().await {
        let lines = frame.data_ref().map_or(0, |data| data.iter().filter(|byte| **byte == b'\n').count());
        let before = seen.number.fetch_add(lines, Ordering::SeqCst);
        let wanted = seen.wanted.load(Ordering::SeqCst);
        if before < wanted && before + lines >= wanted {
            seen.enough.notify_one();
        }
    }
}

/// The revision at which watches begin.
async fn revision(client: &mut Client) -> Result<String, Failure> {
    let list = client.send(Method::GET, &format!("{}?limit=1", PLACE.path), Bytes::new()).await?;
    let list: serde_json::Value = serde_json::from_slice(&list)?;
    Ok(list["metadata"]["resourceVersion"].as_str().ok_or("a list without a revision")?.to_owned())
}
