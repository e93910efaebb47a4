//! Rules on objects, accepted and refused.

use netloom_schema::{FieldError, Schema, validate};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn texts(errors: &[FieldError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

/// What the rules of a schema for `spec` say of a new and an old value.
fn reported(spec: &Value, new: &Value, old: Option<&Value>) -> Vec<String> {
    let schema = Schema::lenient(&json!({"type": "object", "properties": {"spec": spec}}));
    let object = |value: &Value| json!({"spec": value});
    texts(&validate(&schema, &object(new), old.map(object).as_ref(), &Cel))
}

fn field(kind: Value, rule: &str) -> Value {
    let mut schema = kind;
    schema["x-kubernetes-validations"] = json!([{"rule": rule}]);
    schema
}

/// An object with one field of many types, for rules about values.
fn many(rule: &str) -> Value {
    field(
        json!({"type": "object", "properties": {
            "n": {"type": "integer"}, "f": {"type": "number"}, "s": {"type": "string"}, "b": {"type": "boolean"},
            "l": {"type": "array", "items": {"type": "integer"}},
            "m": {"type": "object", "additionalProperties": {"type": "integer"}},
            "t": {"type": "string", "format": "date-time"}, "d": {"type": "string", "format": "duration"},
            "x": {"x-kubernetes-int-or-string": true},
            "my_field": {"type": "integer"}, "my__field": {"type": "integer"}, "my-field": {"type": "integer"},
            "namespace": {"type": "string"}, "absent": {"type": "string"},
            "o": {"type": "array", "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}},
        }}),
        rule,
    )
}

fn value() -> Value {
    json!({"n": 5, "f": 2, "s": "héllo", "b": true, "l": [1, 2, 3], "m": {"a-b": 1, "c": 2}, "t": "2024-01-01T00:00:00Z",
        "d": "90s", "x": "50%", "my_field": 1, "my__field": 2, "my-field": 3, "namespace": "ns",
        "o": [{"k": "a", "v": 1}, {"k": "b", "v": 2}]})
}

#[test]
fn expressions_that_hold() {
    let rules = [
        "self.n == 5 && self.f == 2.0 && self.n > 4",
        "self.f > 1.0",
        "size(self.s) == 5 && self.s.size() == 5",
        "self.s.startsWith('h') && self.s.contains('llo') && self.s.matches('^h.llo$')",
        "self.l.all(x, x > 0) && self.l.exists(x, x == 2) && self.l.exists_one(x, x == 3)",
        "self.l.map(x, x * 2) == [2, 4, 6] && self.l.filter(x, x > 1) == [2, 3]",
        "self.l.map(x, x > 1, x + 1) == [3, 4]",
        "self.l[0] == 1 && 2 in self.l && !(9 in self.l)",
        "self.m['a-b'] == 1 && 'c' in self.m && self.m.all(k, self.m[k] > 0)",
        "self.my_field == 1 && self.my__underscores__field == 2 && self.my__dash__field == 3",
        "self.__namespace__ == 'ns'",
        "has(self.s) && !has(self.absent)",
        "!has(self.absent) || self.absent == 'x'",
        "self.b ? self.n == 5 : false",
        "type(self.n) == int && type(self.s) == string && type(self.x) == string",
        "self.t == timestamp('2024-01-01T00:00:00Z') && self.t + duration('1h') > self.t",
        "self.d == duration('1m30s') && self.d.getSeconds() == 90",
        "self.o.all(i, i.v > 0) && self.o.map(i, i.k).join(',') == 'a,b'",
        "self.l.all(i, v, v == i + 1)",
        "self.m.exists(k, v, k == 'c' && v == 2)",
        "self.l.transformList(i, v, i * v) == [0, 2, 6]",
        "self.?absent.orValue('none') == 'none' && self.?s.hasValue()",
        "optional.of(5).value() == 5 && !optional.none().hasValue()",
        "self[?'s'].orValue('') == 'héllo'",
        "ip('10.0.0.1').family() == 4 && isIP('::1') && !isIP('x')",
        "cidr('10.0.0.0/8').containsIP(ip('10.1.2.3')) && cidr('10.0.0.0/8').prefixLength() == 8",
        "quantity('1Ki').isGreaterThan(quantity('1000'))",
        "url('https://example.com:80/x').getHostname() == 'example.com'",
        "semver('1.2.3').isLessThan(semver('1.3.0'))",
        "'a,b'.split(',') == ['a', 'b'] && 'abc'.substring(1) == 'bc' && ' a '.trim() == 'a'",
        "'%s is %d'.format(['x', 5]) == 'x is 5'",
        "sets.contains([1, 2], [1]) && lists.range(3) == [0, 1, 2]",
        "string(self.d) == '90s' && string(self.t) == '2024-01-01T00:00:00Z' && string(duration('1.5s')) == '1.5s'",
        "'abc123'.find('[0-9]+') == '123' && [1, 2, 2].distinct() == [1, 2]",
        "!format.dns1123Label().validate('Bad_Name').orValue([]).isSorted() || true",
        "int('5') + 1 == 6 && string(5) == '5' && double(2) == 2.0 && bool('true')",
        "dyn(self.n) == 5 && dyn(self.n) != 'x'",
        "1 / 0 == 1 || true",
        "true || 1 / 0 == 1",
        "[1, 0].exists(x, 1 / x == 1)",
        "{'a': 1}['a'] == 1 && {'a': 1}.a == 1",
        "-self.n == -5 && 7 % 4 == 3 && 7 / 2 == 3",
        "b'abc' == bytes('abc')",
    ];
    for rule in rules {
        assert_eq!(reported(&many(rule), &value(), None), Vec::<String>::new(), "{rule}");
    }
}

#[test]
fn faults_have_the_words_of_kubernetes() {
    let table = [
        ("self.n > 5", "spec: Invalid value: failed rule: self.n > 5"),
        (
            "self.absent == 'x'",
            "spec: Invalid value: \"object\": no such key: absent evaluating rule: self.absent == 'x'",
        ),
        ("self.l[9] == 1", "spec: Invalid value: \"object\": index out of bounds: 9 evaluating rule: self.l[9] == 1"),
        ("1 / 0 == 1", "spec: Invalid value: \"object\": division by zero evaluating rule: 1 / 0 == 1"),
        (
            "self.x > 5",
            "spec: Invalid value: \"object\": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: self.x > 5",
        ),
        (
            "9223372036854775807 + self.n > 0",
            "spec: Invalid value: \"object\": integer overflow evaluating rule: 9223372036854775807 + self.n > 0",
        ),
    ];
    for (rule, message) in table {
        assert_eq!(reported(&many(rule), &value(), None), [message], "{rule}");
    }
}

#[test]
fn a_rule_chooses_its_message_its_cause_and_its_field() {
    let schema = |entry: Value| {
        json!({"type": "object", "properties": {"a": {"type": "integer"}, "m": {"type": "object", "additionalProperties": {"type": "integer"}}},
            "x-kubernetes-validations": [entry]})
    };
    let table = [
        (json!({"rule": "self.a > 5", "message": " too small "}), "spec: Invalid value: too small"),
        (json!({"rule": "self.a > 5", "messageExpression": "'got ' + string(self.a)"}), "spec: Invalid value: got 1"),
        (json!({"rule": "self.a > 5", "message": "m", "messageExpression": "string(1 / 0)"}), "spec: Invalid value: m"),
        (json!({"rule": "self.a > 5", "message": "m", "messageExpression": "'a\\nb'"}), "spec: Invalid value: m"),
        (json!({"rule": "self.a > 5", "message": "m", "reason": "FieldValueForbidden"}), "spec: Forbidden: m"),
        (
            json!({"rule": "self.a > 5", "message": "m", "reason": "FieldValueRequired", "fieldPath": ".a"}),
            "spec.a: Required value: m",
        ),
        (json!({"rule": "self.a > 5", "message": "m", "fieldPath": ".m['x.y']"}), "spec.m[x.y]: Invalid value: m"),
    ];
    for (entry, message) in table {
        assert_eq!(reported(&schema(entry.clone()), &json!({"a": 1}), None), [message], "{entry}");
    }
    let scalar = field(json!({"type": "integer"}), "self > 5");
    assert_eq!(reported(&scalar, &json!(1), None), ["spec: Invalid value: 1: failed rule: self > 5"]);
}

#[test]
fn transition_rules_follow_keys_and_names() {
    let item = json!({"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "self.v >= oldSelf.v", "message": "may not shrink"}]});
    let list =
        json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": item});
    let old = json!([{"k": "a", "v": 5}, {"k": "b", "v": 1}]);
    assert_eq!(
        reported(&list, &json!([{"k": "b", "v": 1}, {"k": "a", "v": 5}]), Some(&old)),
        Vec::<String>::new(),
        "a new order"
    );
    assert_eq!(
        reported(&list, &json!([{"k": "b", "v": 2}, {"k": "a", "v": 4}]), Some(&old)),
        ["spec[1]: Invalid value: may not shrink"]
    );
    assert_eq!(reported(&list, &json!([{"k": "c", "v": 0}]), Some(&old)), Vec::<String>::new(), "a new item");
    assert_eq!(reported(&list, &json!([{"k": "a", "v": 0}]), None), Vec::<String>::new(), "a new object");

    let map = json!({"type": "object", "additionalProperties": field(json!({"type": "integer"}), "self >= oldSelf")});
    assert_eq!(
        reported(&map, &json!({"x": 1}), Some(&json!({"x": 2}))),
        ["spec[x]: Invalid value: 1: failed rule: self >= oldSelf"]
    );
    let plain = field(json!({"type": "string"}), "self == oldSelf");
    assert_eq!(
        reported(&plain, &json!("b"), Some(&json!("a"))),
        ["spec: Invalid value: \"b\": failed rule: self == oldSelf"]
    );
}

#[test]
fn an_optional_old_value_lets_a_rule_run_on_create() {
    let schema = json!({"type": "integer", "x-kubernetes-validations": [
        {"rule": "oldSelf.hasValue() ? self >= oldSelf.value() : self == 1", "optionalOldSelf": true, "message": "m"}]});
    assert_eq!(reported(&schema, &json!(1), None), Vec::<String>::new());
    assert_eq!(reported(&schema, &json!(2), None), ["spec: Invalid value: 2: m"]);
    assert_eq!(reported(&schema, &json!(2), Some(&json!(1))), Vec::<String>::new());
    assert_eq!(reported(&schema, &json!(1), Some(&json!(2))), ["spec: Invalid value: 1: m"]);
}

#[test]
fn what_did_not_change_is_not_refused() {
    let schema = json!({"type": "object", "properties": {
        "a": field(json!({"type": "integer"}), "self > 5"), "b": {"type": "integer"}}});
    let old = json!({"a": 1, "b": 1});
    assert_eq!(reported(&schema, &json!({"a": 1, "b": 2}), Some(&old)), Vec::<String>::new());
    assert_eq!(
        reported(&schema, &json!({"a": 2, "b": 2}), Some(&old)),
        ["spec.a: Invalid value: 2: failed rule: self > 5"]
    );
}

#[test]
fn rules_at_the_root_see_names_and_nothing_else_of_metadata() {
    let schema = |rule: &str| {
        Schema::lenient(
            &json!({"type": "object", "properties": {"spec": {"type": "object"}}, "x-kubernetes-validations": [{"rule": rule}]}),
        )
    };
    let object =
        json!({"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "n", "labels": {"a": "b"}}, "spec": {}});
    let reported = |rule: &str| texts(&validate(&schema(rule), &object, None, &Cel));
    assert_eq!(
        reported("self.metadata.name == 'n' && self.kind == 'K' && self.apiVersion == 'a/v1'"),
        Vec::<String>::new()
    );
    assert_eq!(reported("!has(self.metadata.labels)"), Vec::<String>::new());
    assert_eq!(reported("self.metadata.name == 'x'"), ["<nil>: Invalid value: failed rule: self.metadata.name == 'x'"]);
}

#[test]
fn run_away_rules_are_stopped() {
    let many: Vec<i64> = (0..2_000).collect();
    let table = [
        "self.all(a, self.all(b, self.all(c, a + b + c >= 0)))",
        "self.map(a, self.map(b, self.map(c, c))).size() > 0",
        "self.all(a, i, self.all(b, j, self.all(c, k, true)))",
    ];
    for rule in table {
        let schema = field(json!({"type": "array", "items": {"type": "integer"}}), rule);
        assert_eq!(
            reported(&schema, &json!(many), None),
            [format!(
                "spec: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: {rule}"
            )],
        );
    }
    let grow = "[self].map(a, [a, a, a, a, a, a, a, a]).map(b, [b, b, b, b, b, b, b, b]).map(c, [c, c, c, c, c, c, c, c]).map(d, [d, d, d, d, d, d, d, d]).all(e, e == e)";
    let schema = field(json!({"type": "array", "items": {"type": "integer"}}), grow);
    let errors = reported(&schema, &json!(many), None);
    assert!(errors[0].contains("cost limit exceeded"), "{errors:?}");
    let replace = field(json!({"type": "string"}), "self.replace('', self).size() > 0");
    assert!(reported(&replace, &json!("x".repeat(100_000)), None)[0].contains("cost limit exceeded"));
}

#[test]
fn definitions_are_checked() {
    let refused = |spec: Value| {
        let schema = json!({"type": "object", "properties": {"spec": spec}});
        texts(&Schema::parse_with(&schema, "s", &Cel).err().unwrap_or_default())
    };
    let text = json!({"type": "string"});
    let sets = json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}});
    assert_eq!(
        reported(
            &field(sets.clone(), "self == ['b', 'a'] && self + ['a', 'c'] == ['a', 'b', 'c']"),
            &json!(["a", "b"]),
            None
        ),
        Vec::<String>::new()
    );
    let object = json!({"type": "object", "properties": {"a": {"type": "string"}, "n": {"type": "integer"}}});
    let at = "s.properties[spec].x-kubernetes-validations[0].rule: Invalid value: ";
    let table = [
        (field(object.clone(), "self.b == 'x'"), "undefined field 'b'\n | self.b == 'x'\n | ....^"),
        (field(text.clone(), "other == 'x'"), "undeclared reference to 'other' (in container '')"),
        (field(text.clone(), "self.nonsense()"), "undeclared reference to 'nonsense'"),
        (field(text.clone(), "self +"), "compilation failed: ERROR: <input>:1:7: Syntax error"),
        (field(text.clone(), "self"), "cel expression must evaluate to a bool"),
        (field(object.clone(), "self.n + 1"), "cel expression must evaluate to a bool"),
        (field(text.clone(), "Foo{a: 1} == self"), "undeclared reference to 'Foo'"),
        (field(object.clone(), "self.a.b == 'x'"), "type 'string' does not support field selection"),
        (
            field(object.clone(), "self.n == 1.5"),
            "ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(int, double)'\n | self.n == 1.5\n | .......^",
        ),
        (
            field(object.clone(), "math.abs(self.n) > 1"),
            "ERROR: <input>:1:1: undeclared reference to 'math' (in container '')",
        ),
    ];
    for (spec, message) in table {
        let reported = refused(spec.clone());
        assert!(
            reported.len() == 1 && reported[0].starts_with(at) && reported[0].contains(message),
            "{spec}\n{reported:#?}"
        );
    }
    for rule in [
        "self.a.startsWith('x') && self.n > 1",
        "has(self.a)",
        "self.a == 'x' || oldSelf.n == 1",
        "[self.a].all(x, x != '')",
    ] {
        assert_eq!(refused(field(object.clone(), rule)), Vec::<String>::new(), "{rule}");
    }
    let list = json!({"type": "array", "items": field(text.clone(), "self == oldSelf")});
    assert_eq!(
        refused(list),
        [
            "s.properties[spec].items.x-kubernetes-validations[0].rule: Invalid value: \"self == oldSelf\": oldSelf cannot be used on the uncorrelatable portion of the schema within s.properties[spec]"
        ]
    );
    let mut optional = field(text.clone(), "self == 'x'");
    optional["x-kubernetes-validations"][0]["optionalOldSelf"] = json!(true);
    assert_eq!(
        refused(optional),
        [
            "s.properties[spec].x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule"
        ]
    );
    let mut message = field(text, "self == 'x'");
    message["x-kubernetes-validations"][0]["messageExpression"] = json!("5");
    assert!(refused(message)[0].contains("messageExpression must evaluate to a string"));
}

#[test]
fn defaults_must_meet_the_rules() {
    let mut schema = field(json!({"type": "integer", "default": 1}), "self > 5");
    let reported = |schema: &Value| {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"n": schema}}}});
        texts(&Schema::parse_with(&schema, "s", &Cel).err().unwrap_or_default())
    };
    assert_eq!(
        reported(&schema),
        ["s.properties[spec].properties[n].default: Invalid value: 1: failed rule: self > 5"]
    );
    schema["default"] = json!(6);
    assert_eq!(reported(&schema), Vec::<String>::new());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn no_text_breaks_the_rules(rule in "[a-c0-9 ()\\[\\]{}.,:?!&|=<>+*/%'\"self-]{0,40}|\\PC{0,20}") {
        let _ = reported(&many(&rule), &value(), Some(&value()));
        let _ = Schema::parse_with(&json!({"type": "object", "properties": {"spec": many(&rule)}}), "s", &Cel);
    }

    #[test]
    fn no_arguments_break_a_function(
        name in prop::sample::select(vec!["substring", "charAt", "replace", "split", "join", "format", "indexOf", "slice",
            "ip", "cidr", "quantity", "semver", "url", "duration", "timestamp", "find", "findAll", "matches", "lists.range",
            "math.greatest", "math.bitShiftLeft", "math.abs", "base64.decode", "strings.quote", "getFullYear", "add", "sub",
            "isGreaterThan", "containsCIDR", "flatten", "sort", "sum", "min", "first", "reverse", "format.named", "validate",
            "int", "string", "size", "asInteger", "isSorted", "sets.contains", "lastIndexOf", "prefixLength", "masked"]),
        target in prop::sample::select(vec!["", "'é'", "''", "[1, 'a']", "[]", "{}", "-9223372036854775807", "1.5", "'1Ki'", "null",
            "ip('::1')", "quantity('9e99')", "'1h'", "cidr('::/0')", "true"]),
        args in prop::collection::vec(prop::sample::select(vec!["-1", "9223372036854775807", "''", "'é'", "'%d%s%'", "[]", "[[1], 2]",
            "null", "1.0e300", "99", "{}", "'['", "0u"]), 0..4),
    ) {
        let args = args.join(", ");
        let call = if target.is_empty() { format!("{name}({args})") } else { format!("{target}.{name}({args})") };
        let _ = reported(&many(&format!("{call} == 1")), &value(), None);
    }
}
