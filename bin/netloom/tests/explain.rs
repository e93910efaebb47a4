//! `netloom explain` from outside: against files, and against an embedded API server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod embedded;

use std::process::Command;

use self::embedded::{NETLOOM, Server, empty_folder, ended};

fn object(kind: &str, name: &str, spec: &str) -> String {
    format!("---\napiVersion: kubevirt.io/v1\nkind: {kind}\nmetadata: {{namespace: shop, name: {name}}}\n{spec}\n")
}

/// Two NICs, the second of which is down.
const SPEC: &str = "{domain: {devices: {interfaces: [{name: default, masquerade: {}}, {name: blue, bridge: {}, state: down}]}}, \
                    networks: [{name: default, pod: {}}, {name: blue, multus: {networkName: lan/blue}}]}";

/// The taps that the program itself gives the NICs of the machine `web`: first that of the pod network.
fn taps(folder: &std::path::Path) -> [String; 2] {
    let (_, printed) = ended(Command::new(NETLOOM).args(["compile", "--domain", "-f"]).arg(folder.join("vm.yaml")));
    let found = printed.split(['"', '\'']).filter(|word| word.len() == 14 && word.starts_with("tap"));
    found.map(str::to_owned).collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("two taps: {printed}"))
}

fn machine() -> String {
    object("VirtualMachine", "web", &format!("spec: {{runStrategy: Halted, template: {{spec: {SPEC}}}}}"))
}

#[test]
fn a_tap_leads_to_a_machine_of_files() {
    let folder = empty_folder("explain-files");
    std::fs::write(folder.join("vm.yaml"), machine()).unwrap();
    let status = "status: {nodeName: n1, interfaces: [{name: blue, mac: '02:00:00:00:00:01', linkState: up}]}";
    let running = object("VirtualMachineInstance", "web", &format!("spec: {SPEC}\n{status}"));
    let other = object("VirtualMachineInstance", "db", &format!("spec: {SPEC}"));
    std::fs::write(folder.join("running.yaml"), running + &other).unwrap();
    let [default, blue] = taps(&folder);
    let explain = |tap: &str, file: &str, more: &[&str]| {
        ended(Command::new(NETLOOM).current_dir(&folder).args(["explain", tap, "--against", file]).args(more))
    };
    assert_eq!(
        explain(&blue, "running.yaml", &[]),
        (
            0,
            format!(
                "tap {blue}: interface blue of VirtualMachineInstance \"shop/web\"\n  node: n1\n  on: network lan/blue\n  \
                 link: wanted down, reported up\n  address in the guest: 02:00:00:00:00:01\n"
            )
        )
    );
    let (status, printed) = explain(&default, "vm.yaml", &[]);
    assert_eq!(status, 0, "{printed}");
    assert!(printed.contains("interface default of") && printed.contains("on: pod network"), "{printed}");
    assert!(
        printed.contains("node: none yet") && printed.contains("wanted up, reported not in the domain"),
        "{printed}"
    );
    let (_, printed) = explain(&blue, "running.yaml", &["-o", "json"]);
    let data: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((&data["instance"]["name"], &data["linkState"]), (&"web".into(), &"up".into()), "{printed}");
    let (status, printed) = explain("tap0", "running.yaml", &[]);
    assert!(status == 3 && printed.contains("\"tap0\" is the tap of no virtual machine here, of 2 that"), "{printed}");
}

#[test]
fn a_tap_leads_to_a_machine_of_a_cluster() {
    let server = Server::start("explain-cluster");
    let file = server.file("vm.yaml", &machine());
    let [_, blue] = taps(&server.folder);
    let (status, printed) = server.run(&["explain", &blue]);
    assert!(status == 3 && printed.contains("of 0 that were looked at"), "no instance, no tap: {printed}");
    let namespace = server.file("shop.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}");
    let instance = server.file("instance.yaml", &object("VirtualMachineInstance", "web", &format!("spec: {SPEC}")));
    for file in [&namespace, &file, &instance] {
        let (status, printed) = server.run(&["apply", "-f", file]);
        assert_eq!(status, 0, "{printed}");
    }
    let (status, printed) = server.run(&["explain", &blue]);
    assert_eq!(status, 0, "{printed}");
    assert!(
        printed.starts_with(&format!("tap {blue}: interface blue of VirtualMachineInstance \"shop/web\"\n")),
        "{printed}"
    );
    // What `get` shows of both kinds.
    let (_, machines) = server.run(&["get", "vm", "-A"]);
    assert!(machines.starts_with("NAMESPACE") && machines.contains("shop") && machines.contains("web"), "{machines}");
    let (_, instances) = server.run(&["get", "vmi", "-A"]);
    assert!(instances.starts_with("NAMESPACE") && instances.contains("web"), "{instances}");
    assert_eq!(server.run(&["get", "vmim", "-A"]).0, 0);
}
