//! What somebody else made stays as it is, and what they lose comes back as it was.

use std::process::Command;

use netloom_model::{
    Address, AddressExtra, AddressLabel, Attrs, Direction, Engine as _, FlowMatch, LinkKind, Mirror, MirrorAction,
    MirrorKey, Observed, Scope, Step, StepError,
};
use netloom_netlink::KernelHost;
use netloom_testkit::{
    runner::{Ended, Outcome},
    space::{Space, ip},
};
use netloom_types::{IfName, Protocol};

/// Steps for a link that could not be made do not reach the one that has its name.
pub(crate) fn name_was_taken() -> Outcome {
    let (space, mut host) = open()?;
    ip(&["-n", space.name(), "link", "add", "taken", "type", "dummy"])?;
    let address = Address::new([10, 0, 0, 1].into(), 24, Protocol::NETLOOM);
    let before = observe(&mut host)?;
    for steps in [
        vec![create("taken"), Step::SetUp { name: name("taken"), up: true }, create("other")],
        vec![Step::AddAddress { name: name("taken"), address }, Step::DeleteLink { name: name("taken") }],
    ] {
        let results = host.execute(&steps).map_err(|error| error.to_string())?;
        for (step, result) in steps.iter().zip(&results) {
            let refused = matches!(result, Err(e) if matches!(e.errno, StepError::EEXIST | StepError::ENODEV));
            if refused != (step.link() == Some(name("taken"))) {
                return Err(format!("{step}: {result:?}"));
            }
        }
    }
    let after = observe(&mut host)?;
    same("the link of the taken name", &before.links[&name("taken")], &after.links[&name("taken")])?;
    let results = host.execute(&[Step::SetUp { name: name("taken"), up: true }]).map_err(|error| error.to_string())?;
    same("the name after it was seen", &vec![Ok(())], &results)?;
    Ok(Ended::OK)
}

/// An address that is removed and put back has everything that it had.
pub(crate) fn address_comes_back() -> Outcome {
    let (space, mut host) = open()?;
    let on = |words: &[&str]| ip(&[&["-n", space.name()], words].concat());
    on(&["link", "add", "d0", "up", "type", "dummy"])?;
    on(&["address", "add", "10.0.0.1/24", "brd", "+", "label", "d0:a", "scope", "link", "noprefixroute", "dev", "d0"])?;
    on(&["address", "add", "10.1.0.1", "peer", "10.1.0.2/32", "dev", "d0"])?;
    on(&["address", "add", "2001:db8::1", "peer", "2001:db8::2/64", "noprefixroute", "nodad", "dev", "d0"])?;
    let before = observe(&mut host)?;
    let addresses = before.links[&name("d0")].addresses.clone();
    let extra = AddressExtra {
        no_prefix_route: true,
        scope: Some(253),
        broadcast: Some([10, 0, 0, 255].into()),
        label: AddressLabel::new("d0:a"),
        ..AddressExtra::default()
    };
    let count = (addresses.len(), addresses.iter().filter(|a| a.extra == extra).count());
    same("addresses and those with all extras", &(3, 1), &count)?;
    let remove = addresses.iter().map(|&address| Step::RemoveAddress { name: name("d0"), address });
    let add = addresses.iter().map(|&address| Step::AddAddress { name: name("d0"), address });
    let results = host.execute(&remove.chain(add).collect::<Vec<_>>()).map_err(|error| error.to_string())?;
    same("answers", &vec![Ok(()); 6], &results)?;
    same("the host", &before, &observe(&mut host)?)?;
    Ok(Ended::OK)
}

/// A mirror that goes takes nothing along that somebody else made, the queue included.
pub(crate) fn filters_stay() -> Outcome {
    let (space, mut host) = open()?;
    let on = |words: &[&str]| ip(&[&["-n", space.name()], words].concat());
    on(&["link", "add", "d0", "up", "type", "dummy"])?;
    on(&["link", "add", "d1", "up", "type", "dummy"])?;
    let tc = |words: &[&str]| tc(&[&["-n", space.name()], words].concat());
    tc(&["qdisc", "add", "dev", "d0", "clsact"])?;
    observe(&mut host)?;
    let key = MirrorKey { direction: Direction::Ingress, priority: 7 };
    let mirror = Mirror {
        matches: FlowMatch { ip_proto: Some(6), ..FlowMatch::default() },
        action: MirrorAction::Mirror,
        to: name("d1"),
        ours: true,
    };
    let remove = Step::RemoveMirror { name: name("d0"), key, mirror };
    let add = Step::AddMirror { name: name("d0"), key, mirror };
    let run = |host: &mut KernelHost, step: &Step| {
        let results = host.execute(std::slice::from_ref(step)).map_err(|error| error.to_string())?;
        same(&step.to_string(), &vec![Ok(())], &results)
    };
    run(&mut host, &add)?;
    let beside = ["filter", "add", "dev", "d0", "ingress", "prio", "7", "protocol", "all", "flower"];
    tc(&[&beside[..], &["dst_mac", "02:00:00:00:00:09", "action", "drop"]].concat())?;
    run(&mut host, &remove)?;
    let filters = tc(&["filter", "show", "dev", "d0", "ingress"])?;
    if !filters.contains("02:00:00:00:00:09") || filters.contains("mirred") {
        return Err(format!("filters are: {filters}"));
    }
    tc(&["filter", "del", "dev", "d0", "ingress"])?;
    run(&mut host, &add)?;
    run(&mut host, &remove)?;
    let queues = tc(&["qdisc", "show", "dev", "d0"])?;
    if queues.contains("clsact") { Ok(Ended::OK) } else { Err(format!("queues are: {queues}")) }
}

/// Runs `tc` and gives what it says.
fn tc(words: &[&str]) -> Result<String, String> {
    let done = Command::new("tc").args(words).output().map_err(|error| format!("tc: {error}"))?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    Err(format!("tc {}: {}", words.join(" "), String::from_utf8_lossy(&done.stderr).trim()))
}

fn open() -> Result<(Space, KernelHost), String> {
    let space = Space::new()?;
    let host = KernelHost::open_with(space.options()).map_err(|error| error.to_string())?;
    Ok((space, host))
}

fn observe(host: &mut KernelHost) -> Result<Observed, String> {
    host.observe(Scope::default()).map_err(|error| error.to_string())
}

fn create(link: &str) -> Step {
    Step::CreateLink { name: name(link), kind: LinkKind::Dummy, attrs: Attrs::new(), controller: None, up: false }
}

fn name(text: &str) -> IfName {
    text.parse().expect("a name")
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, expected: &T, got: &T) -> Result<(), String> {
    if expected == got { Ok(()) } else { Err(format!("{what}: expected {expected:?}, got {got:?}")) }
}
