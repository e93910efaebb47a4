//! The older document in protobuf: `kubectl create -f` of a `List` asks for it in no other form.
//!
//! The messages are those of the gnostic library: here stands for each which word of the document
//! goes into which field. Words that no message has are left out, and whatever begins with `x-` is an
//! extension, whose value is YAML.

use serde_json::Value;

/// The content type.
pub const MEDIA: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
/// What it was called before a sign in it turned out not to be allowed; clients still ask for this.
pub const MEDIA_BEFORE: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/// What becomes of the value of a word.
enum Form {
    /// A text.
    Text,
    /// True or false.
    Flag,
    /// A whole number.
    Integer,
    /// A floating number.
    Double,
    /// A list of texts, or one.
    Texts,
    /// Any value, as YAML.
    Any,
    /// A message, or one for each item of a list.
    Message(&'static Message),
    /// A message that only holds another value, in this field.
    Around(u32, &'static Form),
    /// A message with a name and a value for each word, in this field.
    Named(u32, &'static Form),
    /// A schema, or true or false.
    SchemaOrFlag,
    /// Parameters, each in the field of its place.
    Parameters,
}

/// The words of a message with their fields, and the field for extensions.
struct Message {
    words: &'static [(&'static str, u32, Form)],
    extensions: u32,
}

static DOCUMENT: Message = Message {
    words: &[
        ("swagger", 1, Form::Text),
        ("info", 2, Form::Message(&INFO)),
        ("paths", 8, Form::Named(2, &Form::Message(&PATH))),
        ("definitions", 9, Form::Named(1, &Form::Message(&SCHEMA))),
        ("securityDefinitions", 13, Form::Named(1, &Form::Around(2, &Form::Message(&API_KEY)))),
    ],
    extensions: 16,
};

static INFO: Message = Message { words: &[("title", 1, Form::Text), ("version", 2, Form::Text)], extensions: 7 };

static API_KEY: Message = Message {
    words: &[("type", 1, Form::Text), ("name", 2, Form::Text), ("in", 3, Form::Text), ("description", 4, Form::Text)],
    extensions: 5,
};

static PATH: Message = Message {
    words: &[
        ("get", 2, Form::Message(&OPERATION)),
        ("put", 3, Form::Message(&OPERATION)),
        ("post", 4, Form::Message(&OPERATION)),
        ("delete", 5, Form::Message(&OPERATION)),
        ("patch", 8, Form::Message(&OPERATION)),
        ("parameters", 9, Form::Parameters),
    ],
    extensions: 10,
};

static OPERATION: Message = Message {
    words: &[
        ("description", 3, Form::Text),
        ("produces", 6, Form::Texts),
        ("consumes", 7, Form::Texts),
        ("parameters", 8, Form::Parameters),
        ("responses", 9, Form::Named(1, &Form::Around(1, &Form::Message(&RESPONSE)))),
        ("schemes", 10, Form::Texts),
    ],
    extensions: 13,
};

static RESPONSE: Message = Message {
    words: &[("description", 1, Form::Text), ("schema", 2, Form::Around(1, &Form::Message(&SCHEMA)))],
    extensions: 5,
};

static BODY: Message = Message {
    words: &[
        ("description", 1, Form::Text),
        ("name", 2, Form::Text),
        ("in", 3, Form::Text),
        ("required", 4, Form::Flag),
        ("schema", 5, Form::Message(&SCHEMA)),
    ],
    extensions: 6,
};

static QUERY: Message = Message {
    words: &[
        ("required", 1, Form::Flag),
        ("in", 2, Form::Text),
        ("description", 3, Form::Text),
        ("name", 4, Form::Text),
        ("type", 6, Form::Text),
        ("uniqueItems", 20, Form::Flag),
    ],
    extensions: 23,
};

static IN_PATH: Message = Message {
    words: &[
        ("required", 1, Form::Flag),
        ("in", 2, Form::Text),
        ("description", 3, Form::Text),
        ("name", 4, Form::Text),
        ("type", 5, Form::Text),
        ("uniqueItems", 19, Form::Flag),
    ],
    extensions: 22,
};

static SCHEMA: Message = Message {
    words: &[
        ("$ref", 1, Form::Text),
        ("format", 2, Form::Text),
        ("title", 3, Form::Text),
        ("description", 4, Form::Text),
        ("multipleOf", 6, Form::Double),
        ("maximum", 7, Form::Double),
        ("exclusiveMaximum", 8, Form::Flag),
        ("minimum", 9, Form::Double),
        ("exclusiveMinimum", 10, Form::Flag),
        ("maxLength", 11, Form::Integer),
        ("minLength", 12, Form::Integer),
        ("pattern", 13, Form::Text),
        ("maxItems", 14, Form::Integer),
        ("minItems", 15, Form::Integer),
        ("uniqueItems", 16, Form::Flag),
        ("maxProperties", 17, Form::Integer),
        ("minProperties", 18, Form::Integer),
        ("required", 19, Form::Texts),
        ("enum", 20, Form::Any),
        ("additionalProperties", 21, Form::SchemaOrFlag),
        ("type", 22, Form::Around(1, &Form::Texts)),
        ("items", 23, Form::Around(1, &Form::Message(&SCHEMA))),
        ("allOf", 24, Form::Message(&SCHEMA)),
        ("properties", 25, Form::Named(1, &Form::Message(&SCHEMA))),
        ("example", 30, Form::Any),
    ],
    extensions: 31,
};

/// The document as bytes.
pub fn encode(document: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    message(&mut bytes, &DOCUMENT, document);
    bytes
}

fn message(out: &mut Vec<u8>, message: &Message, value: &Value) {
    for (word, number, form) in message.words {
        if let Some(value) = value.get(word) {
            field(out, *number, form, value);
        }
    }
    let extensions = value.as_object().into_iter().flatten().filter(|(word, _)| word.starts_with("x-"));
    for (word, value) in extensions {
        named(out, message.extensions, word, &Form::Any, value);
    }
}

fn field(out: &mut Vec<u8>, number: u32, form: &Form, value: &Value) {
    match form {
        Form::Text => bytes(out, number, value.as_str().unwrap_or_default().as_bytes()),
        Form::Flag => integer(out, number, u64::from(value.as_bool().unwrap_or_default())),
        Form::Integer => integer(out, number, value.as_i64().unwrap_or_default().cast_unsigned()),
        Form::Double => {
            tag(out, number, 1);
            out.extend(value.as_f64().unwrap_or_default().to_le_bytes());
        }
        Form::Texts => each(value, |text| field(out, number, &Form::Text, text)),
        // JSON is YAML.
        Form::Any => each(value, |any| nested(out, number, |out| bytes(out, 2, any.to_string().as_bytes()))),
        Form::Message(inner) => each(value, |item| nested(out, number, |out| message(out, inner, item))),
        Form::Around(inner, form) => nested(out, number, |out| field(out, *inner, form, value)),
        Form::Named(inner, form) => nested(out, number, |out| {
            for (name, value) in value.as_object().into_iter().flatten() {
                named(out, *inner, name, form, value);
            }
        }),
        Form::SchemaOrFlag => nested(out, number, |out| match value {
            Value::Bool(allowed) => integer(out, 2, u64::from(*allowed)),
            _ => field(out, 1, &Form::Message(&SCHEMA), value),
        }),
        Form::Parameters => {
            each(value, |parameter| nested(out, number, |out| nested(out, 1, |out| place(out, parameter))));
        }
    }
}

/// A parameter, in the field of its place.
fn place(out: &mut Vec<u8>, parameter: &Value) {
    match parameter["in"].as_str() {
        Some("body") => nested(out, 1, |out| message(out, &BODY, parameter)),
        Some("path") => nested(out, 2, |out| nested(out, 4, |out| message(out, &IN_PATH, parameter))),
        _ => nested(out, 2, |out| nested(out, 3, |out| message(out, &QUERY, parameter))),
    }
}

/// Every item of a list, or the one value that is no list.
fn each(value: &Value, mut write: impl FnMut(&Value)) {
    match value {
        Value::Array(list) => list.iter().for_each(write),
        other => write(other),
    }
}

fn named(out: &mut Vec<u8>, number: u32, name: &str, form: &Form, value: &Value) {
    nested(out, number, |out| {
        bytes(out, 1, name.as_bytes());
        match form {
            // A list that belongs to a name is one value.
            Form::Any => nested(out, 2, |out| bytes(out, 2, value.to_string().as_bytes())),
            form => field(out, 2, form, value),
        }
    });
}

fn nested(out: &mut Vec<u8>, number: u32, write: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    write(&mut inner);
    bytes(out, number, &inner);
}

fn bytes(out: &mut Vec<u8>, number: u32, content: &[u8]) {
    tag(out, number, 2);
    varint(out, content.len() as u64);
    out.extend(content);
}

fn integer(out: &mut Vec<u8>, number: u32, value: u64) {
    tag(out, number, 0);
    varint(out, value);
}

fn tag(out: &mut Vec<u8>, number: u32, form: u32) {
    varint(out, u64::from(number << 3 | form));
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let low = value.to_le_bytes()[0] & 0x7f;
        value >>= 7;
        if value == 0 {
            return out.push(low);
        }
        out.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::protobuf::wire::{Payload, fields};

    /// What stands at the end of a way of fields.
    fn at<'a>(mut bytes: &'a [u8], way: &[u64]) -> Vec<Payload<'a>> {
        let (last, way) = way.split_last().unwrap();
        let find = |bytes: &'a [u8], wanted: u64| -> Vec<Payload<'a>> {
            fields(bytes).map(Result::unwrap).filter(|(number, _)| *number == wanted).map(|(_, found)| found).collect()
        };
        for number in way {
            bytes = find(bytes, *number)[0].bytes("way").unwrap();
        }
        find(bytes, *last)
    }

    fn text<'a>(bytes: &'a [u8], way: &[u64]) -> Vec<&'a str> {
        at(bytes, way).iter().map(|found| str::from_utf8(found.bytes("text").unwrap()).unwrap()).collect()
    }

    #[test]
    fn schemas_find_their_fields() {
        let schema = json!({
            "type": "object",
            "required": ["a", "b"],
            "maximum": 2.5,
            "minLength": 300,
            "enum": ["x", 1],
            "additionalProperties": false,
            "properties": { "a": { "items": { "$ref": "#/definitions/x" } } },
            "x-kubernetes-group-version-kind": [{ "kind": "A" }],
            "unheard-of": 1,
        });
        let bytes = encode(&json!({ "swagger": "2.0", "definitions": { "name": schema } }));
        assert_eq!(text(&bytes, &[1]), ["2.0"]);
        assert_eq!(text(&bytes, &[9, 1, 1]), ["name"]);
        let schema = at(&bytes, &[9, 1, 2])[0].bytes("schema").unwrap();
        assert_eq!(text(schema, &[22, 1]), ["object"]);
        assert_eq!(text(schema, &[19]), ["a", "b"]);
        assert_eq!(at(schema, &[7]), [Payload::Fixed64(2.5_f64.to_bits())]);
        assert_eq!(at(schema, &[12]), [Payload::Varint(300)]);
        assert_eq!(at(schema, &[20]).len(), 2);
        assert_eq!(text(schema, &[20, 2]), ["\"x\""]);
        assert_eq!(at(schema, &[21, 2]), [Payload::Varint(0)]);
        assert_eq!(text(schema, &[25, 1, 2, 23, 1, 1]), ["#/definitions/x"]);
        assert_eq!(text(schema, &[31, 1]), ["x-kubernetes-group-version-kind"]);
        assert_eq!(text(schema, &[31, 2, 2]), ["[{\"kind\":\"A\"}]"]);
    }

    #[test]
    fn parameters_stand_in_the_field_of_their_place() {
        let parameters = json!([
            { "name": "body", "in": "body", "required": true, "schema": { "type": "object" } },
            { "name": "dryRun", "in": "query", "type": "string" },
        ]);
        let path = json!({
            "patch": { "parameters": parameters, "responses": { "200": { "description": "OK", "schema": { "$ref": "r" } } } },
            "parameters": [{ "name": "name", "in": "path", "required": true, "type": "string" }],
        });
        let bytes = encode(&json!({ "paths": { "/a": path } }));
        let path = at(&bytes, &[8, 2, 2])[0].bytes("path").unwrap();
        assert_eq!(text(path, &[9, 1, 2, 4, 4]), ["name"]);
        let items = at(path, &[8, 8]);
        assert_eq!(text(items[0].bytes("body").unwrap(), &[1, 1, 2]), ["body"]);
        assert_eq!(text(items[1].bytes("query").unwrap(), &[1, 2, 3, 4]), ["dryRun"]);
        assert_eq!(text(path, &[8, 9, 1, 2, 1, 2, 1, 1]), ["r"]);
    }
}
