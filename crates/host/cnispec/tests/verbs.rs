//! Every verb with every version and each way to get it wrong, and what results look like in each version.

use netloom_cnispec::{
    Answer, Attached, Call, Code, Config, Failure, Interface, Ip, Request, Route, SUPPORTED, Variables, Verb, Version,
    fake_ipam, versions,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn variables(pairs: &[(&str, &str)]) -> Variables {
    Variables::of(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
}

/// All variables that a runtime sets.
fn full(verb: &str) -> Vec<(&str, &str)> {
    vec![
        ("CNI_COMMAND", verb),
        ("CNI_CONTAINERID", "c1"),
        ("CNI_NETNS", "/run/netns/a"),
        ("CNI_IFNAME", "eth0"),
        ("CNI_PATH", "/opt/cni/bin:/usr/lib/cni"),
        ("CNI_ARGS", "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=a"),
        ("HOME", "/root"),
    ]
}

fn config(version: &str) -> Value {
    json!({
        "cniVersion": version, "name": "net", "type": "netloom-cni",
        "prevResult": {"cniVersion": version}, "cni.dev/valid-attachments": [{"containerID": "c1", "ifname": "eth0"}],
    })
}

fn read(pairs: &[(&str, &str)], config: &Value) -> Result<Request, Failure> {
    Request::read(&variables(pairs), config.to_string().as_bytes())
}

fn code(pairs: &[(&str, &str)], config: &Value) -> Code {
    read(pairs, config).expect_err("is refused").code
}

#[test]
fn each_verb_is_taken_from_its_version_on() {
    for (verb, since) in [("ADD", 0), ("DEL", 0), ("CHECK", 2), ("STATUS", 4), ("GC", 4)] {
        for (at, version) in SUPPORTED.into_iter().enumerate() {
            let answer = read(&full(verb), &config(version.name()));
            if at >= since {
                assert_eq!(answer.expect("is taken").config.version, version, "{verb} {version}");
            } else {
                assert_eq!(answer.expect_err("is refused").code, Code::Version, "{verb} {version}");
            }
        }
        for version in ["0.1.0", "0.2.0", "0.3.2", "1.2.0", "", "x"] {
            assert_eq!(code(&full(verb), &config(version)), Code::Version, "{verb} {version:?}");
        }
    }
}

#[test]
fn each_verb_needs_its_variables() {
    let needs: [(&str, &[&str]); 5] = [
        ("ADD", &["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"]),
        ("CHECK", &["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"]),
        ("DEL", &["CNI_CONTAINERID", "CNI_IFNAME"]),
        ("GC", &["CNI_PATH"]),
        ("STATUS", &[]),
    ];
    for (verb, needed) in needs {
        for name in Variables::NAMES {
            let pairs: Vec<_> = full(verb).into_iter().filter(|(other, _)| *other != name).collect();
            let answer = read(&pairs, &config("1.1.0"));
            if needed.contains(&name) || name == "CNI_COMMAND" {
                let failure = answer.expect_err("is refused");
                assert_eq!(failure.code, Code::Environment);
                assert!(failure.msg.contains(name), "{failure}");
            } else {
                answer.expect("is taken");
            }
        }
    }
    assert_eq!(code(&[("CNI_COMMAND", "ATTACH")], &config("1.1.0")), Code::Environment);
}

#[test]
fn names_of_containers_and_interfaces_are_checked() {
    let with = |name: &str, value: &str| {
        let mut pairs = full("ADD");
        pairs.retain(|(other, _)| *other != name);
        pairs.push((name, value));
        read(&pairs, &config("1.1.0")).map_err(|failure| failure.code).map(|_| ())
    };
    let long = "c".repeat(201);
    for container in ["a/b", "../x", "-a", ".a", "a b", "ä", long.as_str()] {
        assert_eq!(with("CNI_CONTAINERID", container), Err(Code::Environment), "{container}");
    }
    for container in ["a", "0a_b.c-d", &long[..200]] {
        assert_eq!(with("CNI_CONTAINERID", container), Ok(()), "{container}");
    }
    for ifname in ["a/b", ".", "..", "a b", "a:b", "a\tb", "sixteen-letters-"] {
        assert_eq!(with("CNI_IFNAME", ifname), Err(Code::Environment), "{ifname}");
    }
    for ifname in ["fifteen-letters", "eth0", "a.b"] {
        assert_eq!(with("CNI_IFNAME", ifname), Ok(()), "{ifname}");
    }
}

#[test]
fn a_configuration_is_read_with_its_defaults() {
    let request = read(&full("ADD"), &json!({"cniVersion": "1.0.0", "name": "n", "x_comment": [1]})).expect("is taken");
    assert_eq!(request.verb, Verb::Add);
    assert_eq!(request.config.socket, "/run/netloom/cni.sock");
    assert_eq!(request.config_dir, "/etc/cni/net.d");
    assert_eq!(request.path, ["/opt/cni/bin", "/usr/lib/cni"]);
    assert!(!request.config.legacy_names && !request.own_netns_allowed && request.config.previous.is_none());
    let pod = request.attachment.expect("is about a container").pod.expect("a pod");
    assert_eq!((pod.namespace.as_str(), pod.name.as_str(), pod.uid), ("default", "a", None));

    let mut pairs = full("ADD");
    pairs.extend([("CNI_CONF_DIR", "/static"), ("CNI_NETNS_OVERRIDE", "true")]);
    let request =
        read(&pairs, &json!({"cniVersion": "1.0.0", "name": "n", "namingScheme": "legacy"})).expect("is taken");
    assert_eq!(request.config_dir, "/static");
    assert!(request.config.legacy_names && request.own_netns_allowed);
    let request = read(&pairs, &json!({"cniVersion": "1.0.0", "name": "n", "cniDir": "/mine"})).expect("is taken");
    assert_eq!(request.config_dir, "/mine", "the configuration counts before the variable");
}

#[test]
fn a_wrong_configuration_has_the_code_of_what_is_wrong() {
    let refused = |config: Value| code(&full("ADD"), &config);
    assert_eq!(refused(json!([1])), Code::Decode);
    assert_eq!(refused(json!({"cniVersion": 1, "name": "n"})), Code::Decode);
    assert_eq!(refused(json!({"cniVersion": "1.0.0"})), Code::Config);
    assert_eq!(refused(json!({"cniVersion": "1.0.0", "name": "a/b"})), Code::Config);
    assert_eq!(refused(json!({"cniVersion": "1.0.0", "name": "n", "agentSocket": 1})), Code::Decode);
    assert_eq!(refused(json!({"cniVersion": "1.0.0", "name": "n", "prevResult": 1})), Code::Config);
    assert_eq!(refused(json!({"cniVersion": "1.0.0", "name": "n", "cni.dev/valid-attachments": [1]})), Code::Decode);
    assert_eq!(code(&full("CHECK"), &json!({"cniVersion": "1.0.0", "name": "n"})), Code::Config);
    let all = Request::read(&variables(&full("GC")), br#"{"cniVersion": "1.1.0", "name": "n"}"#).unwrap();
    assert_eq!(all.config.valid, None, "libcni's caller names none when all shall go");
    let broken = Request::read(&variables(&full("ADD")), b"\xff{");
    assert_eq!(broken.expect_err("is refused").code, Code::Decode);
}

#[test]
fn arguments_name_the_pod() {
    let pod = |args: &str| {
        let mut pairs = full("ADD");
        pairs.retain(|(name, _)| *name != "CNI_ARGS");
        pairs.push(("CNI_ARGS", args));
        read(&pairs, &config("1.1.0")).expect("is taken").attachment.expect("is about a container").pod
    };
    let uid = pod("K8S_POD_NAMESPACE=x;K8S_POD_NAME=y;K8S_POD_UID=z;K8S_POD_INFRA_CONTAINER_ID=q").expect("a pod").uid;
    assert_eq!(uid.as_deref(), Some("z"));
    for args in ["", "K8S_POD_NAME=y", "K8S_POD_NAMESPACE=x", "x", "K8S_POD_NAMESPACE=x;K8S_POD_NAME=y;FOO=1"] {
        assert_eq!(pod(args).expect_err("is refused").code, Code::Environment, "{args}");
    }
    assert!(pod("FOO=1;K8S_POD_NAMESPACE=x;K8S_POD_NAME=y;IgnoreUnknown=true").is_ok());
}

fn sample() -> Attached {
    let route = Route {
        dst: "10.0.0.0/8".parse().expect("a network"),
        gw: Some("192.0.2.1".parse().expect("an address")),
        mtu: None,
        advmss: None,
        priority: None,
        table: Some(100),
        scope: None,
    };
    let ip = |address: &str| Ip { interface: Some(0), address: address.parse().expect("an address"), gateway: None };
    let interface = Interface {
        name: "eth0".to_owned(),
        mac: "02:00:00:00:00:01".to_owned(),
        mtu: Some(1500),
        sandbox: "/run/netns/a".to_owned(),
        ..Interface::default()
    };
    Attached {
        interfaces: vec![interface],
        ips: vec![ip("192.0.2.5/24"), ip("2001:db8::5/64")],
        routes: vec![route],
        ..Attached::default()
    }
}

#[test]
fn a_result_has_the_fields_of_its_version() {
    for version in SUPPORTED {
        let value = sample().to_json(version);
        assert_eq!(value["cniVersion"], version.name());
        assert_eq!(value["interfaces"][0]["mtu"].is_null(), version < Version::V1_1_0, "{value}");
        assert_eq!(value["routes"][0]["table"].is_null(), version < Version::V1_1_0, "{value}");
        assert_eq!(value["ips"][1]["version"].as_str(), (version < Version::V1_0_0).then_some("6"), "{value}");
        let again = Attached::read(&value).expect("own result");
        assert_eq!(again.ips, sample().ips);
    }
    assert_eq!(Attached::read(&sample().to_json(Version::V1_1_0)).expect("own result"), sample());
}

#[test]
fn appended_results_keep_their_interfaces() {
    let mut all = sample();
    all.append(sample());
    let places: Vec<_> = all.ips.iter().map(|ip| ip.interface).collect();
    assert_eq!(places, [Some(0), Some(0), Some(1), Some(1)]);
}

#[test]
fn results_of_other_plugins_are_read_as_they_come() {
    let old = json!({"cniVersion": "0.3.1", "interfaces": null, "dns": null,
        "ips": [{"version": "4", "interface": -1, "address": "192.0.2.5/24", "gateway": "192.0.2.1"}]});
    let read = Attached::read(&old).expect("a result");
    assert_eq!(read.ips[0].interface, None);
    for bad in [
        json!(1),
        json!({"ips": [{"address": "192.0.2.5/33"}]}),
        json!({"ips": [{"address": "192.0.2.5/24", "interface": 3}]}),
    ] {
        assert!(Attached::read(&bad).is_err(), "{bad}");
    }
}

#[test]
fn fakeipam_answers_with_the_addresses_that_it_was_given() {
    let ips = json!([{"ipcidr": "192.0.2.5/24", "version": 4}, {"ipcidr": "2001:db8::5/64", "version": 6}]);
    let result = fake_ipam(&json!({"ipam": {"type": "fakeipam", "ips": ips}})).expect("a result");
    assert_eq!(result.ips.len(), 2);
    assert!(fake_ipam(&json!({"ipam": {"ips": []}})).is_none());
    assert!(fake_ipam(&json!({"ipam": {"ips": [{"ipcidr": "x"}]}})).is_none());
    assert!(fake_ipam(&json!({})).is_none());
}

#[test]
fn version_is_answered_in_the_version_asked() {
    assert_eq!(versions(br#"{"cniVersion":"0.4.0"}"#)["cniVersion"], "0.4.0");
    assert_eq!(versions(b"")["cniVersion"], "1.1.0");
    assert_eq!(versions(b"\xff")["supportedVersions"], json!(["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"]));
}

#[test]
fn errors_have_the_form_of_the_specification() {
    let failure = Failure::new(Code::TryLater, "the agent is away").with("no socket");
    let expected = json!({"cniVersion": "1.0.0", "code": 11, "msg": "the agent is away", "details": "no socket"});
    assert_eq!(failure.to_json(Version::V1_0_0), expected);
    assert!(Failure::new(Code::Io, "x").to_json(Version::V1_0_0).get("details").is_none());
}

#[test]
fn a_message_is_read_as_it_was_sent_and_no_longer_than_announced() {
    let call = Call { variables: variables(&full("ADD")), config: "{}\n\"".to_owned() };
    let mut bytes = Vec::new();
    call.send(&mut bytes).expect("a buffer takes all");
    assert_eq!(Call::receive(&mut bytes.as_slice()).expect("own message"), call);
    assert!(Call::receive(&mut &bytes[..bytes.len() - 1]).is_err());
    assert!(Answer::receive(&mut [0xff; 8].as_slice()).is_err());
}

proptest! {
    #[test]
    fn no_input_panics(input in prop::collection::vec(any::<u8>(), 0..200), text in "\\PC{0,60}", verb in "(ADD|DEL|CHECK|GC)") {
        let pairs = [("CNI_COMMAND", verb.as_str()), ("CNI_CONTAINERID", text.as_str()), ("CNI_NETNS", "n"),
            ("CNI_IFNAME", text.as_str()), ("CNI_ARGS", text.as_str()), ("CNI_PATH", text.as_str())];
        let _ = Request::read(&variables(&pairs), &input);
        let _ = Request::read(&variables(&full(&verb)), text.as_bytes());
        let _ = (Config::version_of(&input), versions(&input));
        let _ = (Call::receive(&mut input.as_slice()), Answer::receive(&mut input.as_slice()));
        if let Ok(value) = serde_json::from_slice::<Value>(&input) {
            let _ = (Attached::read(&value), fake_ipam(&value));
        }
    }
}
