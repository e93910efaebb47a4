//! Paths that a definition writes to point at a field of its own schema: `.spec.size`, `.map['a.b']`.
//!
//! Used for `selectableFields` and for `fieldPath` of validation rules.

use crate::{Schema, paths::push_key};

/// Follows a path through a schema. Returns the path as errors print it and the schema of the field.
pub fn resolve<'a>(path: &str, schema: &'a Schema) -> Result<(String, &'a Schema), String> {
    follow(path, schema, true)
}

/// Like [`resolve`], for places where keys in brackets are not allowed.
pub fn resolve_dotted<'a>(path: &str, schema: &'a Schema) -> Result<(String, &'a Schema), String> {
    follow(path, schema, false)
}

fn follow<'a>(path: &str, schema: &'a Schema, brackets: bool) -> Result<(String, &'a Schema), String> {
    let mut out = String::new();
    let mut at = schema;
    let mut rest = path;
    while let Some(token) = token(&mut rest) {
        match token {
            "." => {
                let name = self::token(&mut rest).ok_or("unexpected end of JSON path")?;
                at = step(at, name, &mut out)?;
            }
            "[" if !brackets => return Err("array notation is not allowed".to_owned()),
            "[" => {
                let quoted = self::token(&mut rest).ok_or("unexpected end of JSON path")?;
                let name = quoted
                    .strip_prefix('\'')
                    .and_then(|q| q.strip_suffix('\''))
                    .ok_or_else(|| format!("expected single quoted string but got {quoted}"))?;
                at = step(at, &unescape(name)?, &mut out)?;
                match self::token(&mut rest) {
                    Some("]") => {}
                    Some(other) => return Err(format!("expected ] but got {other}")),
                    None => return Err("unexpected end of JSON path".to_owned()),
                }
            }
            other => return Err(format!("expected [ or . but got: {other}")),
        }
    }
    Ok((out, at))
}

fn step<'a>(schema: &'a Schema, name: &str, out: &mut String) -> Result<&'a Schema, String> {
    let unknown = || "does not refer to a valid field".to_owned();
    if schema.properties().is_empty() {
        let additional = schema.additional_schema().ok_or_else(unknown)?;
        push_key(out, name);
        return Ok(additional);
    }
    let property = schema.properties().get(name).ok_or_else(unknown)?;
    if !out.is_empty() {
        out.push('.');
    }
    out.push_str(name);
    Ok(property)
}

/// Takes the next of: a sign, a text in single quotes, or what stands before the next sign.
fn token<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let first = rest.chars().next()?;
    let length = match first {
        '.' | '[' | ']' => 1,
        '\'' => quoted_length(rest),
        _ => rest.find(['.', '[', ']']).unwrap_or(rest.len()),
    };
    let (token, after) = rest.split_at(length);
    *rest = after;
    Some(token)
}

fn quoted_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    (1..bytes.len()).find(|i| bytes[*i] == b'\'' && bytes[i - 1] != b'\\').map_or(text.len(), |end| end + 1)
}

fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some(c @ ('\'' | '\\')) => out.push(c),
            _ => return Err("invalid string literal: invalid syntax".to_owned()),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_to_fields_or_nowhere() {
        let schema = Schema::lenient(&json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {"a.b": {"type": "string"}}},
            "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        }}));
        let table = [
            (".spec", Ok("spec")),
            (".spec['a.b']", Ok("spec.a.b")),
            (".map.x", Ok("map[x]")),
            (".map['x']", Ok("map[x]")),
            (".other", Err("does not refer to a valid field")),
            (".spec.", Err("unexpected end of JSON path")),
            ("spec", Err("expected [ or . but got: spec")),
            (".map[x]", Err("expected single quoted string but got x")),
            (".map['x'", Err("unexpected end of JSON path")),
        ];
        for (path, expected) in table {
            let found = resolve(path, &schema).map(|(path, _)| path);
            assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{path}");
        }
    }
}
