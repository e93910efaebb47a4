//! Requests and their answers over one netlink socket.
//!
//! The kernel handles a message while it is being sent, so answers wait in the receive buffer when
//! the call returns. Of a batch only the last message asks for an answer: refusals come unasked, and
//! no word on a message before it means that it worked. A batch is bounded such that a refusal of each
//! message fits that buffer: none is ever lost. Dumps are handed on message by message and never collected; one that the kernel marks as
//! interrupted is read again.
//!
//! Not here: notifications (see `events`), and any meaning of the messages.

use std::{io, ops::Range};

use netlink_sys::{Socket, SocketAddr};
use netloom_model::{EngineError, StepError};
use nix::sys::{
    socket::{setsockopt, sockopt},
    time::TimeVal,
};

use crate::{
    consts::{
        NLM_F_ACK, NLM_F_ACK_TLVS, NLM_F_CAPPED, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NLMSG_DONE, NLMSG_ERROR,
    },
    wire::{Message, Msg, attributes, messages},
};

/// The receive buffer of a request socket. Refusals of a whole batch must fit.
const RECEIVE_BUFFER: usize = 4 << 20;
/// What one refusal takes from the receive buffer, with the kernel's bookkeeping and text.
const ACK_COST: usize = 2048;
/// The most messages in one send.
const BATCH_MESSAGES: usize = 256;
/// The most bytes in one send: under the usual send buffer of 208 KiB.
const BATCH_BYTES: usize = 128 << 10;
/// The kernel makes datagrams of at most 32 KiB in dumps.
const DATAGRAM: usize = 64 << 10;
/// How often a dump is begun again when the tables change under it.
const DUMP_ATTEMPTS: u32 = 32;
/// The kernel answers while it is asked; when it does not, something is wrong with it.
const ANSWER_TIMEOUT_SECONDS: i64 = 30;
/// `MSG_TRUNC`: the receive call gives the true length.
const MSG_TRUNC: i32 = 0x20;
const EMSGSIZE: i32 = 90;
const NLMSGERR_ATTR_MSG: u16 = 1;

/// Which part of the kernel a socket talks to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Links, addresses, routes, rules, neighbours, queues.
    Route,
    /// Families that are found by name, such as ethtool.
    Generic,
}

impl Part {
    pub(crate) fn protocol(self) -> isize {
        match self {
            Self::Route => 0,
            Self::Generic => 16,
        }
    }
}

/// Why a netlink exchange failed as a whole; a refused message is a [`StepError`] instead.
#[derive(Debug, thiserror::Error)]
pub enum NetlinkError {
    /// The socket could not be made.
    #[error("open a netlink socket")]
    Open(#[source] io::Error),
    /// A message could not be handed over.
    #[error("send to the kernel")]
    Send(#[source] io::Error),
    /// No answer could be read.
    #[error("receive from the kernel")]
    Receive(#[source] io::Error),
    /// An answer was longer than any that the kernel makes.
    #[error("an answer of the kernel was cut off")]
    Truncated,
    /// The tables changed during every attempt.
    #[error("the kernel's tables changed during each of {DUMP_ATTEMPTS} attempts to read them")]
    Interrupted,
    /// The kernel refused to give the answer.
    #[error("the kernel refused to answer: {0}")]
    Refused(StepError),
}

impl NetlinkError {
    /// The stable name of this failure.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Open(_) => "NetlinkOpen",
            Self::Send(_) => "NetlinkSend",
            Self::Receive(_) => "NetlinkReceive",
            Self::Truncated => "NetlinkTruncated",
            Self::Interrupted => "NetlinkInterrupted",
            Self::Refused(_) => "NetlinkRefused",
        }
    }

    /// The failure as the engine's, with what was attempted.
    pub fn doing(&self, doing: impl Into<String>) -> EngineError {
        let why = match self {
            Self::Open(source) | Self::Send(source) | Self::Receive(source) => format!("{self}: {source}"),
            Self::Truncated | Self::Interrupted | Self::Refused(_) => self.to_string(),
        };
        EngineError { doing: doing.into(), why }
    }
}

/// What went over a socket since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Messages of any kind.
    pub requests: u64,
    /// Messages that ask for a change.
    pub writes: u64,
    /// Dumps, repeated ones included.
    pub dumps: u64,
    /// Bytes sent and received.
    pub bytes: u64,
}

impl std::ops::Add for Counters {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let Self { requests, writes, dumps, bytes } = other;
        Self {
            requests: self.requests + requests,
            writes: self.writes + writes,
            dumps: self.dumps + dumps,
            bytes: self.bytes + bytes,
        }
    }
}

impl std::fmt::Display for Counters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { requests, writes, dumps, bytes } = self;
        write!(f, "{requests} requests, {writes} writes, {dumps} dumps, {bytes} bytes")
    }
}

/// A socket for requests, in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Connection {
    socket: Socket,
    seq: u32,
    buffer: Vec<u8>,
    counters: Counters,
    batch_messages: usize,
}

impl Connection {
    /// Opens a socket.
    pub fn open(part: Part) -> Result<Self, NetlinkError> {
        let mut socket = Socket::new(part.protocol()).map_err(NetlinkError::Open)?;
        socket.bind_auto().map_err(NetlinkError::Open)?;
        socket.connect(&SocketAddr::new(0, 0)).map_err(NetlinkError::Open)?;
        let granted = set_receive_buffer(&socket, RECEIVE_BUFFER)?;
        let timeout = TimeVal::new(ANSWER_TIMEOUT_SECONDS, 0);
        setsockopt(&socket, sockopt::ReceiveTimeout, &timeout).map_err(|e| NetlinkError::Open(e.into()))?;
        // Kernels before 4.20 lack some of these; they then give fewer words, or filter less.
        for unsupported in
            [socket.set_ext_ack(true), socket.set_cap_ack(true), socket.set_netlink_get_strict_chk(part == Part::Route)]
        {
            drop(unsupported);
        }
        Ok(Self {
            socket,
            seq: 0,
            buffer: Vec::with_capacity(DATAGRAM),
            counters: Counters::default(),
            batch_messages: BATCH_MESSAGES.min(granted / ACK_COST).max(1),
        })
    }

    /// What went over the socket until now.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// How many messages go in one send, as long as they are short.
    pub fn most_messages(&self) -> usize {
        self.batch_messages
    }

    /// Asks for changes, many in one send, and gives the kernel's answer to each, in order. A
    /// refused one does not stop those after it.
    pub fn batch(&mut self, msgs: &[Msg]) -> Result<Vec<Result<(), StepError>>, NetlinkError> {
        let mut results = vec![Ok(()); msgs.len()];
        let mut next = 0;
        let mut out = Vec::new();
        while next < msgs.len() {
            let sent = self.fill(msgs, next, &mut out, &mut results);
            let first_seq = self.seq.wrapping_sub(u32::try_from(sent.len()).unwrap_or(u32::MAX)).wrapping_add(1);
            self.send(&out)?;
            self.collect_answers(first_seq, &mut results[sent.clone()])?;
            next = sent.end;
        }
        Ok(results)
    }

    /// Asks for one change.
    pub fn change(&mut self, msg: &Msg) -> Result<Result<(), StepError>, NetlinkError> {
        Ok(self.batch(std::slice::from_ref(msg))?.swap_remove(0))
    }

    /// Asks a question that has an answer of a few messages, not a table.
    pub fn get(&mut self, msg: &Msg, mut each: impl FnMut(Message<'_>)) -> Result<Result<(), StepError>, NetlinkError> {
        let seq = self.next_seq();
        let mut out = Vec::new();
        msg.write_to(&mut out, NLM_F_REQUEST | NLM_F_ACK, seq);
        self.counters.requests += 1;
        self.send(&out)?;
        loop {
            self.receive()?;
            for message in messages(&self.buffer).filter(|m| m.seq == seq) {
                match answer(&message) {
                    Some(result) => return Ok(result),
                    None => each(message),
                }
            }
        }
    }

    /// Reads a table. `start` makes what is gathered and is called again, with everything gathered so
    /// far thrown away, when the table changed while it was read.
    pub fn dump<T>(
        &mut self,
        msg: &Msg,
        start: impl Fn() -> T,
        mut each: impl FnMut(&mut T, Message<'_>),
    ) -> Result<T, NetlinkError> {
        for _ in 0..DUMP_ATTEMPTS {
            let mut gathered = start();
            if self.dump_once(msg, |message| each(&mut gathered, message))? {
                return Ok(gathered);
            }
        }
        Err(NetlinkError::Interrupted)
    }

    /// One attempt; whether the table stood still.
    fn dump_once(&mut self, msg: &Msg, mut each: impl FnMut(Message<'_>)) -> Result<bool, NetlinkError> {
        let seq = self.next_seq();
        let mut out = Vec::new();
        msg.write_to(&mut out, NLM_F_REQUEST | NLM_F_DUMP, seq);
        self.counters.requests += 1;
        self.counters.dumps += 1;
        self.send(&out)?;
        let mut whole = true;
        loop {
            self.receive()?;
            for message in messages(&self.buffer).filter(|m| m.seq == seq) {
                whole &= message.flags & NLM_F_DUMP_INTR == 0;
                match answer(&message) {
                    Some(Ok(())) => return Ok(whole),
                    Some(Err(refused)) => return Err(NetlinkError::Refused(refused)),
                    None => each(message),
                }
            }
        }
    }

    /// Puts messages from `next` on into `out`, as many as one send may have. Those that cannot be
    /// sent at all are answered here and end the run before them.
    fn fill(
        &mut self,
        msgs: &[Msg],
        next: usize,
        out: &mut Vec<u8>,
        results: &mut [Result<(), StepError>],
    ) -> Range<usize> {
        out.clear();
        let (mut end, mut bytes) = (next, 0);
        while let Some(msg) = msgs.get(end) {
            if msg.is_too_long() || msg.len() > BATCH_BYTES {
                if end == next {
                    results[end] = Err(StepError::with(EMSGSIZE, "the message is too long for the kernel"));
                    return end + 1..end + 1;
                }
                break;
            }
            if end - next == self.batch_messages || bytes + msg.len() > BATCH_BYTES {
                break;
            }
            bytes += msg.len();
            end += 1;
        }
        for (at, msg) in msgs[next..end].iter().enumerate() {
            // The last one's answer comes after those of all others, and a refusal is reported unasked.
            let ack = if next + at + 1 == end { NLM_F_ACK } else { 0 };
            let seq = self.next_seq();
            msg.write_to(out, NLM_F_REQUEST | ack, seq);
        }
        let sent = u64::try_from(end - next).unwrap_or(u64::MAX);
        self.counters.requests += sent;
        self.counters.writes += sent;
        next..end
    }

    /// Takes in the refusals of one send and the answer to its last message. The kernel handles
    /// messages in order, so those without a word by then have worked.
    fn collect_answers(&mut self, first_seq: u32, results: &mut [Result<(), StepError>]) -> Result<(), NetlinkError> {
        if results.is_empty() {
            return Ok(());
        }
        loop {
            self.receive()?;
            if sort_answers(&self.buffer, first_seq, results) {
                return Ok(());
            }
        }
    }

    fn next_seq(&mut self) -> u32 {
        self.seq = self.seq.wrapping_add(1);
        self.seq
    }

    fn send(&mut self, out: &[u8]) -> Result<(), NetlinkError> {
        if out.is_empty() {
            return Ok(());
        }
        self.counters.bytes += out.len() as u64;
        loop {
            match self.socket.send(out, 0) {
                Ok(_) => return Ok(()),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(NetlinkError::Send(e)),
            }
        }
    }

    fn receive(&mut self) -> Result<(), NetlinkError> {
        self.buffer.clear();
        loop {
            match self.socket.recv(&mut self.buffer, MSG_TRUNC) {
                Ok(len) if len > self.buffer.len() => return Err(NetlinkError::Truncated),
                Ok(len) => {
                    self.counters.bytes += len as u64;
                    return Ok(());
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(NetlinkError::Receive(e)),
            }
        }
    }
}

/// Makes the receive buffer as large as asked, or as the system allows; says how large it is.
pub(crate) fn set_receive_buffer(socket: &Socket, wanted: usize) -> Result<usize, NetlinkError> {
    if setsockopt(socket, sockopt::RcvBufForce, &wanted).is_err() {
        setsockopt(socket, sockopt::RcvBuf, &wanted).map_err(|e| NetlinkError::Open(e.into()))?;
    }
    socket.get_rx_buf_sz().map_err(NetlinkError::Open)
}

/// Puts the answers in a datagram into the places of what they answer; whether the last one was among
/// them, behind which nothing comes.
fn sort_answers(datagram: &[u8], first_seq: u32, results: &mut [Result<(), StepError>]) -> bool {
    for message in messages(datagram) {
        let at = usize::try_from(message.seq.wrapping_sub(first_seq)).unwrap_or(usize::MAX);
        if let (Some(slot), Some(result)) = (results.get_mut(at), answer(&message)) {
            *slot = result;
            if at + 1 == results.len() {
                return true;
            }
        }
    }
    false
}

/// The kernel's last word on a request, when the message is one.
fn answer(message: &Message<'_>) -> Option<Result<(), StepError>> {
    let tlvs_at = match message.kind {
        NLMSG_DONE => 4,
        NLMSG_ERROR if message.flags & NLM_F_CAPPED != 0 => 20,
        NLMSG_ERROR => 4 + ((usize::try_from(message.u32_at(4)).ok()? + 3) & !3),
        _ => return None,
    };
    let code = message.u32_at(0).cast_signed();
    if code >= 0 {
        return Some(Ok(()));
    }
    let has_text = message.kind == NLMSG_DONE || message.flags & NLM_F_ACK_TLVS != 0;
    let text = message
        .body
        .get(tlvs_at..)
        .filter(|_| has_text)
        .and_then(|tlvs| attributes(tlvs).find(NLMSGERR_ATTR_MSG))
        .and_then(|attr| attr.str())
        .filter(|text| !text.is_empty());
    Some(Err(StepError { errno: code.saturating_neg(), text: text.map(str::to_owned) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_message(code: i32, flags: u16, original: &[u8], text: Option<&str>) -> Vec<u8> {
        let mut msg = Msg::new(NLMSG_ERROR, flags);
        let mut head = code.to_ne_bytes().to_vec();
        head.extend_from_slice(original);
        msg.header(&head);
        if let Some(text) = text {
            msg.attr_str(NLMSGERR_ATTR_MSG, text);
        }
        msg.finish()
    }

    fn read(bytes: &[u8]) -> Option<Result<(), StepError>> {
        answer(&messages(bytes).next().unwrap())
    }

    #[test]
    fn the_kernels_words_are_found_with_and_without_the_original() {
        let original = Msg::new(16, 0).attr_str(1, "some attribute").finish();
        let header = &original[..16];
        let refused = Some(Err(StepError::with(17, "it exists")));
        assert_eq!(read(&error_message(-17, NLM_F_CAPPED | NLM_F_ACK_TLVS, header, Some("it exists"))), refused);
        assert_eq!(read(&error_message(-17, NLM_F_ACK_TLVS, &original, Some("it exists"))), refused);
        assert_eq!(read(&error_message(-17, NLM_F_CAPPED, header, None)), Some(Err(StepError::new(17))));
        assert_eq!(read(&error_message(0, NLM_F_CAPPED, header, None)), Some(Ok(())));
        assert_eq!(read(&Msg::new(16, 0).finish()), None);
    }

    #[test]
    fn a_refusal_in_the_middle_is_the_one_of_its_message() {
        let answered = |code: i32, seq: u32| {
            let mut bytes = error_message(code, NLM_F_CAPPED, &[0; 16], None);
            bytes[8..12].copy_from_slice(&seq.to_ne_bytes());
            bytes
        };
        // Numbers wrap around, and an answer to an earlier send means nothing.
        let first = u32::MAX;
        let mut results = vec![Ok(()); 4];
        assert!(!sort_answers(&answered(-1, first - 1), first, &mut results));
        assert!(!sort_answers(&answered(-17, first.wrapping_add(1)), first, &mut results));
        let rest = [answered(-22, first.wrapping_add(2)), answered(0, first.wrapping_add(3))].concat();
        assert!(sort_answers(&rest, first, &mut results));
        assert_eq!(results, [Ok(()), Err(StepError::new(17)), Err(StepError::new(22)), Ok(())]);
    }

    #[test]
    fn the_end_of_a_dump_can_be_a_refusal() {
        let done = |code: i32| Msg::new(NLMSG_DONE, 0).header(&code.to_ne_bytes()).finish();
        assert_eq!(read(&done(0)), Some(Ok(())));
        assert_eq!(read(&done(-22)), Some(Err(StepError::new(22))));
    }

    #[test]
    fn a_cut_off_error_is_no_panic() {
        for len in 0..24 {
            let bytes = error_message(-17, NLM_F_ACK_TLVS, &[0xff; 16], Some("x"));
            let message =
                Message { kind: NLMSG_ERROR, flags: NLM_F_ACK_TLVS, seq: 1, port: 0, body: &bytes[16..][..len] };
            let _ = answer(&message);
        }
    }
}
