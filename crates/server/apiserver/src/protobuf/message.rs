//! Messages with fields, by the table.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use netloom_schema::decode::Limits;
use serde_json::{Map, Number, Value};

use super::{
    ProtobufError,
    table::{Field, Kind, Shape, Table},
    wire::{Payload, fields, varint},
};

/// Reads one body.
pub(super) struct Reader<'t> {
    pub(super) table: &'t Table,
    limits: Limits,
    depth: usize,
    values: usize,
}

impl<'t> Reader<'t> {
    pub(super) fn new(table: &'t Table, limits: Limits) -> Self {
        Self { table, limits, depth: 0, values: 0 }
    }

    /// A message as an object. It may stand in several pieces, which count as one.
    pub(super) fn object(&mut self, message: usize, pieces: &[&[u8]]) -> Result<Map<String, Value>, ProtobufError> {
        self.deeper(|reader| {
            let mut object = Map::new();
            reader.fill(&mut object, message, pieces)?;
            Ok(object)
        })
    }

    /// Does something one level down.
    pub(super) fn deeper<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, ProtobufError>,
    ) -> Result<T, ProtobufError> {
        if self.depth >= self.limits.depth {
            return Err(ProtobufError::TooDeep(self.limits.depth));
        }
        self.depth += 1;
        let done = work(self);
        self.depth -= 1;
        done
    }

    /// Counts values that are made.
    pub(super) fn count(&mut self, values: usize) -> Result<(), ProtobufError> {
        self.values = self.values.saturating_add(values);
        if self.values > self.limits.nodes { Err(ProtobufError::TooMany(self.limits.nodes)) } else { Ok(()) }
    }

    /// How much is left for JSON within the body.
    pub(super) fn rest(&self) -> Limits {
        Limits {
            depth: self.limits.depth.saturating_sub(self.depth),
            nodes: self.limits.nodes.saturating_sub(self.values),
        }
    }

    fn fill(&mut self, object: &mut Map<String, Value>, message: usize, pieces: &[&[u8]]) -> Result<(), ProtobufError> {
        let known = self.table.fields(message);
        let mut found: Vec<(usize, Payload<'_>)> = Vec::new();
        for piece in pieces {
            for field in fields(piece) {
                let (number, payload) = field?;
                // Fields that nobody knows are passed over: a newer client may send them.
                if let Ok(place) = known.binary_search_by_key(&number, |field| field.number) {
                    found.push((place, payload));
                }
            }
        }
        found.sort_by_key(|(place, _)| *place);
        let mut rest = found.as_slice();
        for (place, field) in known.iter().enumerate() {
            let own = rest.iter().take_while(|(at, _)| *at == place).count();
            let (payloads, others) = rest.split_at(own);
            rest = others;
            let payloads: Vec<Payload<'_>> = payloads.iter().map(|(_, payload)| *payload).collect();
            self.field(object, field, &payloads)?;
        }
        Ok(())
    }

    fn field(
        &mut self,
        object: &mut Map<String, Value>,
        field: &Field,
        payloads: &[Payload<'_>],
    ) -> Result<(), ProtobufError> {
        let value = match field.shape {
            Shape::Inline(message) => return self.fill(object, message, &pieces(payloads, field.name)?),
            Shape::One(kind) => {
                let value = self.single(kind, field.name, payloads)?;
                (field.always || !is_zero(&value)).then_some(value)
            }
            Shape::Optional(_) | Shape::List(_) | Shape::Map(_) if payloads.is_empty() => {
                field.always.then_some(Value::Null)
            }
            Shape::Optional(kind) => Some(self.single(kind, field.name, payloads)?),
            Shape::List(kind) => Some(self.deeper(|reader| reader.list(kind, field.name, payloads))?),
            Shape::Map(kind) => Some(self.deeper(|reader| reader.map(kind, field.name, payloads))?),
        };
        if let Some(value) = value {
            self.count(2)?;
            object.insert(field.name.to_owned(), value);
        }
        Ok(())
    }

    fn list(&mut self, kind: Kind, name: &'static str, payloads: &[Payload<'_>]) -> Result<Value, ProtobufError> {
        let mut list = Vec::new();
        for &payload in payloads {
            // Numbers may also stand all in one.
            if let (Kind::Int32 | Kind::Int64, Payload::Bytes(mut packed)) = (kind, payload) {
                while !packed.is_empty() {
                    let number = Payload::Varint(varint(&mut packed)?);
                    self.count(1)?;
                    list.push(self.single(kind, name, &[number])?);
                }
            } else {
                self.count(1)?;
                list.push(self.single(kind, name, &[payload])?);
            }
        }
        Ok(Value::Array(list))
    }

    fn map(&mut self, kind: Kind, name: &'static str, payloads: &[Payload<'_>]) -> Result<Value, ProtobufError> {
        let mut map = Map::new();
        for payload in payloads {
            let mut key = String::new();
            let mut values = Vec::new();
            for part in fields(payload.bytes(name)?) {
                match part? {
                    (1, text) => key = text.text(name)?,
                    (2, value) => values.push(value),
                    _ => {}
                }
            }
            self.count(2)?;
            let value = self.single(kind, name, &values)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }

    /// One value, from all that is there for it: of plain values the last counts, messages are put
    /// together. Nothing gives the value zero.
    fn single(&mut self, kind: Kind, name: &'static str, payloads: &[Payload<'_>]) -> Result<Value, ProtobufError> {
        let last = payloads.last();
        match kind {
            Kind::Text => Ok(Value::String(last.map(|text| text.text(name)).transpose()?.unwrap_or_default())),
            Kind::Bytes => {
                let bytes = last.map(|payload| payload.bytes(name)).transpose()?.unwrap_or_default();
                Ok(Value::String(STANDARD.encode(bytes)))
            }
            Kind::Bool => Ok(Value::Bool(integer(last, name)? != 0)),
            Kind::Int32 => Ok(Value::from(short(integer(last, name)?))),
            Kind::Int64 => Ok(Value::from(integer(last, name)?)),
            Kind::Double => match last {
                None => Ok(Value::from(0)),
                Some(Payload::Fixed64(bits)) => number(f64::from_bits(*bits)),
                Some(other) => Err(other.misfit(name)),
            },
            Kind::Message(message) => self.object(message, &pieces(payloads, name)?).map(Value::Object),
            Kind::Special(special) => self.special(special, &pieces(payloads, name)?),
        }
    }
}

/// The bytes of a message, in as many pieces as it has.
pub(super) fn pieces<'a>(payloads: &[Payload<'a>], name: &'static str) -> Result<Vec<&'a [u8]>, ProtobufError> {
    payloads.iter().map(|payload| payload.bytes(name)).collect()
}

fn integer(payload: Option<&Payload<'_>>, name: &'static str) -> Result<i64, ProtobufError> {
    payload.map(|payload| payload.integer(name)).transpose().map(Option::unwrap_or_default)
}

/// The lower half of a number, as Go cuts it.
#[expect(clippy::cast_possible_truncation, reason = "the upper half only repeats the sign")]
pub(super) fn short(number: i64) -> i32 {
    number as i32
}

/// A float as Go writes it: whole ones look like integers.
fn number(value: f64) -> Result<Value, ProtobufError> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "whole and within 53 bits, checked above")]
        let integer = value as i64;
        return Ok(Value::from(integer));
    }
    Number::from_f64(value).map(Value::Number).ok_or_else(|| ProtobufError::NotJson(value.to_string()))
}

/// Whether a plain value says nothing. Messages are never left out for being empty.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(true) | Value::Array(_) | Value::Object(_) => false,
    }
}
