//! Types whose JSON is not made of their fields.

use jiff::Timestamp;
use serde_json::Value;

use super::{
    ProtobufError,
    message::{Reader, pieces, short},
    table::Special,
    wire::{Payload, fields},
};

/// The first second of the year 1, which stands for no time at all.
const NO_TIME: i64 = -62_135_596_800;

const NANOSECONDS_IN_MICROSECOND: i32 = 1_000;

impl Reader<'_> {
    /// A value of one of these types; without any bytes it is the type's zero.
    pub(super) fn special(&mut self, special: Special, bytes: &[&[u8]]) -> Result<Value, ProtobufError> {
        let parts = Parts::read(bytes)?;
        match special {
            Special::Time => time(&parts, false),
            Special::MicroTime => time(&parts, true),
            Special::Quantity => {
                let text = parts.last(1).map(|text| text.text("string")).transpose()?;
                Ok(Value::String(text.unwrap_or_else(|| "0".to_owned())))
            }
            Special::IntOrString => match parts.integer(1, "type")? {
                0 => Ok(Value::from(short(parts.integer(2, "intVal")?))),
                1 => Ok(Value::String(parts.last(3).map(|text| text.text("strVal")).transpose()?.unwrap_or_default())),
                other => Err(ProtobufError::NotJson(format!("impossible IntOrString.Type {other}"))),
            },
            Special::Json => self.json(&parts),
            Special::Strings => self.texts(&parts.all(1)),
            Special::SchemaOrBool => match parts.all(2) {
                schema if schema.is_empty() => Ok(Value::Bool(parts.integer(1, "allows")? != 0)),
                schema => self.schema(&schema),
            },
            Special::SchemaOrList => match (parts.all(2), parts.all(1)) {
                (list, _) if !list.is_empty() => self.deeper(|reader| {
                    reader.count(list.len())?;
                    let items = list.iter().map(|item| reader.schema(&[*item]));
                    items.collect::<Result<_, _>>().map(Value::Array)
                }),
                (_, schema) if schema.is_empty() => Ok(Value::Null),
                (_, schema) => self.schema(&schema),
            },
            Special::SchemaOrStrings => match (parts.all(2), parts.all(1)) {
                (names, _) if !names.is_empty() => self.texts(&names),
                (_, schema) if schema.is_empty() => Ok(Value::Null),
                (_, schema) => self.schema(&schema),
            },
        }
    }

    fn schema(&mut self, payloads: &[Payload<'_>]) -> Result<Value, ProtobufError> {
        let schema = self.table.schema();
        self.object(schema, &pieces(payloads, "schema")?).map(Value::Object)
    }

    fn texts(&mut self, payloads: &[Payload<'_>]) -> Result<Value, ProtobufError> {
        self.count(payloads.len())?;
        let texts = payloads.iter().map(|text| text.text("items").map(Value::String));
        texts.collect::<Result<_, _>>().map(Value::Array)
    }

    /// JSON within the message.
    fn json(&mut self, parts: &Parts<'_>) -> Result<Value, ProtobufError> {
        let raw = parts.last(1).map(|raw| raw.bytes("raw")).transpose()?.unwrap_or_default();
        if raw.is_empty() {
            return Ok(Value::Null);
        }
        let read = netloom_schema::decode::json(raw, self.rest());
        let value = read.map_err(|error| ProtobufError::NotJson(error.to_string()))?.value;
        self.count(size(&value))?;
        Ok(value)
    }
}

/// How many values a value is made of.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(list) => list.iter().map(size).sum::<usize>() + 1,
        Value::Object(map) => map.values().map(|value| size(value) + 1).sum::<usize>() + 1,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

/// A moment; null when there is none.
fn time(parts: &Parts<'_>, micro: bool) -> Result<Value, ProtobufError> {
    let seconds = parts.integer(1, "seconds")?;
    let nanoseconds = short(parts.integer(2, "nanos")?);
    let whole = nanoseconds - nanoseconds % NANOSECONDS_IN_MICROSECOND;
    if parts.is_empty() || seconds == NO_TIME && (!micro || whole == 0) {
        return Ok(Value::Null);
    }
    let impossible = || ProtobufError::NotJson(format!("a moment {seconds} seconds after the year 1970"));
    let moment = Timestamp::from_second(seconds).map_err(|_| impossible())?;
    let moment = if micro {
        moment.checked_add(jiff::SignedDuration::from_nanos(i64::from(whole))).map_err(|_| impossible())?
    } else {
        moment
    };
    if moment.as_second() < NO_TIME {
        return Err(impossible());
    }
    let form = if micro { "%Y-%m-%dT%H:%M:%S.%6fZ" } else { "%Y-%m-%dT%H:%M:%SZ" };
    Ok(Value::String(moment.strftime(form).to_string()))
}

/// The fields of a small message, by number.
struct Parts<'a>(Vec<(u64, Payload<'a>)>);

impl<'a> Parts<'a> {
    fn read(pieces: &[&'a [u8]]) -> Result<Self, ProtobufError> {
        pieces.iter().flat_map(|piece| fields(piece)).collect::<Result<_, _>>().map(Self)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn all(&self, number: u64) -> Vec<Payload<'a>> {
        self.0.iter().filter(|(at, _)| *at == number).map(|(_, payload)| *payload).collect()
    }

    fn last(&self, number: u64) -> Option<Payload<'a>> {
        self.all(number).last().copied()
    }

    fn integer(&self, number: u64, name: &'static str) -> Result<i64, ProtobufError> {
        self.last(number).map(|payload| payload.integer(name)).transpose().map(Option::unwrap_or_default)
    }
}
