//! What the agent does on kernels that lack something.

use netloom_agent_core::Settings;
use netloom_model::{KernelFeatures, KernelVersion};
use serde_json::json;

use crate::model::{Rig, desire, dummy};

#[test]
fn a_kernel_that_is_too_old_is_left_alone_and_reported() {
    let version = Some(KernelVersion { major: 5, minor: 9 });
    let mut rig = Rig::new(Settings::of("n")).on_kernel(KernelFeatures { version, ..KernelFeatures::OLDEST });
    rig.run();
    desire(&mut rig, &dummy("d0", 1400));
    rig.run();
    assert_eq!((rig.mtu("d0"), rig.host.changes), (None, 0));
    let (truth, reason, message) = rig.condition("Degraded");
    assert_eq!((truth.as_str(), reason.as_str()), ("True", "InvalidDesiredState"));
    assert!(message.contains("kernel 5.9 is too old: netloom needs 5.10 or newer"), "{message}");
}

#[test]
fn an_address_goes_with_its_desired_state_where_only_the_record_knows_it() {
    let mut rig = Rig::new(Settings::of("n")).on_kernel(KernelFeatures::OLDEST);
    rig.run();
    let desired = |addresses: &[&str]| {
        let list: Vec<_> = addresses.iter().map(|ip| json!({"ip": ip, "prefix-length": 24})).collect();
        let ipv4 = json!({"enabled": true, "allow-extra-address": true, "address": list});
        json!({"interfaces": [{"name": "eth0", "state": "up", "ipv4": ipv4}]})
    };
    let there = |rig: &Rig| {
        let link = &rig.host.sim.observed().links[&"eth0".parse().unwrap()];
        link.addresses.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    desire(&mut rig, &desired(&["192.0.2.1", "198.51.100.1"]));
    rig.run();
    assert_eq!(there(&rig), ["192.0.2.1/24", "198.51.100.1/24"]);
    desire(&mut rig, &desired(&["198.51.100.1"]));
    rig.run();
    assert_eq!(there(&rig), ["198.51.100.1/24"], "ours goes although extra ones may stay");
    assert_eq!(rig.condition("Available").1, "AsDesired");
}
