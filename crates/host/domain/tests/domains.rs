//! Domains as a whole: each binding, model and state as the XML that libvirt gets (`tests/golden`, written again with
//! `NETLOOM_BLESS=1`), what is read back of it, and the steps from one to another. And nothing that is read makes it panic.

use std::{fs, path::Path};

use netloom_domain::{
    Attachment, Base, DeviceNames, Domain, Instance, LinkState, Nic, Owner, PciAddress, Step, domain, steps, with_links,
};
use proptest::prelude::*;

const BASE: &str = "<domain type='qemu'><name>x</name><uuid>7f3c</uuid><memory unit='MiB'>64</memory>\
    <currentMemory unit='MiB'>32</currentMemory><vcpu current='1'>2</vcpu>\
    <metadata><a:b xmlns:a='urn:a'/></metadata><os><type arch='x86_64' machine='q35'>hvm</type></os>\
    <cpu mode='maximum'><topology sockets='2' cores='1' threads='1'/></cpu>\
    <devices><emulator>/usr/bin/qemu-system-x86_64</emulator><memballoon model='none'/></devices></domain>";

fn nic(name: &str, state: Option<LinkState>) -> Nic {
    let DeviceNames { tap, mac } = DeviceNames::of("default", "a", name);
    Nic {
        name: name.to_owned(),
        attachment: Attachment::Tap,
        state,
        model: None,
        mac,
        tap,
        boot_order: None,
        pci_address: None,
        acpi_index: None,
        queues: None,
        refreshed: false,
    }
}

fn instance(nics: Vec<Nic>) -> Instance {
    let (namespace, name, uid) = ("default".to_owned(), "a".to_owned(), "u-1".to_owned());
    Instance { namespace, name, uid, memory: None, cores: None, nics }
}

fn written(nics: Vec<Nic>) -> String {
    domain(&instance(nics), &Base::parse(BASE).expect("the base is one"))
}

fn expect(name: &str, found: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.xml"));
    if std::env::var_os("NETLOOM_BLESS").is_some_and(|value| !value.is_empty() && value != "0") {
        fs::write(&file, found).expect("the folder is there");
    }
    let wanted = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(found, wanted, "{}; NETLOOM_BLESS=1 writes it again", file.display());
}

const UP: Option<LinkState> = Some(LinkState::Up);
const DOWN: Option<LinkState> = Some(LinkState::Down);

#[test]
fn each_attachment_and_state_has_its_xml() {
    for (state_name, state) in [("up", UP), ("down", DOWN), ("absent", None)] {
        for (name, attachment) in
            [("tap", Attachment::Tap), ("passt", Attachment::Passt), ("elsewhere", Attachment::Elsewhere)]
        {
            let nic = Nic { attachment, ..nic("blue", state) };
            expect(&format!("{name}-{state_name}"), &written(vec![nic]));
        }
    }
}

#[test]
fn each_model_has_its_xml() {
    for model in ["virtio", "e1000", "e1000e", "igb", "ne2k_pci", "pcnet", "rtl8139"] {
        let nic = Nic { model: Some(model.to_owned()), ..nic("blue", DOWN) };
        expect(&format!("model-{model}"), &written(vec![nic]));
    }
}

#[test]
fn everything_that_an_instance_can_say_is_in_the_xml() {
    let first = Nic {
        boot_order: Some(1),
        pci_address: PciAddress::parse("0000:81:00.1"),
        acpi_index: Some(101),
        queues: Some(4),
        ..nic("blue", UP)
    };
    let instance = Instance {
        memory: Some(134_217_728),
        cores: Some(4),
        ..instance(vec![first, nic("red", DOWN), nic("gone", None)])
    };
    expect("all", &domain(&instance, &Base::parse(BASE).unwrap()));
}

#[test]
fn what_was_written_is_read_as_it_was_meant() {
    let text = written(vec![nic("blue", UP), nic("red", DOWN)]);
    let read = Domain::read(&text).unwrap();
    let owner = Owner::Instance { uid: "u-1".to_owned(), namespace: "default".to_owned(), name: "a".to_owned() };
    assert_eq!((read.name.as_str(), &read.owner), ("default_a", &owner));
    let links: Vec<_> = read.interfaces.iter().map(|nic| (nic.name.as_str(), nic.link, nic.queues)).collect();
    assert_eq!(links, [("blue", LinkState::Up, 1), ("red", LinkState::Down, 1)]);
    assert_eq!(read.interfaces[0].tap, Some(nic("blue", UP).tap));
    assert_eq!(read.interfaces[0].mac, Some(nic("blue", UP).mac.to_string()));
}

#[test]
fn a_domain_without_our_metadata_or_of_another_version_is_somebody_elses() {
    let ours = written(vec![]);
    for (from, to) in [
        ("version='1'", "version='2'"),
        ("uid='u-1'", "uid=''"),
        ("https://netloom.dev/domain", "urn:other"),
        ("netloom:instance", "netloom:other"),
    ] {
        assert!(ours.contains(from), "{ours}");
        assert_eq!(Domain::read(&ours.replace(from, to)).unwrap().owner, Owner::Other, "{to}");
    }
    let renamed = ours.replace("netloom:", "n:").replace("xmlns:netloom", "xmlns:n");
    assert_ne!(Domain::read(&renamed).unwrap().owner, Owner::Other, "a prefix is only a prefix");
    assert_eq!(Domain::read("<domain><name>x</name></domain>").unwrap().owner, Owner::Other);
}

#[test]
fn a_base_is_a_domain_without_nics_of_bounded_size() {
    for (text, wanted) in [
        ("<domain><devices><interface type='user'/></devices></domain>".to_owned(), "take them out"),
        ("<network/>".to_owned(), "<network>"),
        ("junk".to_owned(), "text beside it"),
        (format!("<domain>{}</domain>", " ".repeat(1 << 20)), "1048593 bytes"),
    ] {
        let error = Base::parse(&text).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

/// The state that a link is in, the one that is wanted, and what is sent: nothing where both come to the same.
#[test]
fn a_link_is_changed_by_the_element_of_libvirt_and_only_where_it_differs() {
    let base = written(vec![nic("blue", UP)]);
    let explicit = base.replace("<alias name='ua-blue'/>", "<link state='up'/><alias name='ua-blue'/><odd X='Y'/>");
    let down = base.replace("<alias name='ua-blue'/>", "<link state='down'/><alias name='ua-blue'/><odd X='Y'/>");
    for (live, wanted, sent) in [
        (&base, UP, None),
        (&explicit, UP, None),
        (&down, DOWN, None),
        (&base, DOWN, Some(LinkState::Down)),
        (&explicit, DOWN, Some(LinkState::Down)),
        (&down, UP, Some(LinkState::Up)),
    ] {
        let live = Domain::read(live).unwrap();
        let found = steps(&instance(vec![nic("blue", wanted)]), &live);
        let Some(sent) = sent else {
            assert_eq!(found, []);
            continue;
        };
        let [Step::SetLink { nic, xml, state }] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((nic.as_str(), *state), ("blue", sent));
        assert_eq!(xml.contains("<link state='down'/>"), sent == LinkState::Down, "{xml}");
        assert!(!xml.contains("state='up'") && xml.contains("ua-blue"), "{xml}");
    }
    let live = Domain::read(&down).unwrap();
    let found = steps(&instance(vec![nic("blue", UP)]), &live);
    assert!(matches!(&found[..], [Step::SetLink { xml, .. }] if xml.contains("<odd X='Y'/>")), "nothing else changes");
}

#[test]
fn nics_are_plugged_in_with_their_state_first_then_unplugged_then_links_change() {
    let live = Domain::read(&written(vec![nic("blue", UP), nic("red", UP)])).unwrap();
    let wanted = instance(vec![nic("blue", DOWN), nic("red", None), nic("new", DOWN), nic("never", None)]);
    let found = steps(&wanted, &live);
    let kinds: Vec<_> = found
        .iter()
        .map(|step| match step {
            Step::Attach { xml, .. } => ("attach", xml.contains("<link state='down'/>")),
            Step::Detach { xml, .. } => ("detach", xml.contains("<link")),
            Step::SetLink { xml, .. } => ("link", xml.contains("<link state='down'/>")),
        })
        .zip(found.iter().map(Step::nic))
        .collect();
    assert_eq!(kinds, [(("attach", true), "new"), (("detach", false), "red"), (("link", true), "blue")]);
}

#[test]
fn only_a_tap_of_ours_is_unplugged_and_nothing_elsewhere_is_touched() {
    let text = written(vec![nic("blue", UP)]).replace(&nic("blue", UP).tap, "tap0");
    let live = Domain::read(&text).unwrap();
    assert_eq!(steps(&instance(vec![nic("blue", None)]), &live), []);
    let elsewhere = Nic { attachment: Attachment::Elsewhere, ..nic("blue", DOWN) };
    assert_eq!(steps(&instance(vec![elsewhere]), &live), []);
}

#[test]
fn a_migration_gets_the_links_that_the_instance_asks_for() {
    let text = written(vec![nic("blue", UP), nic("red", DOWN)]);
    let moved = with_links(&text, &instance(vec![nic("blue", DOWN), nic("red", UP)])).unwrap();
    let read = Domain::read(&moved).unwrap();
    assert_eq!(read.interfaces.iter().map(|nic| nic.link).collect::<Vec<_>>(), [LinkState::Down, LinkState::Up]);
}

proptest! {
    #[test]
    fn no_text_makes_the_readers_panic(text in any::<String>(), bytes in any::<Vec<u8>>()) {
        for text in [text.as_str(), &String::from_utf8_lossy(&bytes)] {
            Domain::read(text).ok();
            Base::parse(text).ok();
            with_links(text, &instance(vec![nic("blue", UP)])).ok();
        }
    }

    #[test]
    fn no_cut_or_flipped_domain_makes_the_readers_panic(cut in 0_usize..2000, at in 0_usize..2000, byte in any::<u8>()) {
        let mut bytes = written(vec![nic("blue", UP), nic("red", DOWN)]).into_bytes();
        let length = bytes.len();
        bytes[at % length] = byte;
        bytes.truncate(length - cut % length);
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(read) = Domain::read(&text) {
            steps(&instance(vec![nic("blue", DOWN), nic("red", None)]), &read);
        }
    }

    #[test]
    fn no_name_gets_out_of_its_place(name in any::<String>(), model in any::<String>(), uid in "[^\0-\u{1f}]+") {
        let nic = Nic { name: name.clone(), model: Some(model), ..nic("blue", UP) };
        let instance = Instance { uid: uid.clone(), ..instance(vec![nic]) };
        let read = Domain::read(&domain(&instance, &Base::parse(BASE).unwrap())).unwrap();
        prop_assert_eq!(read.interfaces.len(), 1);
        let Owner::Instance { uid: known, .. } = read.owner else { panic!("it is ours") };
        if !uid.contains(['\u{fffe}', '\u{ffff}', '\u{85}', '\u{2028}']) {
            prop_assert_eq!(known, uid);
        }
    }
}
