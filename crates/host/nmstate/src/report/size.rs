//! How long values are as JSON, and lists that are cut to a length.

use std::io;

use serde::Serialize;
use serde_json::{Value, json};

/// The length of a value as JSON without spaces.
pub(super) fn bytes(value: &impl Serialize) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, part: &[u8]) -> io::Result<usize> {
            self.0 += part.len();
            Ok(part.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    serde_json::to_writer(&mut count, value).map_or(usize::MAX, |()| count.0)
}

/// A list that was cut.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cut {
    path: String,
    total: usize,
    listed: usize,
}

impl From<Cut> for Value {
    fn from(cut: Cut) -> Self {
        let Cut { path, total, listed } = cut;
        json!({"list": path, "total": total, "listed": listed})
    }
}

/// Cuts every list in a value to `most` bytes, but those of neighbours: policies go by them.
pub(super) fn shorten(value: &mut Value, most: usize) -> Vec<Cut> {
    let mut cuts = Vec::new();
    walk(value, most, "", &mut cuts);
    cuts
}

fn walk(value: &mut Value, most: usize, path: &str, cuts: &mut Vec<Cut>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map.iter_mut().filter(|(key, _)| *key != "lldp") {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                walk(inner, most, &path, cuts);
            }
        }
        Value::Array(list) => {
            let total = list.len();
            let listed = fitting(list, most);
            if listed < total {
                list.truncate(listed);
                cuts.push(Cut { path: path.to_owned(), total, listed });
            }
            for (at, item) in list.iter_mut().enumerate() {
                walk(item, most, &format!("{path}[{at}]"), cuts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// How many values from the front of a list fit into so many bytes.
pub(super) fn fitting(list: &[Value], most: usize) -> usize {
    let mut left = most;
    let fits = |item: &&Value| {
        let (rest, over) = left.overflowing_sub(bytes(item) + 1);
        left = rest;
        !over
    };
    list.iter().take_while(fits).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_that_of_the_text() {
        let value = json!({"a": ["é", 1, null], "b": {"c": true}});
        assert_eq!(bytes(&value), value.to_string().len());
    }

    #[test]
    fn long_lists_are_cut_and_given() {
        let numbers: Vec<u32> = (0..1000).collect();
        let mut value = json!({"a": {"b": numbers, "c": [1]}, "lldp": {"neighbors": numbers}});
        let cuts = shorten(&mut value, 20);
        assert_eq!(cuts, [Cut { path: "a.b".into(), total: 1000, listed: 10 }]);
        assert_eq!(value["a"]["b"].as_array().map(Vec::len), Some(10));
        assert_eq!(value["lldp"]["neighbors"].as_array().map(Vec::len), Some(1000));
    }
}
