//! The path language of kubectl, which printer columns use: `.status.conditions[?(@.type=="Ready")].status`.
//!
//! Only what a path inside of one pair of braces can say: fields, indexes, slices, unions, filters,
//! wildcards and recursive descent. Templates with `range` are not read: columns have none.

mod parse;

use std::{borrow::Cow, cmp::Ordering};

use serde_json::Value;

/// How many values a path may yield; a recursive descent over a large object stops here.
const MAX_VALUES: usize = 100_000;

/// Why a text is no path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PathError {
    message: String,
}

impl PathError {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }

    /// A stable name for metrics and tests.
    pub fn reason(&self) -> &'static str {
        "InvalidPath"
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    Wildcard,
    Recursive,
    Slice {
        from: Option<i64>,
        to: Option<i64>,
        by: Option<i64>,
        single: bool,
    },
    Union(Vec<Vec<Step>>),
    Filter {
        left: Vec<Step>,
        operator: String,
        right: Vec<Step>,
    },
    /// A value that the path itself gives.
    Literal(Value),
}

/// A path, read once and followed often.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    steps: Vec<Step>,
}

type Found<'a> = Vec<Cow<'a, Value>>;

impl Path {
    /// Reads a path, with or without braces around it.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let text = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')).unwrap_or(text);
        Ok(Self { steps: parse::steps(text)? })
    }

    /// The values at the path. A path that does not fit the value, such as an index beyond the end of a
    /// list, finds nothing.
    pub fn find<'a>(&self, value: &'a Value) -> Vec<Cow<'a, Value>> {
        walk(&self.steps, vec![Cow::Borrowed(value)]).unwrap_or_default()
    }

    /// The first value at the path.
    pub fn first<'a>(&self, value: &'a Value) -> Option<Cow<'a, Value>> {
        self.find(value).into_iter().next()
    }
}

/// `None` when a step does not fit: then the whole path finds nothing.
fn walk<'a>(steps: &[Step], mut values: Found<'a>) -> Option<Found<'a>> {
    for step in steps {
        values = match step {
            Step::Field(name) => values.into_iter().filter_map(|v| field(v, name)).collect(),
            Step::Wildcard => values.into_iter().flat_map(children).collect(),
            Step::Recursive => {
                let mut all = Vec::new();
                for value in values {
                    descend(value, &mut all);
                }
                all
            }
            Step::Slice { from, to, by, single } => {
                let mut out = Vec::new();
                for value in values {
                    out.extend(slice(value, *from, *to, *by, *single)?);
                }
                out
            }
            Step::Union(paths) => {
                let mut out = Vec::new();
                for path in paths {
                    out.extend(walk(path, values.clone())?);
                }
                out
            }
            Step::Filter { left, operator, right } => {
                let mut out = Vec::new();
                for value in values {
                    for item in items(value)? {
                        if passes(&item, left, operator, right)? {
                            out.push(item);
                        }
                    }
                }
                out
            }
            Step::Literal(value) => values.iter().map(|_| Cow::Owned(value.clone())).collect(),
        };
        values.truncate(MAX_VALUES);
    }
    Some(values)
}

fn field<'a>(value: Cow<'a, Value>, name: &str) -> Option<Cow<'a, Value>> {
    match value {
        Cow::Borrowed(value) => value.as_object()?.get(name).map(Cow::Borrowed),
        Cow::Owned(value) => value.as_object()?.get(name).cloned().map(Cow::Owned),
    }
}

fn items(value: Cow<'_, Value>) -> Option<Found<'_>> {
    match value {
        Cow::Borrowed(value) => Some(value.as_array()?.iter().map(Cow::Borrowed).collect()),
        Cow::Owned(Value::Array(items)) => Some(items.into_iter().map(Cow::Owned).collect()),
        Cow::Owned(_) => None,
    }
}

fn children(value: Cow<'_, Value>) -> Found<'_> {
    match value {
        Cow::Borrowed(Value::Object(fields)) => fields.values().map(Cow::Borrowed).collect(),
        Cow::Owned(Value::Object(fields)) => fields.into_iter().map(|(_, v)| Cow::Owned(v)).collect(),
        other => items(other).unwrap_or_default(),
    }
}

fn descend<'a>(value: Cow<'a, Value>, out: &mut Found<'a>) {
    if out.len() >= MAX_VALUES {
        return;
    }
    let below = children(value.clone());
    if !below.is_empty() {
        out.push(value);
        for child in below {
            descend(child, out);
        }
    }
}

fn slice(
    value: Cow<'_, Value>,
    from: Option<i64>,
    to: Option<i64>,
    by: Option<i64>,
    single: bool,
) -> Option<Found<'_>> {
    if value.is_null() {
        return Some(Vec::new());
    }
    let items = items(value)?;
    let length = i64::try_from(items.len()).ok()?;
    let from = from.unwrap_or(0);
    let mut end = if single { from.checked_add(1)? } else { to.unwrap_or(length) };
    let start = if from < 0 { from + length } else { from };
    if end < 0 || (end == 0 && single) {
        end += length;
    }
    if start == end {
        return Some(Vec::new());
    }
    let step = usize::try_from(by.unwrap_or(1)).ok().filter(|step| *step > 0)?;
    if start < 0 || start >= length || end < 0 || end > length || start > end {
        return None;
    }
    let (start, end) = (usize::try_from(start).ok()?, usize::try_from(end).ok()?);
    Some(items.into_iter().take(end).skip(start).step_by(step).collect())
}

fn passes(item: &Value, left: &[Step], operator: &str, right: &[Step]) -> Option<bool> {
    let left = walk(left, vec![Cow::Borrowed(item)]);
    if operator == "exists" {
        return Some(left.is_some_and(|found| !found.is_empty()));
    }
    let (left, right) = (left?, walk(right, vec![Cow::Borrowed(item)])?);
    let (left, right) = match (left.as_slice(), right.as_slice()) {
        ([], _) | (_, []) => return Some(false),
        ([left], [right]) => (left, right),
        _ => return None,
    };
    let order = compare(left, right);
    match operator {
        "==" => Some(order == Some(Ordering::Equal)),
        "!=" => Some(order != Some(Ordering::Equal)),
        "<" => Some(order == Some(Ordering::Less)),
        "<=" => Some(matches!(order, Some(Ordering::Less | Ordering::Equal))),
        ">" => Some(order == Some(Ordering::Greater)),
        ">=" => Some(matches!(order, Some(Ordering::Greater | Ordering::Equal))),
        _ => None,
    }
}

fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
        },
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Bool(a), Value::Bool(b)) => (a == b).then_some(Ordering::Equal),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn find(path: &str) -> Vec<Value> {
        let object = json!({
            "a": {"b.c": 1, "d": [1, 2, 3, 4]},
            "conditions": [
                {"type": "Ready", "status": "True", "n": 1},
                {"type": "Available", "status": "False", "n": 2},
            ],
            "empty": [],
            "nothing": null,
        });
        Path::parse(path).unwrap().find(&object).into_iter().map(Cow::into_owned).collect()
    }

    #[test]
    fn paths_find_what_kubectl_finds() {
        let table = [
            (".a.d[0]", json!([1])),
            (".a.d[-1]", json!([4])),
            (".a.d[1:3]", json!([2, 3])),
            (".a.d[::2]", json!([1, 3])),
            (".a.d[*]", json!([1, 2, 3, 4])),
            (".a.d[0,2]", json!([1, 3])),
            (r".a.b\.c", json!([1])),
            ("{.a['b\\.c']}", json!([1])),
            ("$.a.d[0]", json!([1])),
            (".conditions[?(@.type==\"Ready\")].status", json!(["True"])),
            (".conditions[?(@.type=='Ready')].status", json!(["True"])),
            (".conditions[?(@.n>1)].type", json!(["Available"])),
            (".conditions[?(@.n!=1)].type", json!(["Available"])),
            (".conditions[?(@.status)].type", json!(["Ready", "Available"])),
            (".conditions[*].type", json!(["Ready", "Available"])),
            ("..type", json!(["Ready", "Available"])),
            (".missing.x", json!([])),
            (".a.d[9]", json!([])),
            (".empty[0]", json!([])),
            (".nothing", json!([null])),
            (".nothing.x", json!([])),
            (".a[0]", json!([])),
        ];
        for (path, expected) in table {
            assert_eq!(Value::from(find(path)), expected, "{path}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for path in [".a[", ".a[x]", ".a[?(@.b]", ".a['b", "....", ".a{", "range"] {
            assert!(Path::parse(path).is_err(), "{path}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn no_text_breaks_the_parser_or_the_walk(path in "[.a-c\\[\\]?(@)='\"0-9:,*$\\\\ -]{0,30}|\\PC{0,20}") {
            if let Ok(path) = Path::parse(&path) {
                let _ = path.find(&json!({"a": [{"b": 1}, {"c": [1, 2]}], "b": {"c": "x"}}));
            }
        }
    }
}
