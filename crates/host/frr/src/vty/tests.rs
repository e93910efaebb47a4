use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::net::UnixListener,
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
    thread::{self, JoinHandle},
};

use super::*;

/// Long enough for an answer on a busy machine; nobody waits for it but those who expect none.
const LIMITS: Limits = Limits { answer: Duration::from_secs(20), lock: Duration::from_millis(50), size: 100 };
const SHORT: Duration = Duration::from_millis(50);

/// A daemon that answers what it was given, line by line, and then ends the connection or stays silent.
struct Fake {
    path: PathBuf,
    lines: JoinHandle<Vec<String>>,
}

impl Fake {
    /// Answers these to what comes after `enable`.
    fn answering(answers: &'static [&'static [u8]]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("netloom-frr-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        let listener = UnixListener::bind(&path).unwrap();
        let lines = thread::spawn(move || {
            let (socket, _) = listener.accept().unwrap();
            let mut answers = [&b"\0\0\0\0"[..]].into_iter().chain(answers.iter().copied());
            let mut reader = BufReader::new(&socket);
            let mut lines = Vec::new();
            let mut line = Vec::new();
            while reader.read_until(0, &mut line).is_ok_and(|count| count > 0) {
                line.pop();
                lines.push(String::from_utf8(std::mem::take(&mut line)).unwrap());
                match answers.next() {
                    Some(answer) => (&socket).write_all(answer).unwrap(),
                    None => break,
                }
            }
            lines
        });
        Self { path, lines }
    }

    fn connect(&self) -> Vty {
        Vty::connect(Daemon::Bgpd, &self.path, LIMITS).unwrap()
    }

    /// What it was sent after `enable`.
    fn lines(self) -> Vec<String> {
        fs::remove_file(&self.path).ok();
        self.lines.join().unwrap().split_off(1)
    }
}

/// What a line ends with, and what came to the daemon.
fn ask(answers: &'static [&'static [u8]], line: &str) -> (Result<Answer, FrrError>, Vec<String>) {
    let fake = Fake::answering(answers);
    let mut vty = fake.connect();
    let answer = vty.ask(line);
    drop(vty);
    (answer, fake.lines())
}

fn reason(answers: &'static [&'static [u8]]) -> &'static str {
    ask(answers, "show version").0.unwrap_err().reason()
}

/// The error for an answer that is not complete.
fn waiting(answer: &'static [&'static [u8]]) -> FrrError {
    let fake = Fake::answering(answer);
    let mut vty = fake.connect();
    vty.limits.answer = SHORT;
    let error = vty.ask("show version").unwrap_err();
    drop(vty);
    fake.lines();
    error
}

#[test]
fn an_answer_comes_back() {
    let (answer, lines) = ask(&[b"FRRouting 8.4.4\n\0\0\0\0"], "show version");
    assert_eq!(answer.unwrap(), Answer { status: Status::Success, text: "FRRouting 8.4.4\n".to_owned() });
    assert_eq!(lines, ["show version"]);
}

#[test]
fn what_is_no_complete_answer_has_a_name() {
    assert_eq!(waiting(&[b""]).reason(), "FrrSilent");
    assert_eq!(waiting(&[b"cut\0\0"]).reason(), "FrrSilent");
    assert_eq!(reason(&[]), "FrrClosed");
    assert_eq!(reason(&[b"two\0\0\0\0answers"]), "FrrNoAnswer");
    assert_eq!(reason(&[&[b'a'; 200]]), "FrrAnswerTooLong");
}

#[test]
fn after_half_an_answer_nothing_more_is_sent() {
    let fake = Fake::answering(&[b"cut\0\0", b"\0\0\0\0"]);
    let mut vty = fake.connect();
    vty.limits.answer = SHORT;
    assert!(vty.is_usable());
    assert!(vty.ask("show version").unwrap_err().may_be_done());
    assert!(!vty.is_usable());
    assert_eq!(vty.ask("show version").unwrap_err().reason(), "FrrClosed");
    drop(vty);
    assert_eq!(fake.lines(), ["show version"]);
}

#[test]
fn a_daemon_that_ended_is_noticed_before_a_line_is_sent() {
    let fake = Fake::answering(&[]);
    let mut vty = fake.connect();
    assert!(vty.ask("show version").is_err());
    let vty = Vty { usable: true, ..vty };
    fake.lines();
    assert!(!vty.is_usable());
}

#[test]
fn what_frr_would_cut_or_take_for_two_lines_is_not_sent() {
    let long = "a".repeat(LINE + 1);
    for (line, reason) in
        [(long.as_str(), "FrrLineTooLong"), ("password s3cret\nneighbor", "FrrNotOneLine"), ("\0", "FrrNotOneLine")]
    {
        let (answer, lines) = ask(&[], line);
        let error = answer.unwrap_err();
        assert_eq!(error.reason(), reason);
        assert!(!error.to_string().contains("s3cret"), "{error}");
        assert!(lines.is_empty());
    }
}

#[test]
fn a_socket_that_leads_nowhere_is_a_daemon_that_is_away() {
    let path = std::env::temp_dir().join("netloom-frr-no-such-daemon");
    assert_eq!(Vty::connect(Daemon::Zebra, &path, LIMITS).unwrap_err().reason(), "FrrAway");
}

#[test]
fn a_line_is_sent_in_its_context() {
    let fake = Fake::answering(&[b"\0\0\0\0", b"\0\0\0\0", b"noted\n\0\0\0\0", b"\0\0\0\0", b"all\n\0\0\0\0"]);
    let mut vty = fake.connect();
    assert_eq!(vty.configure(&["vrf blue"], "vni 100").unwrap().text, "noted\n");
    assert_eq!(vty.show("show running-config").unwrap(), "all\n");
    drop(vty);
    assert_eq!(fake.lines(), ["configure terminal", "vrf blue", "vni 100", "end", "show running-config"]);
}

#[test]
fn a_refusal_has_the_context_up_to_its_line() {
    let fake = Fake::answering(&[b"\0\0\0\0", b"\0\0\0\0", b"% Unknown\n\0\0\0\x02"]);
    let mut vty = fake.connect();
    let Err(FrrError::Refused(refusal)) = vty.configure(&["router bgp 1", "address-family x"], "activate") else {
        panic!("it was taken");
    };
    assert_eq!(
        (refusal.context.as_slice(), refusal.line.as_str()),
        (&["router bgp 1".to_owned()][..], "address-family x")
    );
    assert_eq!((refusal.status, refusal.words.as_str()), (Status::NoMatch, "Unknown"));
    drop(vty);
    fake.lines();
}

const LOCKED: &[u8] = b"% could not lock candidate DS\n\0\0\0\x0d";

#[test]
fn a_lock_of_somebody_else_is_waited_for() {
    let fake = Fake::answering(&[b"\0\0\0\0", LOCKED, b"\0\0\0\0", b"\0\0\0\0", b"\0\0\0\0"]);
    let mut vty = fake.connect();
    vty.configure(&[], "vrf blue").unwrap();
    drop(vty);
    let sent = ["configure terminal", "vrf blue", "end", "configure terminal", "vrf blue"];
    assert_eq!(fake.lines(), sent);
}

#[test]
fn a_lock_that_stays_is_an_error_of_its_own() {
    const OK: &[u8] = b"\0\0\0\0";
    let fake = Fake::answering(&[OK, LOCKED, OK, OK, LOCKED, OK, OK, LOCKED, OK, OK, LOCKED, OK, OK, LOCKED]);
    let mut vty = fake.connect();
    let error = vty.configure(&[], "vrf blue").unwrap_err();
    assert_eq!((error.reason(), error.may_be_done()), ("FrrLocked", false));
    drop(vty);
    fake.lines();
}
