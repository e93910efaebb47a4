//! What became of one transaction, reported by its own journal even after that is gone.
//!
//! A journal is only ever added to, moved or removed. Who holds the file open can read its last word
//! when somebody else settled the transaction, however many others came after it.

use std::{
    fs::File,
    io::{Read as _, Seek as _},
    path::PathBuf,
};

use crate::{
    Error, Phase, Store,
    error::At as _,
    record::{self, Reading},
};

/// The journal of one transaction, held open.
#[derive(Debug)]
pub struct Witness {
    file: File,
    path: PathBuf,
    id: String,
}

/// What became of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is not settled.
    Pending,
    /// It is in place for good.
    Confirmed,
    /// It was taken back, and the host verified to be as it was.
    RolledBack,
    /// It was not confirmed, and nothing says that all of it was taken back.
    Unclear,
}

impl Store {
    /// Holds the journal of the present transaction. Who has the turn knows whose that is.
    pub fn witness(&self) -> Result<Witness, Error> {
        let path = self.journal_path();
        let mut file = File::open(&path).at("open", &path)?;
        match read(&mut file).at("read", &path)? {
            Reading::Log(log) => Ok(Witness { file, path, id: log.begin.id.into_owned() }),
            Reading::NothingDone | Reading::Damaged(_) => Err(Error::NothingOpen),
        }
    }
}

impl Witness {
    /// The transaction.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What became of it. The confirmation is on disk before anything else of it, so a journal that
    /// is gone without one was not confirmed.
    pub fn fate(&mut self, store: &Store) -> Result<Fate, Error> {
        let phase = match read(&mut self.file).at("read", &self.path)? {
            Reading::Log(log) => log.phase,
            Reading::NothingDone | Reading::Damaged(_) => return Ok(Fate::Unclear),
        };
        let here = store.pending()?.is_some_and(|summary| summary.id == self.id);
        Ok(match phase {
            Phase::Confirmed => Fate::Confirmed,
            Phase::Undone => Fate::RolledBack,
            Phase::Running | Phase::Open | Phase::Undoing if here => Fate::Pending,
            Phase::Running | Phase::Open | Phase::Undoing => Fate::Unclear,
        })
    }
}

fn read(file: &mut File) -> std::io::Result<Reading> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(record::read(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        record::{Record, tests::begin},
        store::tests::Scratch,
    };

    #[test]
    fn the_last_word_of_a_journal_outlives_it() {
        for (last, fate) in [
            (Record::Confirmed, Fate::Confirmed),
            (Record::Undone, Fate::RolledBack),
            (Record::Undoing { why: "it was asked for".into() }, Fate::Unclear),
        ] {
            let scratch = Scratch::new();
            let store = Store::of_host(&scratch.0).unwrap();
            let mut journal = store.begin_journal(begin(1)).unwrap();
            journal.settle(&Record::Open).unwrap();
            let mut witness = store.witness().unwrap();
            assert_eq!(witness.id(), "7-1");
            assert_eq!(witness.fate(&store).unwrap(), Fate::Pending);
            journal.settle(&last).unwrap();
            store.remove_journal().unwrap();
            // The next one does not confuse it.
            let mut next = begin(1);
            next.id = "7-2".into();
            store.begin_journal(next).unwrap();
            assert_eq!(witness.fate(&store).unwrap(), fate);
        }
    }
}
