//! A daemon that is not what it should be: absent, silent, gone in the middle, sending nonsense. Each of them ends in an
//! error that says so, in time, and none in a panic.

use std::{
    io::{Read as _, Write as _},
    os::unix::net::UnixStream,
    path::Path,
    thread,
    time::Duration,
};

use netloom_libvirt::{
    Change, Client, Destination, Error, Form, Handle, Scope,
    frame::{Frame, Kind, Receiver, Writer},
    procedure,
};
use proptest::prelude::*;

const LIMIT: Duration = Duration::from_millis(300);

fn reply(call: &Frame, body: Vec<u8>) -> Vec<u8> {
    Frame { kind: Kind::Reply, body, ..call.clone() }.bytes()
}

/// What a well-behaved daemon answers while a client connects.
fn greeting(call: &Frame) -> Option<Vec<u8>> {
    match call.procedure {
        procedure::AUTH_LIST => Some(reply(call, Writer::default().number(1).number(0).done())),
        procedure::CONNECT_OPEN => Some(reply(call, Vec::new())),
        procedure::CONNECT_DOMAIN_EVENT_CALLBACK_REGISTER_ANY => Some(reply(call, Writer::default().number(0).done())),
        _ => None,
    }
}

/// A daemon that answers with what `answer` says; none ends the connection.
fn daemon(answer: impl Fn(&Frame) -> Option<Vec<u8>> + Send + 'static) -> UnixStream {
    let (ours, mut theirs) = UnixStream::pair().expect("two sockets");
    thread::spawn(move || {
        let mut receiver = Receiver::default();
        loop {
            while let Ok(Some(call)) = receiver.frame() {
                let Some(bytes) = answer(&call) else { return };
                if theirs.write_all(&bytes).is_err() {
                    return;
                }
            }
            if receiver.read(&mut theirs).is_ok_and(|count| count == 0) {
                return;
            }
        }
    });
    ours
}

fn connected(answer: impl Fn(&Frame) -> Option<Vec<u8>> + Send + 'static) -> Client {
    let stream = daemon(move |call| greeting(call).or_else(|| answer(call)));
    Client::over(stream, "qemu:///system", LIMIT).expect("it greets")
}

fn handle() -> Handle {
    Handle { name: "default_a".to_owned(), uuid: [7; 16], id: 3 }
}

#[test]
fn nobody_at_the_socket_is_told_with_its_place() {
    let error = Client::connect(Path::new("/nowhere/sock"), "qemu:///system", LIMIT).unwrap_err();
    assert_eq!(error.reason(), "LibvirtUnavailable");
    assert!(error.to_string().contains("/nowhere/sock"), "{error}");
}

#[test]
fn a_daemon_that_asks_for_a_password_is_told_apart() {
    let stream = daemon(|call| Some(reply(call, Writer::default().number(1).number(1).done())));
    let error = Client::over(stream, "qemu:///system", LIMIT).unwrap_err();
    assert!(matches!(error, Error::Authentication(1)), "{error}");
}

#[test]
fn a_call_ends_when_nobody_answers_or_the_daemon_goes() {
    let mut silent = connected(|_| Some(Vec::new()));
    assert!(matches!(silent.domains(), Err(Error::Silent { .. })));
    let mut gone = connected(|_| None);
    assert!(matches!(gone.domains(), Err(Error::Closed(_))));
}

#[test]
fn a_frame_that_is_cut_oversized_or_lies_is_nonsense_and_ends_the_connection() {
    let cut = |call: &Frame| {
        let whole = reply(call, Writer::default().text("<domain/>").done());
        Some(whole[..whole.len() - 3].to_vec())
    };
    assert!(matches!(connected(cut).xml(&handle(), Form::Live), Err(Error::Silent { .. })));
    let huge = |_: &Frame| Some(u32::MAX.to_be_bytes().to_vec());
    let error = connected(huge).xml(&handle(), Form::Live).unwrap_err();
    assert!(matches!(error, Error::Unlikely(_)) && error.ends_connection(), "{error}");
    for body in [Vec::new(), Writer::default().number(u32::MAX).done(), Writer::default().number(9).done()] {
        let lies = move |call: &Frame| Some(reply(call, body.clone()));
        let error = connected(lies.clone()).xml(&handle(), Form::Live).unwrap_err();
        assert!(matches!(error, Error::Malformed(_)), "{error}");
        assert!(matches!(connected(lies).domains(), Err(Error::Malformed(_))));
    }
}

#[test]
fn a_refusal_has_the_words_of_libvirt_and_leaves_the_connection() {
    let mut client = connected(|call| {
        Some(match call.procedure {
            procedure::CONNECT_LIST_ALL_DOMAINS => {
                let handle = handle().write(Writer::default().number(1)).number(1);
                reply(call, handle.done())
            }
            procedure::DOMAIN_LOOKUP_BY_NAME => {
                let body = Writer::default().number(42).number(10).optional(Some("Domain not found")).done();
                Frame { failed: true, ..Frame { kind: Kind::Reply, body, ..call.clone() } }.bytes()
            }
            _ => {
                let body = Writer::default().number(84).number(10).optional(Some("cannot modify")).done();
                Frame { failed: true, ..Frame { kind: Kind::Reply, body, ..call.clone() } }.bytes()
            }
        })
    });
    let error = client.update(&handle(), "<interface/>", Scope::LiveAndConfig).unwrap_err();
    assert!(error.is(84) && !error.ends_connection(), "{error:?}");
    assert_eq!(error.to_string(), "cannot modify");
    assert_eq!(client.lookup("x").unwrap(), None);
    assert_eq!(client.domains().unwrap(), [handle()]);
}

#[test]
fn events_between_an_answer_and_its_call_are_kept_in_order() {
    let mut client = connected(|call| {
        let event =
            |procedure, body| Frame { ours: true, procedure, kind: Kind::Event, serial: 0, failed: false, body };
        let begun = handle().write(Writer::default().number(0)).number(2).number(0).done();
        let added = handle().write(Writer::default().number(1)).text("ua-blue").done();
        let mut bytes = event(procedure::DOMAIN_EVENT_CALLBACK_LIFECYCLE, begun).bytes();
        bytes.extend(event(9999, vec![1]).bytes());
        bytes.extend(event(procedure::DOMAIN_EVENT_CALLBACK_DEVICE_ADDED, added).bytes());
        bytes.extend(reply(call, Writer::default().text("<domain/>").done()));
        Some(bytes)
    });
    assert_eq!(client.xml(&handle(), Form::Live).unwrap(), "<domain/>");
    let told: Vec<_> = std::iter::from_fn(|| client.event()).map(|event| event.change).collect();
    assert_eq!(told, [Change::Lifecycle { event: 2, detail: 0 }, Change::DeviceAdded("ua-blue".to_owned())]);
}

/// What a well-behaved daemon is sent by these calls: the numbers and bodies of all calls after the greeting.
fn sent(ask: impl FnOnce(&mut Client)) -> Vec<(u32, Vec<u8>)> {
    let (tell, told) = std::sync::mpsc::channel();
    let mut client = connected(move |call| {
        tell.send((call.procedure, call.body.clone())).ok();
        Some(match call.procedure {
            procedure::DOMAIN_GET_XML_DESC => reply(call, Writer::default().text("<domain/>").done()),
            procedure::DOMAIN_GET_JOB_INFO => reply(call, Writer::default().number(2).done()),
            _ => reply(call, Vec::new()),
        })
    });
    ask(&mut client);
    drop(client);
    told.into_iter().collect()
}

#[test]
fn devices_change_live_and_in_the_definition_or_live_alone() {
    let body = |flags: u32| handle().write(Writer::default()).text("<interface/>").number(flags).done();
    let found = sent(|client| {
        client.update(&handle(), "<interface/>", Scope::LiveAndConfig).unwrap();
        client.attach(&handle(), "<interface/>").unwrap();
        client.detach(&handle(), "<interface/>", Scope::LiveAndConfig).unwrap();
        client.detach(&handle(), "<interface/>", Scope::Live).unwrap();
    });
    let wanted = [
        (procedure::DOMAIN_UPDATE_DEVICE_FLAGS, body(3)),
        (procedure::DOMAIN_ATTACH_DEVICE_FLAGS, body(3)),
        (procedure::DOMAIN_DETACH_DEVICE_FLAGS, body(3)),
        (procedure::DOMAIN_DETACH_DEVICE_FLAGS, body(1)),
        (procedure::CONNECT_CLOSE, Vec::new()),
    ];
    assert_eq!(found, wanted);
}

#[test]
fn only_what_goes_to_another_daemon_has_passwords() {
    let body = |flags: u32| handle().write(Writer::default()).number(flags).done();
    let found = sent(|client| {
        for form in [Form::Live, Form::Inactive, Form::Migratable] {
            client.xml(&handle(), form).unwrap();
        }
    });
    // Secure is 1, inactive 2, migratable 8.
    let bodies: Vec<_> = found.into_iter().take(3).map(|(_, body)| body).collect();
    assert_eq!(bodies, [body(0), body(2), body(9)]);
}

#[test]
fn a_domain_moves_live_from_daemon_to_daemon_and_leaves_nothing_behind() {
    let to = |data: Option<&str>| Destination {
        daemon: "qemu+unix:///system?socket=/x".to_owned(),
        data: data.map(str::to_owned),
        xml: "<domain/>".to_owned(),
    };
    let found = sent(|client| {
        client.migrate(&handle(), &to(Some("unix:///d")), LIMIT).unwrap();
        client.migrate(&handle(), &to(None), LIMIT).unwrap();
        assert!(client.is_at_work(&handle()).unwrap());
    });
    let head = |count: u32| handle().write(Writer::default()).optional(Some(&to(None).daemon)).number(count);
    let text = |writer: Writer, name: &str, value: &str| writer.text(name).number(7).text(value);
    // Live, from daemon to daemon, persistent there, undefined here.
    let end = |writer: Writer| writer.opaque(&[]).number(1 | 2 | 8 | 16).done();
    let domain = |count: u32| text(head(count), "destination_xml", "<domain/>");
    let bodies: Vec<_> = found.iter().take(2).map(|(number, body)| (*number, body.clone())).collect();
    let wanted = [end(text(domain(2), "migrate_uri", "unix:///d")), end(domain(1))];
    assert_eq!(bodies, wanted.map(|body| (305, body)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_bytes_of_a_daemon_make_the_client_panic(bytes in prop::collection::vec(any::<u8>(), 1..200)) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let sent = bytes.clone();
        let other = thread::spawn(move || {
            theirs.write_all(&sent).ok();
            theirs.shutdown(std::net::Shutdown::Write).ok();
            theirs.read_to_end(&mut Vec::new()).ok();
        });
        Client::over(ours, "qemu:///system", LIMIT).ok();
        other.join().unwrap();
        // The same as the body of an answer and of an event.
        let mut client = connected(move |call| {
            let event = Frame { kind: Kind::Event, procedure: procedure::DOMAIN_EVENT_CALLBACK_LIFECYCLE, body: bytes.clone(), ..call.clone() };
            Some([event.bytes(), reply(call, bytes.clone())].concat())
        });
        client.domains().ok();
        client.xml(&handle(), Form::Live).ok();
    }
}
