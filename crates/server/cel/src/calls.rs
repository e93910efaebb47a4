//! Functions. The basic ones are here, because the library's count bytes where the language counts
//! characters; the rest is the library's.

use std::{
    cell::RefCell,
    collections::HashMap,
    rc::Rc,
    sync::{Arc, OnceLock},
};

use kube_cel::{
    KubeCelExt,
    cel::{
        Context, ExecutionError, IdedExpr, Value,
        common::ast::{CallExpr, Expr},
        objects::Opaque,
    },
};
use netloom_schema::{Pattern, go_text};

use crate::{
    budget::{Budget, Fault},
    eval::{Evaluated, Evaluator, Scope},
    loops, quantities,
    values::{inside, optional, text},
};

/// Names before a dot that belong to the function: `math.greatest`.
const NAMESPACES: [&str; 6] = ["lists", "sets", "strings", "format", "ip", "optional"];

/// Functions of the language that are not in the library's own list, for the check of a definition.
const OWN: [&str; 22] = [
    "size",
    "contains",
    "startsWith",
    "endsWith",
    "matches",
    "string",
    "int",
    "uint",
    "double",
    "bytes",
    "bool",
    "dyn",
    "type",
    "optional.of",
    "optional.none",
    "optional.ofNonZeroValue",
    "hasValue",
    "value",
    "or",
    "orValue",
    "optMap",
    "optFlatMap",
];

/// The whole name of a function: with what stands before it, where that is not a value.
pub(crate) fn full_name(call: &CallExpr, is_variable: impl Fn(&str) -> bool) -> String {
    match call.target.as_deref().map(|target| &target.expr) {
        Some(Expr::Ident(prefix)) if NAMESPACES.contains(&prefix.as_str()) && !is_variable(prefix) => {
            format!("{prefix}.{}", call.func_name)
        }
        _ => call.func_name.clone(),
    }
}

/// Whether there is a function by a whole name.
pub(crate) fn exists(name: &str) -> bool {
    OWN.contains(&name) || library(name, None, Vec::new()) != Err(Fault::other(UNKNOWN))
}

const UNKNOWN: &str = "undeclared reference";

pub(crate) fn call(evaluator: &mut Evaluator<'_>, call: &CallExpr, scope: &Scope<'_>) -> Evaluated {
    if loops::is_two_variable(call) {
        return loops::run_two(evaluator, call, scope);
    }
    let name = full_name(call, |name| scope.names(name));
    if let ("optMap" | "optFlatMap", [IdedExpr { expr: Expr::Ident(variable), .. }, body]) =
        (name.as_str(), call.args.as_slice())
    {
        let target = call.target.as_deref().ok_or(Fault::NoSuchOverload)?;
        let target = evaluator.eval(target, scope)?;
        let Some(inner) = inside(&target).ok_or(Fault::NoSuchOverload)? else { return Ok(optional(None)) };
        let mapped = evaluator.eval(body, &Scope { parent: Some(scope), name: variable, value: inner })?;
        return Ok(if name == "optMap" { optional(Some(mapped)) } else { mapped });
    }
    let target = match call.target.as_deref() {
        Some(target) if name == call.func_name => Some(evaluator.eval(target, scope)?),
        _ => None,
    };
    let args = call.args.iter().map(|arg| evaluator.eval(arg, scope)).collect::<Result<Vec<_>, _>>()?;
    for value in target.iter().chain(&args) {
        evaluator.budget.spend_on(value)?;
    }
    if let Some(result) = own(&name, target.as_ref(), &args, evaluator.budget) {
        return result;
    }
    before(&name, target.as_ref(), &args, evaluator.budget)?;
    let result =
        library(&name, target.clone(), args.clone()).map_err(|fault| reworded(&name, target.as_ref(), &args, fault))?;
    evaluator.budget.spend_on(&result)?;
    Ok(result)
}

/// Functions whose result can be much larger than what they are handed pay for it first.
fn before(name: &str, target: Option<&Value>, args: &[Value], budget: &mut Budget) -> Result<(), Fault> {
    match (name, target, args) {
        ("replace", Some(Value::String(text)), [Value::String(old), Value::String(new), ..]) => {
            let times = text.len() / old.len().max(1) + 1;
            budget.spend_bytes(times.saturating_mul(new.len()))
        }
        ("join", Some(Value::List(items)), [Value::String(separator)]) => {
            budget.spend_bytes(items.len().saturating_mul(separator.len()))
        }
        ("quantity", None, [Value::String(given)]) if !quantities::is_handled(given) => {
            Err(Fault::other("the quantity is too large or too small to be compared"))
        }
        ("lists.range", None, [Value::Int(count)]) => budget.spend(u64::try_from(*count).unwrap_or(0)),
        _ => Ok(()),
    }
}

fn own(name: &str, target: Option<&Value>, args: &[Value], budget: &mut Budget) -> Option<Evaluated> {
    let all: Vec<&Value> = target.into_iter().chain(args).collect();
    let flag = |value: bool| Some(Ok(Value::Bool(value)));
    match (name, all.as_slice()) {
        ("size", [value]) => Some(size(value)),
        ("contains", [Value::String(a), Value::String(b)]) => flag(a.contains(b.as_str())),
        ("startsWith", [Value::String(a), Value::String(b)]) => flag(a.starts_with(b.as_str())),
        ("endsWith", [Value::String(a), Value::String(b)]) => flag(a.ends_with(b.as_str())),
        ("matches", [Value::String(a), Value::String(b)]) => Some(matches(a, b, budget)),
        ("size" | "contains" | "startsWith" | "endsWith" | "matches", _) => Some(Err(Fault::NoSuchOverload)),
        ("isQuantity", [Value::String(given)]) if !quantities::is_handled(given) => flag(false),
        ("dyn", [value]) | ("bytes", [value @ Value::Bytes(_)]) => Some(Ok((*value).clone())),
        ("type", [value]) => Some(Ok(type_of(value))),
        ("bool", [value]) => Some(to_bool(value)),
        ("int", [value]) => to_int(value),
        ("uint", [value]) => to_uint(value),
        ("double", [value]) => Some(to_double(value)),
        ("string", [value]) => to_string(value),
        ("bytes", [Value::String(given)]) => Some(Ok(Value::Bytes(Arc::new(given.as_bytes().to_vec())))),
        _ => optionals(name, &all),
    }
}

fn optionals(name: &str, all: &[&Value]) -> Option<Evaluated> {
    let none = || Fault::other("optional.none() dereference");
    match (name, all) {
        ("optional.none", []) => Some(Ok(optional(None))),
        ("optional.of", [value]) => Some(Ok(optional(Some((*value).clone())))),
        ("optional.ofNonZeroValue", [value]) => Some(Ok(optional((!is_zero(value)).then(|| (*value).clone())))),
        ("hasValue", [value]) => inside(value).map(|inner| Ok(Value::Bool(inner.is_some()))),
        ("value", [value]) => inside(value).map(|inner| inner.cloned().ok_or_else(none)),
        ("or", [value, other]) => {
            inside(value).map(|inner| Ok(if inner.is_some() { (*value).clone() } else { (*other).clone() }))
        }
        ("orValue", [value, other]) => inside(value).map(|inner| Ok(inner.unwrap_or(other).clone())),
        _ => None,
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::List(items) => items.is_empty(),
        Value::Map(map) => map.map.is_empty(),
        Value::Int(value) => *value == 0,
        Value::UInt(value) => *value == 0,
        Value::Float(value) => *value == 0.0,
        Value::String(text) => text.is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        Value::Bool(flag) => !flag,
        Value::Null => true,
        _ => false,
    }
}

fn size(value: &Value) -> Evaluated {
    let size = match value {
        Value::String(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(items) => items.len(),
        Value::Map(map) => map.map.len(),
        _ => return Err(Fault::NoSuchOverload),
    };
    Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}

thread_local! {
    /// Patterns of this thread, so that a rule in a loop compiles its pattern once.
    static PATTERNS: RefCell<HashMap<String, Rc<Pattern>>> = RefCell::new(HashMap::new());
}

/// More patterns than this and all are forgotten.
const MAX_PATTERNS: usize = 200;

fn matches(given: &str, pattern: &str, budget: &mut Budget) -> Evaluated {
    budget.spend_bytes(given.len().saturating_mul(pattern.len() / 4 + 1))?;
    let pattern = PATTERNS.with_borrow_mut(|known| {
        if known.len() >= MAX_PATTERNS {
            known.clear();
        }
        Rc::clone(known.entry(pattern.to_owned()).or_insert_with(|| Rc::new(Pattern::new(pattern))))
    });
    match pattern.error() {
        Some(error) => Err(Fault::other(error)),
        None => Ok(Value::Bool(pattern.is_match(given))),
    }
}

fn to_bool(value: &Value) -> Evaluated {
    match value {
        Value::Bool(flag) => Ok(Value::Bool(*flag)),
        Value::String(given) => match given.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => Err(no_conversion("bool")),
        },
        _ => Err(Fault::NoSuchOverload),
    }
}

fn range() -> Fault {
    Fault::other("integer overflow")
}

fn to_int(value: &Value) -> Option<Evaluated> {
    Some(match value {
        Value::Int(value) => Ok(Value::Int(*value)),
        Value::UInt(value) => i64::try_from(*value).map(Value::Int).map_err(|_| range()),
        #[expect(clippy::cast_possible_truncation, reason = "the fraction is cut off on purpose; the range is checked")]
        Value::Float(value) if value.abs() < 9.2e18 => Ok(Value::Int(*value as i64)),
        Value::Float(_) => Err(range()),
        Value::String(given) => given.parse().map(Value::Int).map_err(|_| no_conversion("int")),
        _ => return None,
    })
}

fn to_uint(value: &Value) -> Option<Evaluated> {
    Some(match value {
        Value::UInt(value) => Ok(Value::UInt(*value)),
        Value::Int(value) => u64::try_from(*value).map(Value::UInt).map_err(|_| range()),
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
        Value::Float(value) if (0.0..1.8e19).contains(value) => Ok(Value::UInt(*value as u64)),
        Value::Float(_) => Err(range()),
        Value::String(given) => given.parse().map(Value::UInt).map_err(|_| no_conversion("uint")),
        _ => return None,
    })
}

#[expect(clippy::cast_precision_loss, reason = "so it is in the language")]
fn to_double(value: &Value) -> Evaluated {
    match value {
        Value::Float(value) => Ok(Value::Float(*value)),
        Value::Int(value) => Ok(Value::Float(*value as f64)),
        Value::UInt(value) => Ok(Value::Float(*value as f64)),
        Value::String(given) => given.parse().map(Value::Float).map_err(|_| no_conversion("double")),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn no_conversion(wanted: &str) -> Fault {
    Fault::other(format!("type conversion error from 'string' to '{wanted}'"))
}

fn to_string(value: &Value) -> Option<Evaluated> {
    Some(match value {
        Value::Duration(value) => {
            let (seconds, nanos) = (value.num_seconds(), value.subsec_nanos().unsigned_abs());
            let sign = if seconds == 0 && value.subsec_nanos() < 0 { "-" } else { "" };
            Ok(text(trimmed(&format!("{sign}{seconds}.{nanos:09}")) + "s"))
        }
        Value::Timestamp(time) => {
            let zone = time.format("%:z").to_string();
            let zone = if zone == "+00:00" { "Z" } else { zone.as_str() };
            Ok(text(trimmed(&time.format("%Y-%m-%dT%H:%M:%S.%9f").to_string()) + zone))
        }
        Value::String(_) => Ok(value.clone()),
        Value::Int(value) => Ok(text(value.to_string())),
        Value::UInt(value) => Ok(text(value.to_string())),
        Value::Float(value) => Ok(text(go_text::float(*value))),
        Value::Bool(value) => Ok(text(value.to_string())),
        Value::Bytes(bytes) => String::from_utf8(bytes.to_vec())
            .map(text)
            .map_err(|_| Fault::other("invalid UTF-8 in bytes, cannot convert to string")),
        _ => return None,
    })
}

/// A number without the zeros at the end of its fraction.
fn trimmed(number: &str) -> String {
    number.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A type as a value.
#[derive(Debug, PartialEq, Eq)]
struct TypeName(&'static str);

impl Opaque for TypeName {
    fn runtime_type_name(&self) -> &'static str {
        "type"
    }
}

/// The type that an identifier names.
pub(crate) fn type_name(name: &str) -> Option<Value> {
    let known = ["int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type", "type"];
    let name = known.into_iter().find(|known| *known == name)?;
    Some(Value::Opaque(Arc::new(TypeName(name))))
}

fn type_of(value: &Value) -> Value {
    let name = match value {
        Value::Int(_) => "int",
        Value::UInt(_) => "uint",
        Value::Float(_) => "double",
        Value::Bool(_) => "bool",
        Value::String(_) => "string",
        Value::Bytes(_) => "bytes",
        Value::List(_) => "list",
        Value::Map(_) => "map",
        Value::Null => "null_type",
        Value::Duration(_) => "google.protobuf.Duration",
        Value::Timestamp(_) => "google.protobuf.Timestamp",
        Value::Opaque(_) | Value::Function(..) => "type",
    };
    Value::Opaque(Arc::new(TypeName(name)))
}

/// The library, made once.
fn functions() -> &'static Context<'static> {
    static FUNCTIONS: OnceLock<Context<'static>> = OnceLock::new();
    FUNCTIONS.get_or_init(|| Context::default().with_all())
}

/// Calls a function of the library.
pub(crate) fn library(name: &str, target: Option<Value>, args: Vec<Value>) -> Evaluated {
    const PLACES: [&str; 6] = ["@0", "@1", "@2", "@3", "@4", "@5"];
    if args.len() > PLACES.len() {
        return Err(Fault::NoSuchOverload);
    }
    let place = |name: &str| IdedExpr { id: 0, expr: Expr::Ident(name.to_owned()) };
    let mut scope = functions().new_inner_scope();
    let mut call = CallExpr { func_name: name.to_owned(), target: None, args: Vec::with_capacity(args.len()) };
    if let Some(target) = target {
        scope.add_variable_from_value("@", target);
        call.target = Some(Box::new(place("@")));
    }
    for (name, arg) in PLACES.into_iter().zip(args) {
        scope.add_variable_from_value(name, arg);
        call.args.push(place(name));
    }
    let call = IdedExpr { id: 0, expr: Expr::Call(call) };
    scope.resolve(&call).map_err(fault)
}

/// What Kubernetes says where the library has words of its own.
fn reworded(name: &str, target: Option<&Value>, args: &[Value], fault: Fault) -> Fault {
    if !matches!(fault, Fault::Other(_)) {
        return fault;
    }
    match (name, target, args) {
        ("ip", None, [Value::String(given)]) => {
            let quoted = go_text::quote(given);
            Fault::other(format!(
                "IP Address {quoted} parse error during conversion from string: ParseAddr({quoted}): {}",
                address_error(given)
            ))
        }
        ("duration", None, [Value::String(_)]) => no_conversion("google.protobuf.Duration"),
        ("timestamp", None, [Value::String(_)]) => no_conversion("google.protobuf.Timestamp"),
        ("quantity", None, [Value::String(_)]) => {
            Fault::other("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
        }
        ("slice", Some(Value::List(items)), [Value::Int(from), Value::Int(to)]) => {
            Fault::other(format!("cannot slice({from}, {to}), list is length {}", items.len()))
        }
        _ => fault,
    }
}

fn address_error(given: &str) -> &'static str {
    if given.contains(':') || !given.contains('.') {
        return "unable to parse IP";
    }
    let parts: Vec<&str> = given.split('.').collect();
    if parts.iter().any(|part| !part.bytes().all(|b| b.is_ascii_digit())) {
        "unexpected character"
    } else if parts.len() < 4 {
        "IPv4 address too short"
    } else if parts.len() > 4 {
        "IPv4 address too long"
    } else if parts.iter().any(|part| part.len() > 1 && part.starts_with('0')) {
        "IPv4 field has octet with leading zero"
    } else if parts.iter().any(|part| part.is_empty()) {
        "IPv4 field must have at least one digit"
    } else {
        "IPv4 field has value >255"
    }
}

fn fault(error: ExecutionError) -> Fault {
    match error {
        ExecutionError::UndeclaredReference(_) => Fault::other(UNKNOWN),
        ExecutionError::NoSuchOverload
        | ExecutionError::InvalidArgumentCount { .. }
        | ExecutionError::UnsupportedTargetType { .. }
        | ExecutionError::NotSupportedAsMethod { .. }
        | ExecutionError::UnexpectedType { .. }
        | ExecutionError::MissingArgumentOrTarget => Fault::NoSuchOverload,
        ExecutionError::FunctionError { message, .. } => Fault::Other(message),
        other => Fault::other(other.to_string().chars().take(300).collect::<String>()),
    }
}
