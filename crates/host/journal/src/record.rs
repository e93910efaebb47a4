//! The journal's records and the text that they are kept as. Pure: bytes in, values out.
//!
//! ```text
//! netloom-journal 2
//! {"Begin":{…}} 000004d2 1c291ca3     one record: JSON, its length and its CRC-32, both in hex
//! {"Sent":{"through":256}} 00000018 …
//! ```
//!
//! The file only ever grows, so what a loss of power leaves is a beginning of it, possibly followed
//! by rubbish. Reading stops at the first line that is not whole; what was whole before it counts.
//! Length and sum stand behind the JSON so that a large record is written as it is made. The sum is
//! CRC-32 as in gzip: it finds every single burst of up to 32 wrong bits, and any tool can check it.

use std::{borrow::Cow, collections::BTreeSet, io};

use netloom_model::{Ownership, PlannedStep, Target};
use serde::{Deserialize, Serialize};

use crate::{Incarnation, Moment, before};

pub(crate) const HEADER: &str = "netloom-journal 2\n";
/// That of the version before.
const OLD_HEADER: &str = "netloom-journal 1\n";

/// How much of a record is summed and written at a time.
const PIECE: usize = 1 << 16;

/// Everything that is known before the first step; on disk before the first step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Begin<'a> {
    /// Tells this transaction apart from every other one of the namespace.
    pub(crate) id: Cow<'a, str>,
    /// The document that it is for.
    pub(crate) source: Cow<'a, str>,
    /// The life of the kernel that the steps act on.
    pub(crate) incarnation: Cow<'a, Incarnation>,
    /// When it began.
    pub(crate) created: Moment,
    /// When it is undone unless it is confirmed.
    pub(crate) deadline: Moment,
    /// Whether reading back needs the slow per-link requests.
    pub(crate) ethtool: bool,
    /// The steps, each with its undo.
    pub(crate) steps: Cow<'a, [PlannedStep]>,
    /// Everything that the steps touch, as it was.
    pub(crate) before: Cow<'a, Target>,
    /// Who asked for what, once this is confirmed.
    pub(crate) ownership: Cow<'a, Ownership>,
    /// The probes that passed before; they must pass again after an undo. Records of earlier versions name none.
    #[serde(default)]
    pub(crate) probes: Cow<'a, [String]>,
}

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Record<'a> {
    /// The transaction; always first.
    Begin(Box<Begin<'a>>),
    /// The steps before this number are about to be sent.
    Sent {
        /// How many steps.
        through: usize,
    },
    /// These steps found somebody else's object in their place: undoing them would take that away.
    NotOurs {
        /// Numbers of steps.
        steps: Vec<usize>,
    },
    /// Carried out and found good; a person still has to confirm.
    Open,
    /// Final: only the ownership record may still be missing.
    Confirmed,
    /// The steps are being taken back.
    Undoing {
        /// Why.
        why: Cow<'a, str>,
    },
    /// The host is as it was.
    Undone,
}

/// How far a transaction got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Steps were being sent, read back or probed.
    Running,
    /// Carried out; waits for a person.
    Open,
    /// Final.
    Confirmed,
    /// Being taken back.
    Undoing,
    /// Taken back.
    Undone,
}

/// A journal as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Log<'a> {
    pub(crate) begin: Begin<'a>,
    /// Steps that may have had an effect: all before this number.
    pub(crate) sent: usize,
    /// Steps among them that had none of ours.
    pub(crate) not_ours: BTreeSet<usize>,
    pub(crate) phase: Phase,
    /// The length of the part that is whole.
    pub(crate) whole: usize,
}

/// What the bytes of a journal are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Cut before the first record was whole, so no step was ever sent.
    NothingDone,
    /// A transaction.
    Log(Box<Log<'static>>),
    /// Not something that a cut leaves behind.
    Damaged(&'static str),
}

/// Writes one record as a line, in large pieces.
pub(crate) fn write(record: &Record<'_>, to: &mut impl io::Write) -> io::Result<()> {
    let mut pieces = io::BufWriter::with_capacity(PIECE, Summing { to, len: 0, crc: Crc::new() });
    serde_json::to_writer(&mut pieces, record)?;
    let Summing { to, len, crc } = pieces.into_inner().map_err(io::IntoInnerError::into_error)?;
    let crc = crc.value();
    writeln!(to, " {len:08x} {crc:08x}")
}

/// Reads a journal.
pub(crate) fn read(bytes: &[u8]) -> Reading {
    let headers = [HEADER, OLD_HEADER].map(str::as_bytes);
    let Some(rest) = headers.iter().find_map(|header| bytes.strip_prefix(*header)) else {
        return if headers.iter().any(|header| header.starts_with(bytes)) || bytes.iter().all(|&b| b == 0) {
            Reading::NothingDone
        } else {
            Reading::Damaged("it does not start as a journal of this version does")
        };
    };
    let old = bytes.starts_with(OLD_HEADER.as_bytes());
    let parse = |line: &[u8]| parse(line, old);
    let mut lines = rest.split_inclusive(|&b| b == b'\n');
    let Some(begin) = lines.next().and_then(&parse) else {
        // A cut leaves nothing whole behind it: a good line after a bad one is no cut.
        let later = lines.any(|line| parse(line).is_some());
        return if later { Reading::Damaged("its first record is spoilt") } else { Reading::NothingDone };
    };
    let Record::Begin(begin) = begin else {
        return Reading::Damaged("its first record is not the beginning of a transaction");
    };
    let first = rest.iter().position(|&b| b == b'\n').map_or(rest.len(), |at| at + 1);
    let mut log =
        Log { sent: 0, not_ours: BTreeSet::new(), phase: Phase::Running, whole: HEADER.len() + first, begin: *begin };
    for line in lines {
        let Some(record) = parse(line) else { break };
        log.whole += line.len();
        if !log.take(record) {
            return Reading::Damaged("it holds two transactions");
        }
    }
    Reading::Log(Box::new(log))
}

impl Log<'_> {
    /// Takes one more record in; whether it may stand there.
    fn take(&mut self, record: Record<'_>) -> bool {
        match record {
            Record::Begin(_) => return false,
            Record::Sent { through } => self.sent = self.sent.max(through.min(self.begin.steps.len())),
            Record::NotOurs { steps } => self.not_ours.extend(steps),
            Record::Open => self.phase = Phase::Open,
            Record::Confirmed => self.phase = Phase::Confirmed,
            Record::Undoing { why: _ } => self.phase = Phase::Undoing,
            Record::Undone => self.phase = Phase::Undone,
        }
        true
    }
}

/// Reads a line, `old` when it was written by the version before.
fn parse(line: &[u8], old: bool) -> Option<Record<'static>> {
    // A space, eight digits, a space, eight digits, the line's end.
    const TAIL: usize = 19;
    let (json, tail) = line.split_at_checked(line.len().checked_sub(TAIL)?)?;
    let mut crc = Crc::new();
    crc.add(json);
    let expected = format!(" {:08x} {:08x}\n", json.len(), crc.value());
    if tail != expected.as_bytes() {
        return None;
    }
    if old {
        return serde_json::from_value(before::record(serde_json::from_slice(json).ok()?)).ok();
    }
    serde_json::from_slice(json).ok()
}

/// Counts and sums what passes through.
struct Summing<'a, W> {
    to: &'a mut W,
    len: usize,
    crc: Crc,
}

impl<W: io::Write> io::Write for Summing<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.len += written;
        self.crc.add(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// CRC-32 with the polynomial of gzip and Ethernet, eight bytes at a time.
struct Crc(u32);

impl Crc {
    /// The sum of each byte, followed by as many zero bytes as the number of the table.
    const TABLES: [[u32; 256]; 8] = {
        let mut tables = [[0; 256]; 8];
        let mut index = 0;
        while index < 256 {
            #[expect(clippy::cast_possible_truncation, reason = "below 256")]
            let mut value = index as u32;
            let mut bit = 0;
            while bit < 8 {
                value = if value & 1 == 1 { (value >> 1) ^ 0xEDB8_8320 } else { value >> 1 };
                bit += 1;
            }
            tables[0][index] = value;
            index += 1;
        }
        let mut table = 1;
        while table < 8 {
            let mut index = 0;
            while index < 256 {
                let shorter = tables[table - 1][index];
                tables[table][index] = (shorter >> 8) ^ tables[0][(shorter & 0xff) as usize];
                index += 1;
            }
            table += 1;
        }
        tables
    };

    fn new() -> Self {
        Self(u32::MAX)
    }

    fn add(&mut self, bytes: &[u8]) {
        let (eights, rest) = bytes.as_chunks::<8>();
        let [t0, t1, t2, t3, t4, t5, t6, t7] = &Self::TABLES;
        for &[a, b, c, d, e, f, g, h] in eights {
            let [low, second, third, high] = self.0.to_le_bytes();
            self.0 = t7[usize::from(a ^ low)]
                ^ t6[usize::from(b ^ second)]
                ^ t5[usize::from(c ^ third)]
                ^ t4[usize::from(d ^ high)]
                ^ t3[usize::from(e)]
                ^ t2[usize::from(f)]
                ^ t1[usize::from(g)]
                ^ t0[usize::from(h)];
        }
        for &byte in rest {
            let low = self.0.to_le_bytes()[0];
            self.0 = (self.0 >> 8) ^ t0[usize::from(low ^ byte)];
        }
    }

    fn value(&self) -> u32 {
        !self.0
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use netloom_model::{Setting, Step};
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn begin(steps: usize) -> Begin<'static> {
        let now = Moment { boot: Duration::from_secs(100), wall: 1_772_368_205 };
        let step = |n: usize| PlannedStep {
            step: Step::Set(Setting::HostnameRunning(format!("new-{n}"))),
            undo: vec![Step::Set(Setting::HostnameRunning(format!("old-{n}")))],
            origin: None,
        };
        Begin {
            id: "7-1".into(),
            source: "site.yaml".into(),
            incarnation: Cow::Owned(Incarnation::named("boot-1")),
            created: now,
            deadline: now.plus(Duration::from_mins(1)),
            ethtool: false,
            steps: (0..steps).map(step).collect(),
            before: Cow::Owned(Target::default()),
            ownership: Cow::Owned(Ownership::default()),
            probes: Cow::Owned(Vec::new()),
        }
    }

    fn text(records: &[Record<'_>]) -> Vec<u8> {
        let mut bytes = HEADER.as_bytes().to_vec();
        for record in records {
            write(record, &mut bytes).unwrap();
        }
        bytes
    }

    fn full() -> Vec<u8> {
        text(&[
            Record::Begin(Box::new(begin(3))),
            Record::Sent { through: 1 },
            Record::Sent { through: 3 },
            Record::NotOurs { steps: vec![1] },
            Record::Undoing { why: "line\nbreak".into() },
            Record::Undone,
        ])
    }

    #[test]
    fn the_sum_is_the_one_that_other_tools_know() {
        let mut crc = Crc::new();
        crc.add(b"123456789");
        assert_eq!(crc.value(), 0xCBF4_3926);
    }

    #[test]
    fn what_was_written_is_read() {
        let Reading::Log(log) = read(&full()) else { panic!() };
        assert_eq!(log.begin, begin(3));
        assert_eq!((log.sent, log.phase, log.whole), (3, Phase::Undone, full().len()));
        assert_eq!(log.not_ours, BTreeSet::from([1]));
        let old = [OLD_HEADER.as_bytes(), &full()[HEADER.len()..]].concat();
        assert_eq!(read(&old), Reading::Log(log), "that of the version before");
    }

    #[test]
    fn a_cut_at_any_byte_leaves_what_was_whole_before_it() {
        let bytes = full();
        let ends: Vec<usize> = bytes.iter().enumerate().filter(|&(_, &b)| b == b'\n').map(|(at, _)| at + 1).collect();
        for cut in 0..bytes.len() {
            let whole = ends.iter().filter(|&&end| end <= cut).count();
            match read(&bytes[..cut]) {
                Reading::NothingDone => assert!(whole < 2, "cut at {cut}"),
                Reading::Log(log) => {
                    assert_eq!(log.whole, ends[whole - 1], "cut at {cut}");
                    assert_eq!(log.sent, [0, 0, 0, 1, 3, 3, 3][whole], "cut at {cut}");
                }
                Reading::Damaged(why) => panic!("cut at {cut}: {why}"),
            }
        }
    }

    #[test]
    fn a_tail_of_zeros_is_a_cut_and_a_spoilt_beginning_is_not() {
        let mut bytes = text(&[Record::Begin(Box::new(begin(1)))]);
        let whole = bytes.len();
        bytes.extend([0; 4096]);
        let Reading::Log(log) = read(&bytes) else { panic!() };
        assert_eq!((log.sent, log.whole), (0, whole));

        let mut spoilt = full();
        spoilt[HEADER.len() + 5] ^= 1;
        assert_eq!(read(&spoilt), Reading::Damaged("its first record is spoilt"));
        assert!(matches!(read(b"something else"), Reading::Damaged(_)));
        assert_eq!(read(&[0; 512]), Reading::NothingDone);
        let begin = || Record::Begin(Box::new(begin(1)));
        assert_eq!(read(&text(&[begin(), begin()])), Reading::Damaged("it holds two transactions"));
        assert!(matches!(read(&text(&[Record::Open])), Reading::Damaged(_)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn one_wrong_bit_never_makes_up_a_record(at in 0_usize..2_000, bit in 0_u8..8) {
            let good = full();
            let mut bad = good.clone();
            let at = at % good.len();
            bad[at] ^= 1 << bit;
            let Reading::Log(good) = read(&good) else { panic!() };
            if let Reading::Log(log) = read(&bad) {
                prop_assert_eq!(log.begin, good.begin);
                prop_assert!(log.whole <= at.max(1));
            }
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
            read(&bytes);
            let mut journal = HEADER.as_bytes().to_vec();
            journal.extend(bytes);
            read(&journal);
        }
    }
}
