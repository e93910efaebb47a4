//! Files of tests, as JSON: what a scalar without quotes is follows JSON, so that a body can say `1.0` and mean it.

use netloom_yaml::{Data, Limits, Node, Style};
use serde_json::{Map, Value};

/// The value of a text.
pub fn read(text: &str) -> Result<Value, String> {
    let document = netloom_yaml::first(text, Limits::default()).map_err(|error| error.to_string())?;
    document.map_or(Ok(Value::Null), |document| value(document.root))
}

fn value(node: Node) -> Result<Value, String> {
    match node.data {
        Data::Null => Ok(Value::Null),
        Data::Scalar { text, style: Style::Plain } => {
            let json = serde_json::from_str(&text).ok().filter(|json: &Value| json.is_boolean() || json.is_number());
            Ok(json.unwrap_or_else(|| Value::from(&*text)))
        }
        Data::Scalar { text, style: Style::Quoted | Style::Tagged(_) } => Ok(Value::from(&*text)),
        Data::List(items) => items.into_iter().map(value).collect(),
        Data::Map(entries) => {
            let mut fields = Map::new();
            for entry in entries {
                if fields.insert(entry.key.to_string(), value(entry.value)?).is_some() {
                    return Err(format!("line {}: the key {:?} is there twice", entry.line, entry.key));
                }
            }
            Ok(Value::Object(fields))
        }
    }
}
