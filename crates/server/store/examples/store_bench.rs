//! Figures of the store on this machine's disk: durable writes, watch fan-out, lists, opening, memory.
//!
//! `cargo run --release -p netloom-store --example store_bench [FOLDER] [OBJECTS]` prints one line
//! for each figure: name, value, unit. The folder says which disk is measured.

#![expect(clippy::print_stdout, reason = "the figures are the output of this program")]
#![expect(clippy::disallowed_methods, reason = "measuring time is what this program is for")]

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use netloom_store::{Change, Key, Options, Range, Store};
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike as _,
};
use tokio::{sync::Notify, task::JoinSet};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// How long each measurement of writes lasts.
const LASTS: Duration = Duration::from_secs(3);
/// How large an object is: about that of a small custom resource.
const VALUE_BYTES: usize = 1024;
const WATCHES: u64 = 5_000;

fn main() -> Outcome {
    let mut arguments = env::args().skip(1);
    let folder = arguments.next().map_or_else(env::temp_dir, PathBuf::from);
    let objects = arguments.next().map_or(Ok(100_000), |number| number.parse())?;
    let folder = folder.join(format!("store-bench-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build()?;
    let measured = runtime.block_on(measure(&folder, objects));
    fs::remove_dir_all(&folder)?;
    measured
}

async fn measure(folder: &Path, objects: u64) -> Outcome {
    for writers in [1, 64] {
        let store = Store::open(&folder.join(format!("writes-{writers}")), Options::default())?;
        let before = cpu_time()?;
        let (writes, commits) = writes(&store, writers).await?;
        let micros = cpu_time()?.saturating_sub(before).as_secs_f64() * 1e6 / figure(store.stats()?.writes);
        print(&format!("durable writes, {writers} writers"), writes, "per second");
        print(&format!("commits, {writers} writers"), commits, "per second");
        print(&format!("processor time of a write, {writers} writers"), micros, "µs");
    }
    fan_out(&folder.join("watches")).await?;
    many_objects(&folder.join("objects"), objects).await
}

/// Batches and commits per second of so many writers, each with objects of its own.
async fn writes(store: &Store, writers: u64) -> Outcome<(f64, f64)> {
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for writer in 0..writers {
        let store = store.clone();
        tasks.spawn(async move {
            let mut round = 0;
            while started.elapsed() < LASTS {
                let key = Key::new("/configmaps", "default", &format!("{writer}-{}", round % 100));
                store.write(vec![Change::put(key, value(round))]).await?;
                round += 1;
            }
            Ok::<_, netloom_store::WriteError>(round)
        });
    }
    let mut batches = 0;
    while let Some(done) = tasks.join_next().await {
        batches += done??;
    }
    let seconds = started.elapsed().as_secs_f64();
    Ok((figure(batches) / seconds, figure(store.stats()?.commits) / seconds))
}

/// Watches of one object each, then of one object together.
async fn fan_out(path: &Path) -> Outcome {
    let store = Store::open(path, Options::default())?;
    let object = |number: u64| Key::new("/nodes", "", &format!("node-{number}"));
    for number in 0..WATCHES {
        if number % 500 == 0 {
            let batch = (number..number + 500).map(|number| Change::put(object(number), value(number))).collect();
            store.write(batch).await?;
        }
    }
    let before = resident()?;
    let seen = Arc::new(Seen::default());
    let mut tasks = JoinSet::new();
    for number in 0..WATCHES {
        follow(&store, Range::object(&object(number)), &seen, &mut tasks)?;
    }
    let after = resident()?;
    print("memory of 5000 watches of one object each", figure(after.saturating_sub(before)) / MIB, "MiB");
    let rate = deliver(&store, &seen, |round| (0..500).map(|step| object((round * 500 + step) % WATCHES)).collect(), 1)
        .await?;
    print("events delivered to 5000 watches of one object each", rate, "per second");
    print("memory after that", figure(resident()?.saturating_sub(before)) / MIB, "MiB");
    tasks.shutdown().await;
    for _ in 0..WATCHES {
        follow(&store, Range::object(&object(0)), &seen, &mut tasks)?;
    }
    let rate = deliver(&store, &seen, |_| vec![object(0)], WATCHES).await?;
    print("events delivered to 5000 watches of the same object", rate, "per second");
    tasks.shutdown().await;
    Ok(())
}

/// How many events have arrived.
#[derive(Default)]
struct Seen {
    number: AtomicU64,
    wanted: AtomicU64,
    enough: Notify,
}

impl Seen {
    fn count(&self) {
        if self.number.fetch_add(1, Ordering::Relaxed) + 1 == self.wanted.load(Ordering::Relaxed) {
            self.enough.notify_one();
        }
    }
}

fn follow(store: &Store, range: Range, seen: &Arc<Seen>, tasks: &mut JoinSet<()>) -> Outcome {
    let mut watch = store.watch(range, store.revision())?;
    let seen = seen.clone();
    tasks.spawn(async move {
        while watch.next().await.is_ok() {
            seen.count();
        }
    });
    Ok(())
}

/// Events per second that arrive when batches are written as fast as they are delivered.
async fn deliver(store: &Store, seen: &Seen, keys: impl Fn(u64) -> Vec<Key>, each: u64) -> Outcome<f64> {
    let started = Instant::now();
    let mut expected = 0;
    seen.number.store(0, Ordering::Relaxed);
    for round in 0.. {
        if started.elapsed() > LASTS {
            break;
        }
        let changes: Vec<_> = keys(round).into_iter().map(|key| Change::put(key, value(round))).collect();
        expected += changes.len() as u64 * each;
        seen.wanted.store(expected, Ordering::Relaxed);
        store.write(changes).await?;
        seen.enough.notified().await;
    }
    Ok(figure(expected) / started.elapsed().as_secs_f64())
}

/// What a store with many objects costs.
async fn many_objects(path: &Path, objects: u64) -> Outcome {
    let store = Store::open(path, Options::default())?;
    let started = Instant::now();
    for first in (0..objects).step_by(500) {
        let batch: Vec<_> = (first..objects.min(first + 500))
            .map(|number| {
                Change::create(
                    Key::new("/pods", &format!("ns-{}", number % 50), &format!("pod-{number}")),
                    value(number),
                )
            })
            .collect();
        store.write(batch).await?;
    }
    print("objects created in batches of 500", figure(objects) / started.elapsed().as_secs_f64(), "per second");
    print("bytes of values", figure(objects * VALUE_BYTES as u64) / MIB, "MiB");
    print("resident memory with them", figure(resident()?) / MIB, "MiB");
    print("file", figure(store.stats()?.file_bytes) / MIB, "MiB");
    let started = Instant::now();
    let mut after = None;
    loop {
        let page = store.list(&Range::resource("/pods"), None, after.as_ref(), Some(500))?;
        after = page.items.last().map(|(key, _)| key.clone());
        if !page.more {
            break;
        }
    }
    print("listing all of them in pages of 500", started.elapsed().as_secs_f64() * 1e3, "ms");
    let started = Instant::now();
    store.backup(&path.with_extension("backup"))?;
    print("backup", started.elapsed().as_secs_f64() * 1e3, "ms");
    drop(store);
    let started = Instant::now();
    let store = Store::open(path, Options::default())?;
    print("opening, every page checked", started.elapsed().as_secs_f64() * 1e3, "ms");
    print("resident memory then", figure(resident()?) / MIB, "MiB");
    let started = Instant::now();
    let reads = 100_000;
    for number in 0..reads {
        let number = number * 7_919 % objects;
        store.get(&Key::new("/pods", &format!("ns-{}", number % 50), &format!("pod-{number}")))?;
    }
    print("reads of one object", figure(reads) / started.elapsed().as_secs_f64(), "per second");
    Ok(())
}

const MIB: f64 = 1_048_576.0;

fn value(number: u64) -> Vec<u8> {
    format!("{number:>VALUE_BYTES$}").into_bytes()
}

/// Processor time of this process so far.
fn cpu_time() -> Outcome<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let sum = usage.user_time() + usage.system_time();
    Ok(Duration::from_micros(u64::try_from(sum.num_microseconds())?))
}

/// Resident memory of this process in bytes.
fn resident() -> Outcome<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").trim().parse::<u64>()? * 1024)
}

#[expect(clippy::cast_precision_loss, reason = "figures are printed with one decimal")]
fn figure(number: u64) -> f64 {
    number as f64
}

fn print(name: &str, value: f64, unit: &str) {
    println!("{name}: {value:.1} {unit}");
}
