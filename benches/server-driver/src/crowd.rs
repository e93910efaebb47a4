//! Many clients that write at once, each on a connection of its own.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use http::Method;
use tokio::task::JoinSet;

use crate::{
    Failure,
    client::{Access, Client},
    objects::Place,
};

/// Connections, one to a client.
pub async fn gather(access: &Access, clients: usize) -> Result<Vec<Client>, Failure> {
    let mut all = Vec::with_capacity(clients);
    for _ in 0..clients {
        all.push(access.connect().await?);
    }
    Ok(all)
}

/// Creates and changes objects for a while, each client its own and one request after the other:
/// acknowledged writes per second. Objects are counted from `first` on; tells where it ended.
pub async fn write_for(
    clients: &[Client],
    place: Place,
    first: usize,
    lasts: Duration,
) -> Result<(f64, usize), Failure> {
    let next = Arc::new(AtomicUsize::new(first));
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for client in clients {
        let (mut client, next) = (client.clone(), Arc::clone(&next));
        tasks.spawn(async move {
            let mut writes = 0;
            while started.elapsed() < lasts {
                let number = next.fetch_add(1, Ordering::Relaxed);
                client.send(Method::POST, place.path, (place.make)(number, 1)).await?;
                client.send(Method::PUT, &place.path_of(number), (place.make)(number, 2)).await?;
                writes += 2;
            }
            Ok::<_, Failure>(writes)
        });
    }
    let writes: usize = sum(tasks).await?;
    #[expect(clippy::cast_precision_loss, reason = "some thousands")]
    let rate = writes as f64 / started.elapsed().as_secs_f64();
    Ok((rate, next.load(Ordering::Relaxed)))
}

/// Creates so many objects.
pub async fn create(clients: &[Client], place: Place, count: usize) -> Result<(), Failure> {
    each(clients, count, move |mut client, number| async move {
        client.send(Method::POST, place.path, (place.make)(number, 0)).await.map(drop)
    })
    .await
}

/// Gives so many objects their next form.
pub async fn change(clients: &[Client], place: Place, count: usize, edition: usize) -> Result<(), Failure> {
    each(clients, count, move |mut client, number| async move {
        client.send(Method::PUT, &place.path_of(number), (place.make)(number, edition)).await.map(drop)
    })
    .await
}

/// Does something for each number up to `count`, as many at once as there are clients.
async fn each<F>(
    clients: &[Client],
    count: usize,
    work: impl Fn(Client, usize) -> F + Send + Sync + 'static,
) -> Result<(), Failure>
where
    F: Future<Output = Result<(), Failure>> + Send,
{
    let (next, work) = (Arc::new(AtomicUsize::new(0)), Arc::new(work));
    let mut tasks = JoinSet::new();
    for client in clients {
        let (client, next, work) = (client.clone(), Arc::clone(&next), Arc::clone(&work));
        tasks.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return Ok(0);
                }
                work(client.clone(), number).await?;
            }
        });
    }
    sum(tasks).await.map(drop)
}

async fn sum(mut tasks: JoinSet<Result<usize, Failure>>) -> Result<usize, Failure> {
    let mut all = 0;
    while let Some(done) = tasks.join_next().await {
        all += done??;
    }
    Ok(all)
}
