//! The thread of the lane before a daemon that answers as a script says.
#![allow(clippy::unnecessary_wraps, reason = "a script may also say nothing")]

use std::{
    io::Write as _,
    os::unix::net::{UnixListener, UnixStream},
    path::PathBuf,
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, channel},
    },
    thread,
    time::Duration,
};

use netloom_hypervisor::{Options, Told, Word, Worker};
use netloom_libvirt::{
    Handle,
    frame::{self, Frame, Kind, Writer},
    procedure,
};
use netloom_machine::{domain::Plugins, lane::Want};
use serde_json::{Value, json};

/// A domain of ours that runs, with one NIC.
const DOMAIN: &str = "<domain><name>default_a</name><metadata>\
    <netloom:instance xmlns:netloom='https://netloom.dev/domain' version='1' uid='i-1' namespace='default' name='a'/>\
    </metadata><devices/></domain>";

fn reply(call: &Frame, body: Vec<u8>) -> Option<Vec<u8>> {
    Some(Frame { kind: Kind::Reply, body, ..call.clone() }.bytes())
}

fn refusal(call: &Frame, code: u32, why: &str) -> Option<Vec<u8>> {
    let body = Writer::default().number(code).number(10).optional(Some(why)).done();
    Some(Frame { failed: true, ..Frame { kind: Kind::Reply, body, ..call.clone() } }.bytes())
}

fn handle() -> Writer {
    Handle { name: "default_a".to_owned(), uuid: [7; 16], id: 3 }.write(Writer::default())
}

/// What a daemon with that one domain answers.
fn usual(call: &Frame) -> Option<Vec<u8>> {
    let number = |number| Writer::default().number(number);
    let listed = Handle { name: "default_a".to_owned(), uuid: [7; 16], id: 3 }.write(number(1)).number(1);
    match call.procedure {
        procedure::AUTH_LIST => reply(call, number(1).number(0).done()),
        procedure::CONNECT_DOMAIN_EVENT_CALLBACK_REGISTER_ANY => reply(call, number(0).done()),
        procedure::CONNECT_LIST_ALL_DOMAINS => reply(call, listed.done()),
        procedure::DOMAIN_LOOKUP_BY_NAME => reply(call, handle().done()),
        procedure::DOMAIN_GET_XML_DESC => reply(call, Writer::default().text(DOMAIN).done()),
        procedure::DOMAIN_GET_STATE => reply(call, number(1).number(1).done()),
        _ => reply(call, Vec::new()),
    }
}

type Script = Arc<dyn Fn(&Frame) -> Option<Vec<u8>> + Send + Sync>;

/// A daemon at a socket; nothing in an answer is silence.
struct Daemon {
    folder: PathBuf,
    calls: Arc<Mutex<Vec<u32>>>,
}

impl Daemon {
    fn start(name: &str, script: impl Fn(&Frame) -> Option<Vec<u8>> + Send + Sync + 'static) -> Self {
        let folder = std::env::temp_dir().join(format!("netloom-worker-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let listener = UnixListener::bind(folder.join("sock")).expect("a socket");
        let (script, calls): (Script, _) = (Arc::new(script), Arc::<Mutex<Vec<u32>>>::default());
        let noted = Arc::clone(&calls);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (script, noted) = (Arc::clone(&script), Arc::clone(&noted));
                thread::spawn(move || serve(stream, &script, &noted));
            }
        });
        Self { folder, calls }
    }

    fn count(&self, procedure: u32) -> usize {
        self.calls.lock().expect("nobody panics").iter().filter(|call| **call == procedure).count()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

fn serve(mut stream: UnixStream, script: &Script, noted: &Mutex<Vec<u32>>) {
    let mut receiver = frame::Receiver::default();
    loop {
        while let Ok(Some(call)) = receiver.frame() {
            noted.lock().expect("nobody panics").push(call.procedure);
            if let Some(bytes) = script(&call)
                && stream.write_all(&bytes).is_err()
            {
                return;
            }
        }
        if receiver.read(&mut stream).is_ok_and(|count| count == 0) {
            return;
        }
    }
}

fn start(daemon: &Daemon) -> (Worker, Receiver<Told>) {
    let (tell, told) = channel();
    let options = Options {
        node: "n1".to_owned(),
        socket: daemon.folder.join("sock"),
        domains: daemon.folder.clone(),
        plugins: Plugins::new(),
        poll: Duration::from_mins(10),
        clock: || "2030-01-01T00:00:00Z".to_owned(),
    };
    let worker = Worker::start(options, move |said| drop(tell.send(said))).expect("a thread");
    (worker, told)
}

/// The first write that it wants.
fn written(told: &Receiver<Told>) -> Value {
    loop {
        let said = told.recv_timeout(Duration::from_secs(30)).expect("it says what it wants");
        if let Told::Want(Want::Write { patch, .. }) = said {
            return patch["status"].clone();
        }
    }
}

fn leaving() -> Value {
    json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
        "metadata": {"namespace": "default", "name": "a", "uid": "i-1", "resourceVersion": "1"},
        "spec": {"domain": {"devices": {}}},
        "status": {"nodeName": "n1", "phase": "Running", "migrationState": {
            "migrationUid": "g-1", "sourceNode": "n1", "targetNode": "n2", "targetUri": "qemu+unix:///system",
        }},
    })
}

#[test]
fn a_guest_that_cannot_be_moved_is_told_and_not_tried_for_ever() {
    let daemon = Daemon::start("unmovable", |call| match call.procedure {
        procedure::DOMAIN_MIGRATE_PERFORM3_PARAMS => refusal(call, 55, "domain has assigned host devices"),
        procedure::DOMAIN_GET_JOB_INFO => reply(call, Writer::default().number(0).done()),
        _ => usual(call),
    });
    let (worker, told) = start(&daemon);
    worker.say(Word::Listed(vec![leaving()]));
    let state = written(&told)["migrationState"].clone();
    assert_eq!((&state["failed"], &state["failureReason"]), (&json!(true), &json!("domain has assigned host devices")));
    assert_eq!(daemon.count(procedure::DOMAIN_MIGRATE_PERFORM3_PARAMS), 1);
}

#[test]
fn a_guest_that_is_on_its_way_already_is_waited_for() {
    let asked = Arc::new(Mutex::new(0));
    let times = Arc::clone(&asked);
    let daemon = Daemon::start("moving", move |call| match call.procedure {
        // An agent of before has asked for it, and the second time it has arrived.
        procedure::DOMAIN_MIGRATE_PERFORM3_PARAMS => {
            *times.lock().expect("nobody panics") += 1;
            refusal(call, 55, "another migration job is already running")
        }
        procedure::DOMAIN_GET_JOB_INFO => reply(call, Writer::default().number(2).done()),
        procedure::DOMAIN_LOOKUP_BY_NAME if *times.lock().expect("nobody panics") > 0 => {
            refusal(call, 42, "Domain not found")
        }
        _ => usual(call),
    });
    let (worker, told) = start(&daemon);
    worker.say(Word::Listed(vec![leaving()]));
    assert_eq!(written(&told)["migrationState"]["completed"], true);
    assert_eq!(*asked.lock().expect("nobody panics"), 1);
}

#[test]
fn a_guest_that_does_not_let_go_of_a_device_keeps_nobody_waiting() {
    let nic = "<interface type='ethernet'><mac address='02:00:00:00:00:01'/><target dev='TAP'/><alias name='ua-blue'/></interface>";
    let tap = netloom_domain::DeviceNames::of("default", "a", "blue").tap;
    let text = DOMAIN.replace("<devices/>", &format!("<devices>{}</devices>", nic.replace("TAP", &tap)));
    let daemon = Daemon::start("holding", move |call| match call.procedure {
        procedure::DOMAIN_DETACH_DEVICE_FLAGS => None,
        procedure::DOMAIN_GET_XML_DESC => reply(call, Writer::default().text(&text).done()),
        _ => usual(call),
    });
    let (worker, told) = start(&daemon);
    let mut object = leaving();
    object["status"]["migrationState"] = Value::Null;
    object["spec"] = json!({
        "domain": {"devices": {"interfaces": [{"name": "blue", "bridge": {}, "state": "absent"}]}},
        "networks": [{"name": "blue", "multus": {"networkName": "blue"}}],
    });
    worker.say(Word::Listed(vec![object]));
    let conditions = written(&told)["conditions"].clone();
    assert_eq!(conditions[0]["message"], "blue: the guest has not released it yet", "{conditions}");
    assert_eq!(daemon.count(procedure::DOMAIN_DETACH_DEVICE_FLAGS), 1);
}
