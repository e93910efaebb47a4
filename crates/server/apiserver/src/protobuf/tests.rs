//! Bytes that the Go library wrote, what it makes of them, and bytes that nobody wrote.

use std::{collections::BTreeSet, io::Read as _};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use flate2::read::GzDecoder;
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Random objects of every kind, by `kube wire --samples`: kind, protobuf in base64, JSON.
const SAMPLES: &[u8] = include_bytes!("samples.gz");

fn samples() -> Vec<(String, Vec<u8>, Value)> {
    let mut text = String::new();
    GzDecoder::new(SAMPLES).read_to_string(&mut text).unwrap();
    let lines = text.lines().map(|line| {
        let (kind, rest) = line.split_once(' ').unwrap();
        let (bytes, json) = rest.split_once(' ').unwrap();
        let json = netloom_schema::decode::json(json.as_bytes(), Limits::default()).unwrap().value;
        (kind.to_owned(), STANDARD.decode(bytes).unwrap(), json)
    });
    lines.collect()
}

fn read(body: &[u8]) -> Result<Value, ProtobufError> {
    let envelope = open(body)?;
    let mut value = envelope.read(&envelope.api_version, &envelope.kind, Limits::default())?;
    value["apiVersion"] = json!(envelope.api_version);
    value["kind"] = json!(envelope.kind);
    Ok(value)
}

#[test]
fn objects_are_read_as_the_go_library_reads_them() {
    let mut kinds = BTreeSet::new();
    for (kind, bytes, expected) in samples() {
        let seen = read(&bytes).unwrap_or_else(|error| panic!("{kind}: {error}"));
        assert_eq!(seen, expected, "{kind}\n{seen:#}\n{expected:#}");
        kinds.insert(kind);
    }
    let known: BTreeSet<String> = Table::of_kubernetes().kinds().map(str::to_owned).collect();
    assert_eq!(kinds, known, "a sample of every kind");
}

/// A field with a length.
fn bytes(number: u8, inner: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    let mut length = inner.len();
    while length >= 0x80 {
        field.push(u8::try_from(length & 0x7f | 0x80).unwrap());
        length >>= 7;
    }
    field.push(u8::try_from(length).unwrap());
    field.extend(inner);
    field
}

fn body(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let kind = [bytes(1, api_version.as_bytes()), bytes(2, kind.as_bytes())].concat();
    [MAGIC.to_vec(), bytes(1, &kind), bytes(2, raw)].concat()
}

#[test]
fn an_envelope_is_needed() {
    let cases: [(&[u8], &str); 6] = [
        (b"", "Empty"),
        (b"{}", "NoMagic"),
        (b"k8s\x01abc", "NoMagic"),
        (b"k8s\0", "NoEnvelope"),
        (b"k8s\0\x0a\x05ab", "EndsEarly"),
        (b"k8s\0\x10\x01", "WrongWireType"),
    ];
    for (body, reason) in cases {
        assert_eq!(open(body).unwrap_err().reason(), reason, "{body:?}");
    }
    assert_eq!(read(&body("v1", "Nothing", b"")).unwrap_err().reason(), "UnknownKind");
}

#[test]
fn what_stands_there_twice_is_put_together() {
    let name = bytes(1, &bytes(1, b"a"));
    let namespace = bytes(1, &bytes(3, b"n"));
    let again = bytes(1, &bytes(1, b"b"));
    let value = read(&body("v1", "ConfigMap", &[name, namespace, again].concat())).unwrap();
    assert_eq!(value["metadata"], json!({ "name": "b", "namespace": "n" }));
    let entry = |key: &[u8], value: &[u8]| bytes(2, &[bytes(1, key), bytes(2, value)].concat());
    let data = [entry(b"k", b"1"), entry(b"k", b"2"), bytes(2, b"")].concat();
    let value = read(&body("v1", "ConfigMap", &data)).unwrap();
    assert_eq!(value["data"], json!({ "k": "2", "": "" }));
}

#[test]
fn numbers_may_stand_all_in_one() {
    // The groups of a pod: spec, its security context, and there field 4.
    let pod = |groups: &[u8]| body("v1", "Pod", &bytes(2, &bytes(14, groups)));
    let one_by_one = read(&pod(&[0x20, 5, 0x20, 0x80, 1])).unwrap();
    let packed = read(&pod(&bytes(4, &[5, 0x80, 1]))).unwrap();
    assert_eq!(one_by_one["spec"]["securityContext"]["supplementalGroups"], json!([5, 128]));
    assert_eq!(one_by_one, packed);
}

#[test]
fn what_is_unknown_is_passed_over_and_what_is_wrong_is_not() {
    let unknown = bytes(15, b"new");
    assert!(read(&body("v1", "ConfigMap", &unknown)).is_ok());
    let wrong = read(&body("v1", "ConfigMap", &[0x10, 1])).unwrap_err();
    assert_eq!(wrong.to_string(), "proto: wrong wireType = 0 for field Data");
    let invalid = bytes(1, &bytes(1, &[0xff, b'a']));
    assert_eq!(read(&body("v1", "ConfigMap", &invalid)).unwrap()["metadata"]["name"], "\u{fffd}a");
}

#[test]
fn values_that_json_cannot_hold_are_refused() {
    let field = |number, inner: &[u8]| bytes(number, inner);
    let schema = |inner: &[u8]| {
        // spec, its versions, their schema, and the schema in it.
        let definition = field(2, &field(7, &field(4, &field(1, inner))));
        read(&body("apiextensions.k8s.io/v1", "CustomResourceDefinition", &definition))
    };
    let mut not_a_number = vec![9 << 3 | 1];
    not_a_number.extend(f64::NAN.to_le_bytes());
    assert_eq!(schema(&not_a_number).unwrap_err().reason(), "NotJson");
    assert_eq!(schema(&field(8, &field(1, b"{broken"))).unwrap_err().reason(), "NotJson");
    let far = field(1, &field(8, &[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]));
    assert_eq!(read(&body("v1", "ConfigMap", &far)).unwrap_err().reason(), "NotJson");
}

#[test]
fn a_body_has_limits() {
    // `not` is field 28 of a schema, which takes two bytes.
    let mut schema = Vec::new();
    for _ in 0..200 {
        let inner = bytes(1, &schema);
        schema = [vec![0xe2, 0x01], inner[1..].to_vec()].concat();
    }
    let definition = bytes(2, &bytes(7, &bytes(4, &bytes(1, &schema))));
    let deep = read(&body("apiextensions.k8s.io/v1", "CustomResourceDefinition", &definition)).unwrap_err();
    assert_eq!(deep.reason(), "TooDeep");
    let many = bytes(2, b"").repeat(400_000);
    let many = read(&body("v1", "Pod", &bytes(2, &many))).unwrap_err();
    assert_eq!(many.reason(), "TooMany");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_bytes_break_the_reader(kind in 0..100_usize, raw in proptest::collection::vec(any::<u8>(), 0..200)) {
        let kinds: Vec<&str> = Table::of_kubernetes().kinds().collect();
        let (api_version, kind) = kinds[kind % kinds.len()].rsplit_once('/').unwrap();
        drop(read(&raw));
        drop(read(&body(api_version, kind, &raw)));
    }

    #[test]
    fn no_change_of_an_object_breaks_the_reader(
        sample in any::<prop::sample::Index>(), place in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>(),
    ) {
        let samples = SAMPLES_READ.with(Clone::clone);
        let mut bytes = samples[sample.index(samples.len())].clone();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        if cut {
            bytes.truncate(place);
        }
        drop(read(&bytes));
    }
}

thread_local! {
    static SAMPLES_READ: std::rc::Rc<Vec<Vec<u8>>> =
        std::rc::Rc::new(samples().into_iter().map(|(_, bytes, _)| bytes).collect());
}
