//! Operators on values.

use std::{cmp::Ordering, sync::Arc};

use kube_cel::cel::{
    Value,
    common::ast::operators as op,
    objects::{Key, Map},
};

use netloom_schema::ListType;

use crate::{
    budget::{Budget, Fault},
    eval::Evaluated,
    values::{Unordered, inside, list, optional, text},
};

pub(crate) fn is_unary(name: &str) -> bool {
    matches!(name, op::LOGICAL_NOT | op::NEGATE)
}

pub(crate) fn is_binary(name: &str) -> bool {
    matches!(
        name,
        op::ADD
            | op::SUBSTRACT
            | op::MULTIPLY
            | op::DIVIDE
            | op::MODULO
            | op::EQUALS
            | op::NOT_EQUALS
            | op::LESS
            | op::LESS_EQUALS
            | op::GREATER
            | op::GREATER_EQUALS
            | op::IN
            | op::INDEX
            | op::OPT_INDEX
    )
}

pub(crate) fn unary(name: &str, operand: Value) -> Evaluated {
    match (name, operand) {
        (op::LOGICAL_NOT, Value::Bool(flag)) => Ok(Value::Bool(!flag)),
        (op::NEGATE, Value::Int(value)) => value.checked_neg().map(Value::Int).ok_or_else(integer_overflow),
        (op::NEGATE, Value::Float(value)) => Ok(Value::Float(-value)),
        (op::NEGATE, Value::Duration(value)) => Ok(Value::Duration(-value)),
        _ => Err(Fault::NoSuchOverload),
    }
}

pub(crate) fn binary(name: &str, left: Value, right: Value, budget: &mut Budget, unordered: &Unordered) -> Evaluated {
    match name {
        op::ADD => add(left, right, budget, unordered),
        op::SUBSTRACT | op::MULTIPLY | op::DIVIDE | op::MODULO => arithmetic(name, left, right),
        op::EQUALS => equal(&left, &right, budget, unordered).map(Value::Bool),
        op::NOT_EQUALS => equal(&left, &right, budget, unordered).map(|same| Value::Bool(!same)),
        op::LESS => compare(&left, &right, budget).map(|o| Value::Bool(o == Some(Ordering::Less))),
        op::LESS_EQUALS => {
            compare(&left, &right, budget).map(|o| Value::Bool(matches!(o, Some(Ordering::Less | Ordering::Equal))))
        }
        op::GREATER => compare(&left, &right, budget).map(|o| Value::Bool(o == Some(Ordering::Greater))),
        op::GREATER_EQUALS => {
            compare(&left, &right, budget).map(|o| Value::Bool(matches!(o, Some(Ordering::Greater | Ordering::Equal))))
        }
        op::IN => contains(&left, &right, budget, unordered).map(Value::Bool),
        op::INDEX => match inside(&left) {
            Some(_) => optional_index(&left, &right),
            None => index(&left, &right),
        },
        op::OPT_INDEX => optional_index(&left, &right),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn integer_overflow() -> Fault {
    Fault::other("integer overflow")
}

fn add(left: Value, right: Value, budget: &mut Budget, unordered: &Unordered) -> Evaluated {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => a.checked_add(b).map(Value::Int).ok_or_else(integer_overflow),
        (Value::UInt(a), Value::UInt(b)) => a.checked_add(b).map(Value::UInt).ok_or_else(integer_overflow),
        (Value::Float(a), Value::Float(b)) => Ok(Value::Float(a + b)),
        (Value::String(a), Value::String(b)) => {
            budget.spend_bytes(a.len() + b.len())?;
            Ok(text(format!("{a}{b}")))
        }
        (Value::Bytes(a), Value::Bytes(b)) => {
            budget.spend_bytes(a.len() + b.len())?;
            Ok(Value::Bytes(Arc::new([a.as_slice(), b.as_slice()].concat())))
        }
        (Value::List(a), Value::List(b)) => {
            budget.spend(u64::try_from(a.len() + b.len()).unwrap_or(u64::MAX))?;
            let mut sum = a.to_vec();
            for item in b.iter() {
                if unordered.kind(&a) != &ListType::Set
                    || !contains(item, &Value::List(Arc::clone(&a)), budget, unordered)?
                {
                    sum.push(item.clone());
                }
            }
            Ok(list(sum))
        }
        (Value::Duration(a), Value::Duration(b)) => {
            a.checked_add(&b).map(Value::Duration).ok_or_else(|| Fault::other("duration overflow"))
        }
        (Value::Timestamp(time), Value::Duration(by)) | (Value::Duration(by), Value::Timestamp(time)) => {
            time.checked_add_signed(by).map(Value::Timestamp).ok_or_else(|| Fault::other("timestamp overflow"))
        }
        _ => Err(Fault::NoSuchOverload),
    }
}

fn arithmetic(name: &str, left: Value, right: Value) -> Evaluated {
    let zero = || Fault::other(if name == op::MODULO { "modulus by zero" } else { "division by zero" });
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => {
            let result = match name {
                op::SUBSTRACT => a.checked_sub(b),
                op::MULTIPLY => a.checked_mul(b),
                op::DIVIDE | op::MODULO if b == 0 => return Err(zero()),
                op::DIVIDE => a.checked_div(b),
                _ => a.checked_rem(b),
            };
            result.map(Value::Int).ok_or_else(integer_overflow)
        }
        (Value::UInt(a), Value::UInt(b)) => {
            let result = match name {
                op::SUBSTRACT => a.checked_sub(b),
                op::MULTIPLY => a.checked_mul(b),
                op::DIVIDE | op::MODULO if b == 0 => return Err(zero()),
                op::DIVIDE => a.checked_div(b),
                _ => a.checked_rem(b),
            };
            result.map(Value::UInt).ok_or_else(integer_overflow)
        }
        (Value::Float(a), Value::Float(b)) => match name {
            op::SUBSTRACT => Ok(Value::Float(a - b)),
            op::MULTIPLY => Ok(Value::Float(a * b)),
            op::DIVIDE => Ok(Value::Float(a / b)),
            _ => Err(Fault::NoSuchOverload),
        },
        (Value::Duration(a), Value::Duration(b)) if name == op::SUBSTRACT => {
            a.checked_sub(&b).map(Value::Duration).ok_or_else(|| Fault::other("duration overflow"))
        }
        (Value::Timestamp(a), Value::Timestamp(b)) if name == op::SUBSTRACT => {
            Ok(Value::Duration(a.signed_duration_since(b)))
        }
        (Value::Timestamp(a), Value::Duration(b)) if name == op::SUBSTRACT => {
            a.checked_sub_signed(b).map(Value::Timestamp).ok_or_else(|| Fault::other("timestamp overflow"))
        }
        _ => Err(Fault::NoSuchOverload),
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of different types are compared as floats")]
fn as_float(value: &Value) -> Option<f64> {
    match value {
        Value::Int(value) => Some(*value as f64),
        Value::UInt(value) => Some(*value as f64),
        Value::Float(value) => Some(*value),
        _ => None,
    }
}

/// The order of two numbers: nothing if they are none, `Some(None)` if one is not a number at all.
#[expect(clippy::option_option, reason = "no numbers and no order are different things")]
fn numbers(left: &Value, right: &Value) -> Option<Option<Ordering>> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => Some(Some(a.cmp(b))),
        (Value::UInt(a), Value::UInt(b)) => Some(Some(a.cmp(b))),
        (Value::Int(a), Value::UInt(b)) => Some(Some(i128::from(*a).cmp(&i128::from(*b)))),
        (Value::UInt(a), Value::Int(b)) => Some(Some(i128::from(*a).cmp(&i128::from(*b)))),
        _ => Some(as_float(left)?.partial_cmp(&as_float(right)?)),
    }
}

/// Whether two values are the same; values of different types never are.
pub(crate) fn equal(left: &Value, right: &Value, budget: &mut Budget, unordered: &Unordered) -> Result<bool, Fault> {
    budget.spend(1)?;
    if let Some(order) = numbers(left, right) {
        return Ok(order == Some(Ordering::Equal));
    }
    if let (Some(a), Some(b)) = (inside(left), inside(right)) {
        return match (a, b) {
            (Some(a), Some(b)) => equal(a, b, budget, unordered),
            (a, b) => Ok(a.is_none() && b.is_none()),
        };
    }
    match (left, right) {
        (Value::String(a), Value::String(b)) => {
            budget.spend_bytes(a.len().min(b.len()))?;
            Ok(a == b)
        }
        (Value::List(a), Value::List(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            if unordered.kind(a) != &ListType::Atomic || unordered.kind(b) != &ListType::Atomic {
                return same_items(a, b, budget, unordered);
            }
            for (a, b) in a.iter().zip(b.iter()) {
                if !equal(a, b, budget, unordered)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Map(a), Value::Map(b)) => {
            if a.map.len() != b.map.len() {
                return Ok(false);
            }
            for (key, a) in a.map.iter() {
                match b.map.get(key) {
                    Some(b) if equal(a, b, budget, unordered)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        (a, b) => Ok(a == b),
    }
}

/// Sets and map lists are the same if each has what the other has. All items of one are different, so
/// that one direction is enough.
fn same_items(left: &[Value], right: &[Value], budget: &mut Budget, unordered: &Unordered) -> Result<bool, Fault> {
    for item in left {
        let mut found = false;
        for candidate in right {
            found = equal(item, candidate, budget, unordered)?;
            if found {
                break;
            }
        }
        if !found {
            return Ok(false);
        }
    }
    Ok(true)
}

fn compare(left: &Value, right: &Value, budget: &mut Budget) -> Result<Option<Ordering>, Fault> {
    if let Some(order) = numbers(left, right) {
        return Ok(order);
    }
    match (left, right) {
        (Value::String(a), Value::String(b)) => {
            budget.spend_bytes(a.len().min(b.len()))?;
            Ok(Some(a.cmp(b)))
        }
        (Value::Bytes(a), Value::Bytes(b)) => {
            budget.spend_bytes(a.len().min(b.len()))?;
            Ok(Some(a.cmp(b)))
        }
        (Value::Bool(a), Value::Bool(b)) => Ok(Some(a.cmp(b))),
        (Value::Duration(a), Value::Duration(b)) => Ok(Some(a.cmp(b))),
        (Value::Timestamp(a), Value::Timestamp(b)) => Ok(Some(a.cmp(b))),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn contains(item: &Value, container: &Value, budget: &mut Budget, unordered: &Unordered) -> Result<bool, Fault> {
    match container {
        Value::List(items) => {
            for candidate in items.iter() {
                if equal(item, candidate, budget, unordered)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Value::Map(map) => Ok(key(item).is_some_and(|key| lookup(map, &key).is_some())),
        _ => Err(Fault::NoSuchOverload),
    }
}

/// A value as the key of a map.
pub(crate) fn key(value: &Value) -> Option<Key> {
    Some(match value {
        Value::Int(value) => Key::Int(*value),
        Value::UInt(value) => Key::Uint(*value),
        Value::Bool(value) => Key::Bool(*value),
        Value::String(value) => Key::String(Arc::clone(value)),
        _ => return None,
    })
}

/// A key as a value.
pub(crate) fn key_value(key: &Key) -> Value {
    match key {
        Key::Int(value) => Value::Int(*value),
        Key::Uint(value) => Value::UInt(*value),
        Key::Bool(value) => Value::Bool(*value),
        Key::String(value) => Value::String(Arc::clone(value)),
    }
}

fn lookup<'a>(map: &'a Map, key: &Key) -> Option<&'a Value> {
    map.map.get(key)
}

fn printed(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        Value::Int(value) => value.to_string(),
        Value::UInt(value) => value.to_string(),
        Value::Bool(value) => value.to_string(),
        other => format!("{:?}", other.type_of()),
    }
}

fn position(at: &Value) -> Option<i64> {
    match at {
        Value::Int(value) => Some(*value),
        Value::UInt(value) => i64::try_from(*value).ok(),
        #[expect(clippy::cast_possible_truncation, reason = "whole numbers only, and far below the limit")]
        Value::Float(value) if value.fract() == 0.0 && value.abs() < 1e15 => Some(*value as i64),
        _ => None,
    }
}

fn index(container: &Value, at: &Value) -> Evaluated {
    match container {
        Value::List(items) => {
            let position = position(at).ok_or(Fault::NoSuchOverload)?;
            let item = usize::try_from(position).ok().and_then(|i| items.get(i));
            item.cloned().ok_or_else(|| Fault::other(format!("index out of bounds: {position}")))
        }
        Value::Map(map) => {
            let key = key(at).ok_or(Fault::NoSuchOverload)?;
            lookup(map, &key).cloned().ok_or_else(|| Fault::other(format!("no such key: {}", printed(at))))
        }
        _ => Err(Fault::NoSuchOverload),
    }
}

/// `a[?b]` and `a.?b`: an optional value, empty where `a[b]` would be an error.
pub(crate) fn optional_index(container: &Value, at: &Value) -> Evaluated {
    let container = match inside(container) {
        Some(Some(inner)) => inner,
        Some(None) => return Ok(optional(None)),
        None => container,
    };
    match index(container, at) {
        Err(Fault::NoSuchOverload) => Err(Fault::NoSuchOverload),
        found => Ok(optional(found.ok())),
    }
}
