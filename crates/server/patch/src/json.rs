//! JSON patch (RFC 6902) with the habits of the Kubernetes API.
//!
//! The API's implementation differs from the RFC in what it accepts, and clients depend on it: `replace` may name a
//! field that is not there, `copy` of an absent field adds null, a negative index counts from the end, `test` of an
//! absent field equals null, and a missing `value` is null. Whatever cannot be carried out is one answer, 422.
//!
//! Not here: decoding bytes; duplicate keys of an operation are the decoder's business.

use crate::error::PatchError;
use crate::merge::json_kind;
use netloom_schema::decode::Limits;
use serde_json::{Map, Value};

/// How many operations one patch may carry.
pub const MAX_OPERATIONS: usize = 10_000;

/// How many bytes of JSON the `copy` operations of one patch may add. A few copies of a place into itself would
/// otherwise grow the object without end.
const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;

/// Applies a JSON patch and returns the patched object.
///
/// # Errors
/// [`PatchError::Malformed`] for something that is no list of operations, [`PatchError::TooManyOperations`] beyond
/// [`MAX_OPERATIONS`], [`PatchError::Unprocessable`] when an operation does not apply or a `test` fails.
pub fn json_patch(object: &Value, patch: &Value) -> Result<Value, PatchError> {
    let operations = decode(patch)?;
    if operations.len() > MAX_OPERATIONS {
        return Err(PatchError::TooManyOperations { limit: MAX_OPERATIONS, found: operations.len() });
    }
    let mut target = Target { document: object.clone(), copied: 0, depth: depth(object) };
    for operation in &operations {
        target.run(operation).map_err(PatchError::Unprocessable)?;
    }
    target.check_depth(deepest()).map_err(PatchError::Unprocessable)?;
    Ok(target.document)
}

/// The fields of the operations that no operation has, as strict field validation names them.
pub fn json_patch_unknown_fields(patch: &Value) -> Vec<String> {
    let mut unknown = Vec::new();
    for (position, operation) in patch.as_array().into_iter().flatten().enumerate() {
        for name in operation.as_object().into_iter().flat_map(Map::keys) {
            if !["op", "path", "from", "value"].contains(&name.as_str()) {
                unknown.push(format!("unknown field \"[{position}].{name}\""));
            }
        }
    }
    unknown
}

struct Operation<'a> {
    kind: &'a str,
    path: Option<&'a str>,
    from: Option<&'a str>,
    value: &'a Value,
}

const ABSENT: Value = Value::Null;

fn decode(patch: &Value) -> Result<Vec<Operation<'_>>, PatchError> {
    let Value::Array(items) = patch else {
        return Err(PatchError::Malformed(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type []handlers.jsonPatchOp",
            json_kind(patch)
        )));
    };
    items.iter().map(decode_operation).collect()
}

fn decode_operation(item: &Value) -> Result<Operation<'_>, PatchError> {
    let Value::Object(fields) = item else {
        return Err(PatchError::Malformed(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type handlers.jsonPatchOp",
            json_kind(item)
        )));
    };
    Ok(Operation {
        kind: text(fields, "op")?.unwrap_or("unknown"),
        path: text(fields, "path")?,
        from: text(fields, "from")?,
        value: fields.get("value").unwrap_or(&ABSENT),
    })
}

fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, PatchError> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(PatchError::Malformed(format!(
            "error decoding patch: json: cannot unmarshal {} into Go struct field jsonPatchOp.{name} of type string",
            json_kind(other)
        ))),
    }
}

/// The object on its way through a patch.
struct Target {
    document: Value,
    /// Bytes that `copy` operations have added so far.
    copied: usize,
    /// The document is not deeper than this. Only a bound: it is made exact when it grows large.
    depth: usize,
}

/// How deep an object may be: as deep as the decoder lets it be, or it could never be read again.
fn deepest() -> usize {
    Limits::default().depth
}

fn depth(value: &Value) -> usize {
    let deepest_of = |inner: Option<usize>| 1 + inner.unwrap_or_default();
    match value {
        Value::Array(items) => deepest_of(items.iter().map(depth).max()),
        Value::Object(map) => deepest_of(map.values().map(depth).max()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

impl Target {
    /// Notes that something so deep was put at a path.
    fn put(&mut self, path: &str, inner: usize) -> Result<(), String> {
        self.depth = self.depth.max(path.matches('/').count() + inner);
        // Moving a place into another one and back deepens the document without adding to it. Looking at all of it
        // each time would cost too much, so some excess is let through until the end.
        self.check_depth(4 * deepest())
    }

    fn check_depth(&mut self, tolerated: usize) -> Result<(), String> {
        if self.depth > tolerated {
            self.depth = depth(&self.document);
        }
        if self.depth > tolerated {
            return Err(format!("the patched object would be nested more than {} levels deep", deepest()));
        }
        Ok(())
    }

    fn run(&mut self, operation: &Operation<'_>) -> Result<(), String> {
        let kind = operation.kind;
        let document = &mut self.document;
        let path = || operation.path.ok_or_else(|| format!("{kind} operation failed to decode path: missing value"));
        let from = || operation.from.ok_or_else(|| format!("{kind} operation failed to decode from: missing value"));
        match kind {
            "add" => {
                add(document, path()?, operation.value.clone())?;
                self.put(path()?, depth(operation.value))
            }
            "remove" => remove(document, path()?).map(drop),
            "replace" => {
                replace(document, path()?, operation.value)?;
                self.put(path()?, depth(operation.value))
            }
            "move" => {
                let taken = remove(document, from()?)?;
                add(document, path()?, taken)?;
                self.put(path()?, self.depth)
            }
            "copy" => self.copy(from()?, path()?),
            "test" => test(document, path()?, operation.value),
            other => Err(format!("Unexpected kind: {other}")),
        }
    }

    fn copy(&mut self, from: &str, path: &str) -> Result<(), String> {
        let copied = read(&mut self.document, from)?.cloned().unwrap_or(Value::Null);
        self.copied += copied.to_string().len();
        if self.copied > MAX_COPIED_BYTES {
            return Err(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {}, exceeding the limit {MAX_COPIED_BYTES}",
                self.copied
            ));
        }
        add(&mut self.document, path, copied)?;
        self.put(path, self.depth)
    }
}

/// The container a path points into, and the last part of the path.
fn container<'a>(document: &'a mut Value, path: &str) -> Result<(&'a mut Value, String), String> {
    let (parents, last) = split(path)?;
    let mut place = document;
    for part in parents {
        place = step_into(place, &part).ok_or_else(|| missing(path))?;
    }
    if place.is_object() || place.is_array() { Ok((place, last)) } else { Err(missing(path)) }
}

fn step_into<'a>(place: &'a mut Value, part: &str) -> Option<&'a mut Value> {
    match place {
        Value::Object(map) => map.get_mut(part),
        Value::Array(items) => {
            let position = index(part, items.len()).ok()?;
            items.get_mut(position)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Whatever stands before the first slash is ignored, as the API does; the path of the whole document has no last part.
fn split(path: &str) -> Result<(Vec<String>, String), String> {
    let mut parts: Vec<String> = path.split('/').skip(1).map(unescape).collect();
    let last = parts.pop().ok_or_else(|| missing(path))?;
    Ok((parts, last))
}

fn unescape(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

fn missing(path: &str) -> String {
    format!("operation does not apply: doc is missing path: \"{path}\": missing value")
}

/// An index into a list of this length; a negative one counts from the end.
fn index(part: &str, length: usize) -> Result<usize, String> {
    let bad = || format!("Unable to access invalid index: {part}: invalid index referenced");
    let signed: i64 = part.parse().map_err(|_| bad())?;
    let length = i64::try_from(length).map_err(|_| bad())?;
    let place = if signed < 0 { signed + length } else { signed };
    if (0..length).contains(&place) { usize::try_from(place).map_err(|_| bad()) } else { Err(bad()) }
}

fn add(document: &mut Value, path: &str, value: Value) -> Result<(), String> {
    let (place, last) = container(document, path)?;
    match place {
        Value::Object(map) => {
            map.insert(last, value);
        }
        Value::Array(items) if last == "-" => items.push(value),
        Value::Array(items) => {
            // One past the end is a valid place to insert at, also when counted from the end.
            let position = index(&last, items.len() + 1)?;
            items.insert(position, value);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return Err(missing(path)),
    }
    Ok(())
}

fn remove(document: &mut Value, path: &str) -> Result<Value, String> {
    let (place, last) = container(document, path)?;
    match place {
        Value::Object(map) => {
            map.remove(&last).ok_or_else(|| format!("Unable to remove nonexistent key: {last}: missing value"))
        }
        Value::Array(items) => {
            let position = index(&last, items.len())?;
            Ok(items.remove(position))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Err(missing(path)),
    }
}

fn replace(document: &mut Value, path: &str, value: &Value) -> Result<(), String> {
    if path.is_empty() {
        if value.is_object() || value.is_array() {
            *document = value.clone();
            return Ok(());
        }
        return Err("replace operation value must be object or array".to_owned());
    }
    let (place, last) = container(document, path)?;
    match place {
        Value::Object(map) => {
            map.insert(last, value.clone());
        }
        Value::Array(items) => {
            let position = index(&last, items.len())?;
            items[position] = value.clone();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return Err(missing(path)),
    }
    Ok(())
}

/// The value at a path; absent fields of an object read as nothing, absent items of a list are an error.
fn read<'a>(document: &'a mut Value, path: &str) -> Result<Option<&'a Value>, String> {
    let (place, last) = container(document, path)?;
    match place {
        Value::Object(map) => Ok(map.get(&last)),
        Value::Array(items) => {
            let position = index(&last, items.len())?;
            Ok(items.get(position))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Err(missing(path)),
    }
}

fn test(document: &mut Value, path: &str, wanted: &Value) -> Result<(), String> {
    let found = if path.is_empty() { Some(&*document) } else { read(document, path)? };
    if found.unwrap_or(&ABSENT) == wanted { Ok(()) } else { Err(format!("testing value {path} failed: test failed")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn operations_apply_as_the_api_does_them() {
        let cases = [
            ("add a field", json!({"a": 1}), json!([{"op": "add", "path": "/b", "value": 2}]), json!({"a": 1, "b": 2})),
            ("add over a field", json!({"a": 1}), json!([{"op": "add", "path": "/a", "value": 2}]), json!({"a": 2})),
            ("add without value", json!({}), json!([{"op": "add", "path": "/a"}]), json!({"a": null})),
            (
                "insert",
                json!({"a": [1, 3]}),
                json!([{"op": "add", "path": "/a/1", "value": 2}]),
                json!({"a": [1, 2, 3]}),
            ),
            ("append", json!({"a": [1]}), json!([{"op": "add", "path": "/a/-", "value": 2}]), json!({"a": [1, 2]})),
            (
                "insert from the end",
                json!({"a": [1]}),
                json!([{"op": "add", "path": "/a/-1", "value": 2}]),
                json!({"a": [1, 2]}),
            ),
            ("remove", json!({"a": 1, "b": 2}), json!([{"op": "remove", "path": "/a"}]), json!({"b": 2})),
            (
                "remove the last item",
                json!({"a": [1, 2]}),
                json!([{"op": "remove", "path": "/a/-1"}]),
                json!({"a": [1]}),
            ),
            (
                "replace an absent field",
                json!({}),
                json!([{"op": "replace", "path": "/a", "value": 1}]),
                json!({"a": 1}),
            ),
            (
                "replace all",
                json!({"a": 1}),
                json!([{"op": "replace", "path": "", "value": {"b": 1}}]),
                json!({"b": 1}),
            ),
            ("move", json!({"a": 1}), json!([{"op": "move", "from": "/a", "path": "/b"}]), json!({"b": 1})),
            ("copy", json!({"a": 1}), json!([{"op": "copy", "from": "/a", "path": "/b"}]), json!({"a": 1, "b": 1})),
            ("copy nothing", json!({}), json!([{"op": "copy", "from": "/a", "path": "/b"}]), json!({"b": null})),
            ("test", json!({"a": [1]}), json!([{"op": "test", "path": "/a", "value": [1]}]), json!({"a": [1]})),
            ("test absent", json!({}), json!([{"op": "test", "path": "/a", "value": null}]), json!({})),
            (
                "escaped",
                json!({"a/b": 1, "c~d": 2}),
                json!([{"op": "remove", "path": "/a~1b"}, {"op": "remove", "path": "/c~0d"}]),
                json!({}),
            ),
            (
                "two steps",
                json!({"s": {}}),
                json!([{"op": "add", "path": "/s/a", "value": {}}, {"op": "add", "path": "/s/a/b", "value": 1}]),
                json!({"s": {"a": {"b": 1}}}),
            ),
        ];
        for (name, object, patch, wanted) in cases {
            assert_eq!(json_patch(&object, &patch), Ok(wanted), "{name}");
        }
    }

    #[test]
    fn what_does_not_apply_is_unprocessable() {
        let object = json!({"a": [1, 2], "s": "text", "n": null});
        let cases = [
            json!([{"op": "remove", "path": "/x"}]),
            json!([{"op": "remove", "path": "/a/2"}]),
            json!([{"op": "add", "path": "/a/4", "value": 1}]),
            json!([{"op": "add", "path": "/x/y", "value": 1}]),
            json!([{"op": "add", "path": "/n/y", "value": 1}]),
            json!([{"op": "add", "path": "", "value": {}}]),
            json!([{"op": "add", "path": "/s/y", "value": 1}]),
            json!([{"op": "replace", "path": "", "value": 1}]),
            json!([{"op": "replace", "path": "/a/-", "value": 1}]),
            json!([{"op": "move", "from": "/x", "path": "/y"}]),
            json!([{"op": "test", "path": "/a", "value": [2, 1]}]),
            json!([{"op": "test", "path": "/a/7", "value": null}]),
            json!([{"op": "add", "value": 1}]),
            json!([{"op": "move", "path": "/y"}]),
            json!([{"op": "shuffle", "path": "/a"}]),
            json!([{"path": "/a"}]),
        ];
        for patch in cases {
            let refused = json_patch(&object, &patch).expect_err("the operation cannot apply");
            assert_eq!(refused.code(), 422, "{patch}");
            assert_eq!(refused.answer(), crate::UNPROCESSABLE, "{patch}");
        }
    }

    #[test]
    fn malformed_patches_say_what_they_are() {
        let cases = [
            (
                json!({}),
                "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
            ),
            (
                json!(["x"]),
                "error decoding patch: json: cannot unmarshal string into Go value of type handlers.jsonPatchOp",
            ),
            (
                json!([{"op": 5}]),
                "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
            ),
        ];
        for (patch, wanted) in cases {
            let refused = json_patch(&json!({}), &patch).expect_err("no list of operations");
            assert_eq!((refused.code(), refused.answer().as_str()), (400, wanted));
        }
    }

    #[test]
    fn ten_thousand_operations_are_the_most() {
        let operation = json!({"op": "test", "path": "/a", "value": 1});
        let allowed = Value::Array(vec![operation.clone(); MAX_OPERATIONS]);
        assert!(json_patch(&json!({"a": 1}), &allowed).is_ok());
        let refused = json_patch(&json!({"a": 1}), &Value::Array(vec![operation; MAX_OPERATIONS + 1]));
        let refused = refused.expect_err("one operation too many");
        assert_eq!(refused.code(), 413);
        assert_eq!(refused.answer(), "The allowed maximum operations in a JSON patch is 10000, got 10001");
    }

    #[test]
    fn moves_cannot_nest_an_object_without_end() {
        let deeper = [
            json!({"op": "add", "path": "/b", "value": {}}),
            json!({"op": "move", "from": "/a", "path": "/b/x"}),
            json!({"op": "move", "from": "/b", "path": "/a"}),
        ];
        let patch = |rounds: usize| Value::Array(deeper.iter().cycle().take(3 * rounds).cloned().collect());
        let object = json!({"a": {}});
        assert!(json_patch(&object, &patch(90)).is_ok());
        for rounds in [110, 3000] {
            let refused = json_patch(&object, &patch(rounds)).expect_err("too deep");
            assert_eq!((refused.code(), refused.reason()), (422, "PatchUnprocessable"));
        }
        let there_and_back =
            json!([{"op": "move", "from": "/a/b/c", "path": "/a/d"}, {"op": "move", "from": "/a/d", "path": "/a/b/c"}]);
        let long = there_and_back.as_array().map(|pair| pair.iter().cycle().take(9_000).cloned().collect());
        assert!(json_patch(&json!({"a": {"b": {"c": 1}}}), &long.unwrap_or_default()).is_ok());
    }

    #[test]
    fn copies_cannot_grow_an_object_without_end() {
        let doubling = json!({"op": "copy", "from": "/a", "path": "/a/-"});
        let refused = json_patch(&json!({"a": ["x".repeat(500_000)]}), &Value::Array(vec![doubling; 9]));
        let refused = refused.expect_err("the copies add up to too much");
        assert_eq!(refused.code(), 422);
        assert!(refused.to_string().contains("exceeding the limit 3145728"), "{refused}");
    }

    #[test]
    fn fields_no_operation_has_are_named() {
        let patch = json!([{"op": "test", "path": "/a"}, {"op": "test", "comment": 1}]);
        assert_eq!(json_patch_unknown_fields(&patch), ["unknown field \"[1].comment\""]);
    }
}
