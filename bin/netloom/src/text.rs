//! Small shapes of text that several verbs print: tables, JSON.

use std::fmt::Write as _;

use serde_json::Value as Json;

/// Appends to a text.
pub(crate) fn push(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).expect("writing to a string does not fail");
}

/// A JSON value with indentation and a line end.
pub(crate) fn json(value: &Json) -> String {
    format!("{value:#}\n")
}

/// Columns as wide as they need to be, two spaces apart; the last one is not padded.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let line: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text += line.join("  ").trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [vec!["NAME".into(), "STATE".into()], vec!["bond0.4094".into(), "up".into()]];
        assert_eq!(table(&rows), "NAME        STATE\nbond0.4094  up\n");
    }
}
