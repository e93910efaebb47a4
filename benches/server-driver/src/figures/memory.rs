//! Resident memory with many objects stored, against their size as JSON.

use bench_table::{Bound, Row, Series, Unit};
use bytes::Bytes;
use http::Method;

use super::{Bench, PEER, Pair, tell};
use crate::{
    Failure,
    client::Client,
    crowd,
    objects::{CONFIG_MAPS, DESTINATIONS_OF_VRFS, Place, VRFS, vrfs_for},
    server::Whose,
};

const WRITERS: usize = 64;
/// How many are read at once.
const PAGE: usize = 500;

/// What may be taken for each byte of JSON, and beside that, in MiB.
const TIMES: f64 = 1.5;
const BESIDE: f64 = 30.0;

impl Bench {
    pub(super) async fn memory(&self) -> Result<Vec<Row>, Failure> {
        let (mut plain, mut viewed) = (Pair::default(), Series::default());
        let (mut plain_part, mut viewed_part) = (Series::default(), Series::default());
        for round in 0..self.rounds {
            for whose in Self::turns_with_one_of_the_peer(round) {
                let (json, resident) = self.memory_round(whose, None, CONFIG_MAPS).await?;
                tell("memory", round, whose, &format!("{resident:.1} MiB with {json:.1} MiB of ConfigMaps"));
                plain.push(whose, resident);
                if whose == Whose::Ours {
                    plain_part.push((resident - BESIDE) / json);
                }
            }
            let (json, resident) = self.memory_round(Whose::Ours, Some(VRFS), DESTINATIONS_OF_VRFS).await?;
            tell("memory", round, Whose::Ours, &format!("{resident:.1} MiB with {json:.1} MiB of Destinations"));
            viewed.push(resident);
            viewed_part.push((resident - BESIDE) / json);
        }
        let row = |kind: &str, ours: Series, peer: Option<Series>, part: Series| Row {
            what: format!("memory beyond {BESIDE} MiB with {} {kind}, for each byte of their JSON", self.objects),
            ours: Some((ours, Unit::Mebibytes)),
            peer: peer.map(|peer| (PEER, peer, Unit::Mebibytes)),
            figure: (part, Unit::Times),
            bound: Bound::AtMost(TIMES),
        };
        Ok(vec![
            row("ConfigMaps", plain.ours, Some(plain.peers), plain_part),
            row("Destinations, which rules look at", viewed, None, viewed_part),
        ])
    }

    /// The size of all objects as JSON, and resident memory, in MiB.
    async fn memory_round(&self, whose: Whose, first: Option<Place>, place: Place) -> Result<(f64, f64), Failure> {
        let server = self.programs.start(whose).await?;
        let writers = crowd::gather(&server.access, WRITERS).await?;
        if let Some(first) = first {
            crowd::create(&writers, first, vrfs_for(self.objects)).await?;
        }
        crowd::create(&writers, place, self.objects).await?;
        // The writers hold connections; what is measured is what objects take.
        drop(writers);
        let json = size_of_all(&mut server.access.connect().await?, place, self.objects).await?;
        let resident = server.resident()?;
        server.stop().await?;
        Ok((json, resident))
    }
}

/// Reads all objects in pages; their size as JSON in MiB.
async fn size_of_all(client: &mut Client, place: Place, objects: usize) -> Result<f64, Failure> {
    let (mut bytes, mut count, mut path) = (0, 0, format!("{}?limit={PAGE}", place.path));
    loop {
        let page = client.send(Method::GET, &path, Bytes::new()).await?;
        let list: serde_json::Value = serde_json::from_slice(&page)?;
        let items = list["items"].as_array().ok_or("a list without items")?;
        count += items.len();
        bytes += items.iter().map(|item| item.to_string().len()).sum::<usize>();
        match list["metadata"]["continue"].as_str().filter(|token| !token.is_empty()) {
            Some(token) => path = format!("{}?limit={PAGE}&continue={}", place.path, escaped(token)),
            None => break,
        }
    }
    if count != objects {
        return Err(format!("{count} of {objects} objects are there").into());
    }
    #[expect(clippy::cast_precision_loss, reason = "some hundred millions")]
    let size = bytes as f64 / f64::from(1 << 20);
    Ok(size)
}

/// A token as part of a query.
fn escaped(token: &str) -> String {
    token.replace('%', "%25").replace('+', "%2B").replace('/', "%2F").replace('=', "%3D").replace('&', "%26")
}
