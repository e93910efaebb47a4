//! A walk over a range of the store, in pieces that hold up nobody.
//!
//! A piece is bounded in objects and in bytes, all pieces are of one moment, and between two of them
//! others have their turn: reading is synchronous, and a range can be everything that there is.

use netloom_store::{Key, Page, Range, ReadError, Revision, Store};

/// How many objects a piece has at most.
const OBJECTS: usize = 500;
/// How many bytes a piece has, but for what its last object is beyond that.
pub(crate) const BYTES: usize = 256 << 10;

/// Where a walk is.
#[derive(Debug)]
pub(crate) struct Chunks {
    range: Range,
    at: Option<Revision>,
    after: Option<Key>,
    begun: bool,
    over: bool,
}

impl Chunks {
    /// A walk over everything in a range, as it is now.
    pub(crate) fn new(range: Range) -> Self {
        Self::from(range, None, None)
    }

    /// A walk at a revision and from behind a key on.
    pub(crate) fn from(range: Range, at: Option<Revision>, after: Option<Key>) -> Self {
        Self { range, at, after, begun: false, over: false }
    }

    /// The moment of all pieces; none before the first one, unless it was given.
    pub(crate) fn revision(&self) -> Option<Revision> {
        self.at
    }

    /// The next piece, of no more than `most` objects; none behind the last one. There is always a
    /// first one, if only to tell the revision.
    pub(crate) async fn next(&mut self, store: &Store, most: usize) -> Result<Option<Page>, ReadError> {
        if self.over {
            return Ok(None);
        }
        if self.begun {
            tokio::task::yield_now().await;
        }
        let page = store.page(&self.range, self.at, self.after.as_ref(), most.min(OBJECTS), BYTES)?;
        self.begun = true;
        self.at = Some(page.revision);
        self.over = !page.more;
        if let Some((last, _)) = page.items.last() {
            self.after = Some(last.clone());
        }
        Ok(Some(page))
    }
}

#[cfg(test)]
mod tests {
    use netloom_store::{Change, Options};

    use super::*;

    #[tokio::test]
    async fn large_objects_come_one_by_one_and_small_ones_together() {
        let folder = std::env::temp_dir().join(format!("netloom-chunks-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let store = Store::open(&folder.join("store"), Options::default()).unwrap();
        let sizes = [10, 10, 1 << 20, 1 << 20, 10];
        for (number, size) in sizes.into_iter().enumerate() {
            let key = Key::new("/configmaps", "default", &number.to_string());
            store.write(vec![Change::create(key, vec![b'x'; size])]).await.unwrap();
        }
        let mut chunks = Chunks::new(Range::everything());
        let mut found = Vec::new();
        while let Some(page) = chunks.next(&store, usize::MAX).await.unwrap() {
            found.push(page.items.len());
            // What is written during the walk is not seen by it.
            let key = Key::new("/configmaps", "later", &found.len().to_string());
            store.write(vec![Change::create(key, "new")]).await.unwrap();
        }
        assert_eq!(found, [3, 1, 1]);
        assert_eq!(chunks.revision().map(|revision| revision.0), Some(5));
        let mut chunks = Chunks::new(Range::resource("/nothing"));
        assert!(chunks.next(&store, 1).await.unwrap().is_some_and(|page| page.items.is_empty()));
        assert!(chunks.next(&store, 1).await.unwrap().is_none());
        drop(store);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
