//! Printer columns: the table that `kubectl get` shows.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{go_text, jsonpath::Path};

const NAME: &str = "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
const CREATED: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// One column of a table, beside the name that all tables start with.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// The heading.
    pub name: String,
    /// The type of the cells: `string`, `integer`, `number`, `boolean` or `date`.
    pub kind: String,
    /// The format of the cells; often empty.
    pub format: String,
    /// What the column shows.
    pub description: String,
    /// Columns above 0 are shown only on request.
    pub priority: i64,
    /// Where the value is.
    pub path: Path,
}

impl Column {
    /// Reads a column of a definition. A path that cannot be read gives no column.
    pub fn read(json: &Value) -> Option<Self> {
        let text = |name: &str| json.get(name).and_then(Value::as_str).unwrap_or_default();
        let path = text("jsonPath");
        let description = match text("description") {
            "" => format!("Custom resource definition column (in JSONPath format): {path}"),
            given => given.to_owned(),
        };
        Some(Self {
            name: text("name").to_owned(),
            kind: text("type").to_owned(),
            format: text("format").to_owned(),
            description,
            priority: json.get("priority").and_then(Value::as_i64).unwrap_or(0),
            path: Path::parse(path).ok()?,
        })
    }

    /// The column that kinds without columns of their own have.
    ///
    /// # Panics
    ///
    /// Never: the path is written here and is one.
    pub fn age() -> Self {
        Self {
            name: "Age".to_owned(),
            kind: "date".to_owned(),
            format: String::new(),
            description: CREATED.to_owned(),
            priority: 0,
            path: Path::parse(".metadata.creationTimestamp").expect("a path of two fields is a path"),
        }
    }
}

/// The `columnDefinitions` of a table, the name first.
pub fn definitions(columns: &[Column]) -> Vec<Value> {
    let name = json!({"name": "Name", "type": "string", "format": "name", "description": NAME, "priority": 0});
    let others = columns.iter().map(|column| {
        json!({
            "name": column.name,
            "type": column.kind,
            "format": column.format,
            "description": column.description,
            "priority": column.priority,
        })
    });
    std::iter::once(name).chain(others).collect()
}

/// The cells of one object's row, the name first. What is not there is null.
pub fn cells(columns: &[Column], object: &Value, now: Timestamp) -> Vec<Value> {
    let name = object.pointer("/metadata/name").cloned().unwrap_or_else(|| Value::from(""));
    let others = columns.iter().map(|column| match column.path.first(object) {
        Some(value) => cell(column, &value, now),
        None => Value::Null,
    });
    std::iter::once(name).chain(others).collect()
}

fn cell(column: &Column, value: &Value, now: Timestamp) -> Value {
    match (column.kind.as_str(), value) {
        ("string", value) => Value::from(text(value)),
        ("integer", Value::Number(number)) => {
            Value::from(number.as_i64().unwrap_or_else(|| truncated(number.as_f64().unwrap_or(0.0))))
        }
        ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => value.clone(),
        ("date", Value::String(text)) => Value::from(age(text, now)),
        _ => Value::Null,
    }
}

/// The whole part of a number. One that is too large becomes the smallest there is: so it is in Go.
fn truncated(number: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "the fraction is cut off on purpose, and the range is checked")]
    if number.abs() < 9.2e18 { number as i64 } else { i64::MIN }
}

/// A value in a cell of texts: lists and objects as JSON, the rest bare.
pub fn text(value: &Value) -> String {
    match value {
        Value::Null => "<no value>".to_owned(),
        Value::Array(_) | Value::Object(_) => go_text::json(value),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => go_text::plain(value),
    }
}

/// How long ago a time was, for people: `5m30s`, `3d4h`.
pub fn age(time: &str, now: Timestamp) -> String {
    if time.is_empty() {
        return "<unknown>".to_owned();
    }
    match time.parse::<Timestamp>() {
        Ok(time) => human(now.duration_since(time).as_secs()),
        Err(_) => "<invalid>".to_owned(),
    }
}

/// A number of seconds with two figures or three.
pub fn human(seconds: i64) -> String {
    const DAY: i64 = 24;
    let pair = |large: i64, unit: char, small: i64, below: char| {
        if small == 0 { format!("{large}{unit}") } else { format!("{large}{unit}{small}{below}") }
    };
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let days = hours / DAY;
    if seconds < -1 {
        "<invalid>".to_owned()
    } else if seconds < 0 {
        "0s".to_owned()
    } else if seconds < 120 {
        format!("{seconds}s")
    } else if minutes < 10 {
        pair(minutes, 'm', seconds % 60, 's')
    } else if minutes < 180 {
        format!("{minutes}m")
    } else if hours < 8 {
        pair(hours, 'h', minutes % 60, 'm')
    } else if hours < 48 {
        format!("{hours}h")
    } else if days < 8 {
        pair(days, 'd', hours % DAY, 'h')
    } else if days < 365 * 2 {
        format!("{days}d")
    } else if days < 365 * 8 {
        pair(days / 365, 'y', days % 365, 'd')
    } else {
        format!("{}y", days / 365)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_rounded_for_people() {
        let table = [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (150, "2m30s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (11_000, "3h3m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (180_000, "2d2h"),
            (691_200, "8d"),
            (86_400 * 729, "729d"),
            (86_400 * 730, "2y"),
            (86_400 * 735, "2y5d"),
            (86_400 * 365 * 9, "9y"),
        ];
        for (seconds, text) in table {
            assert_eq!(human(seconds), text, "{seconds}");
        }
    }

    #[test]
    fn cells_have_the_types_of_their_columns() {
        let column =
            |kind: &str, path: &str| Column::read(&json!({"name": "C", "type": kind, "jsonPath": path})).unwrap();
        let object = json!({"metadata": {"name": "a", "creationTimestamp": "2024-01-01T00:00:00Z"},
            "s": "x", "n": 2, "f": 2.5, "b": true, "l": ["a", "b"], "z": null});
        let columns = [
            column("string", ".s"),
            column("string", ".n"),
            column("string", ".l"),
            column("string", ".z"),
            column("string", ".missing"),
            column("integer", ".n"),
            column("integer", ".f"),
            column("integer", ".s"),
            column("number", ".f"),
            column("boolean", ".b"),
            column("date", ".metadata.creationTimestamp"),
            column("date", ".s"),
        ];
        let now: Timestamp = "2024-01-01T00:05:00Z".parse().unwrap();
        assert_eq!(
            Value::from(cells(&columns, &object, now)),
            json!(["a", "x", "2", "[\"a\",\"b\"]", "<no value>", null, 2, 2, null, 2.5, true, "5m", "<invalid>"])
        );
        assert_eq!(definitions(&[Column::age()]).len(), 2);
    }
}
