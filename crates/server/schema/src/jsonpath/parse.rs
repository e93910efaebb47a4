//! The text of a path to its steps.

use serde_json::Value;

use super::{PathError, Step};

/// How deep filters and unions may lie in each other.
const DEEPEST: usize = 20;

pub(super) fn steps(text: &str) -> Result<Vec<Step>, PathError> {
    action(text, 0)
}

fn action(text: &str, depth: usize) -> Result<Vec<Step>, PathError> {
    if depth > DEEPEST {
        return Err(PathError::new("nested too deep"));
    }
    let mut reader = Reader { rest: text, steps: Vec::new(), depth };
    while !reader.rest.is_empty() {
        reader.step()?;
    }
    Ok(reader.steps)
}

fn ends_word(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}

struct Reader<'a> {
    rest: &'a str,
    steps: Vec<Step>,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn step(&mut self) -> Result<(), PathError> {
        if self.rest.starts_with("[?(") {
            return self.filter();
        }
        if let Some(rest) = self.rest.strip_prefix("..") {
            if self.steps.last() == Some(&Step::Recursive) {
                return Err(PathError::new("invalid multiple recursive descent"));
            }
            self.steps.push(Step::Recursive);
            self.rest = rest;
            if rest.starts_with(|c: char| c == '_' || c.is_alphanumeric()) {
                self.field();
            }
            return Ok(());
        }
        let first = self.rest.chars().next().unwrap_or_default();
        match first {
            '\r' | '\n' => return Err(PathError::new("unclosed action")),
            ' ' | '@' | '$' => {
                self.take(1);
            }
            '[' => self.array()?,
            '"' | '\'' => self.quote(first)?,
            '.' => {
                self.take(1);
                self.field();
            }
            '+' | '-' => self.number()?,
            c if c.is_ascii_digit() => self.number()?,
            c if c == '_' || c.is_alphanumeric() => self.word()?,
            c => return Err(PathError::new(format!("unrecognized character in action: U+{:04X} '{c}'", u32::from(c)))),
        }
        Ok(())
    }

    /// A name up to the next sign; a backslash takes a sign into the name.
    fn field(&mut self) {
        let mut length = 0;
        let mut chars = self.rest.chars();
        while let Some(c) = chars.next() {
            if c == '\\' {
                length += 1 + chars.next().map_or(0, char::len_utf8);
            } else if ends_word(c) {
                break;
            } else {
                length += c.len_utf8();
            }
        }
        let name = self.take(length);
        self.steps.push(if name == "*" { Step::Wildcard } else { Step::Field(name.replace('\\', "")) });
    }

    fn word(&mut self) -> Result<(), PathError> {
        let word = self.take(self.rest.find(ends_word).unwrap_or(self.rest.len()));
        match word {
            "true" => self.steps.push(Step::Literal(Value::Bool(true))),
            "false" => self.steps.push(Step::Literal(Value::Bool(false))),
            other => return Err(PathError::new(format!("unrecognized identifier {other}"))),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), PathError> {
        let signed = usize::from(self.rest.starts_with(['+', '-']));
        let digits =
            self.rest[signed..].find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(self.rest.len() - signed);
        let text = self.take(signed + digits);
        let value = match (text.trim_start_matches('+').parse::<i64>(), text.parse::<f64>()) {
            (Ok(whole), _) => Value::from(whole),
            (_, Ok(float)) => Value::from(float),
            _ => return Err(PathError::new(format!("cannot parse number {text}"))),
        };
        self.steps.push(Step::Literal(value));
        Ok(())
    }

    fn quote(&mut self, end: char) -> Result<(), PathError> {
        let bytes = self.rest.as_bytes();
        let close = (1..bytes.len())
            .find(|i| char::from(bytes[*i]) == end && bytes[i - 1] != b'\\')
            .ok_or_else(|| PathError::new("unterminated quoted string"))?;
        let text = self.take(close + 1);
        let inner = &text[1..close];
        let inner = inner.replace(&format!("\\{end}"), &end.to_string()).replace("\\\\", "\\");
        self.steps.push(Step::Literal(Value::from(inner)));
        Ok(())
    }

    fn array(&mut self) -> Result<(), PathError> {
        let end = self.rest.find([']', '\n']).filter(|end| self.rest.as_bytes()[*end] == b']');
        let end = end.ok_or_else(|| PathError::new("unterminated array"))?;
        let text = self.take(end + 1);
        let inner = &text[1..end];
        let inner = if inner == "*" { ":" } else { inner };
        if inner.contains(',') {
            let parts = inner.split(',').map(|part| action(&format!("[{}]", part.trim_matches(' ')), self.depth + 1));
            self.steps.push(Step::Union(parts.collect::<Result<_, _>>()?));
            return Ok(());
        }
        let key = inner.strip_prefix('\'').and_then(|k| k.strip_suffix('\'')).filter(|k| !k.contains('\''));
        if let Some(key) = key {
            self.steps.extend(action(&format!(".{key}"), self.depth + 1)?);
            return Ok(());
        }
        self.steps.push(slice(inner)?);
        Ok(())
    }

    fn filter(&mut self) -> Result<(), PathError> {
        let end = filter_end(self.rest)?;
        let text = &self.take(end + 2)[3..end];
        let sign = |c: char| matches!(c, '!' | '<' | '>' | '=');
        let comparison = text.find(sign).filter(|at| *at > 0).and_then(|at| {
            let (left, rest) = text.split_at(at);
            let length = rest.find(|c| !sign(c))?;
            let (operator, right) = rest.split_at(length);
            Some((left, operator, right))
        });
        let depth = self.depth + 1;
        let step = match comparison {
            Some((left, operator, right)) => {
                if !["==", "!=", "<", "<=", ">", ">="].contains(&operator) {
                    return Err(PathError::new(format!("unrecognized filter operator {operator}")));
                }
                Step::Filter { left: action(left, depth)?, operator: operator.to_owned(), right: action(right, depth)? }
            }
            None => Step::Filter { left: action(text, depth)?, operator: "exists".to_owned(), right: Vec::new() },
        };
        self.steps.push(step);
        Ok(())
    }
}

/// Where the `)` before the closing `]` of a filter is; quoted texts are skipped.
fn filter_end(text: &str) -> Result<usize, PathError> {
    let bytes = text.as_bytes();
    let mut quote = None;
    for (i, byte) in bytes.iter().enumerate().skip(3) {
        match byte {
            b'\n' => break,
            b'"' | b'\'' => match quote {
                None => quote = Some(*byte),
                Some(open) if open == *byte && bytes[i - 1] != b'\\' => quote = None,
                Some(_) => {}
            },
            b')' if quote.is_none() => {
                return if bytes.get(i + 1) == Some(&b']') {
                    Ok(i)
                } else {
                    Err(PathError::new("unclosed array expect ]"))
                };
            }
            _ => {}
        }
    }
    Err(PathError::new("unterminated filter"))
}

fn slice(text: &str) -> Result<Step, PathError> {
    let wrong = || PathError::new(format!("invalid array index {text}"));
    let parts: Vec<&str> = text.split(':').collect();
    if parts.len() > 3 {
        return Err(wrong());
    }
    let mut numbers = [None; 3];
    for (slot, part) in numbers.iter_mut().zip(&parts) {
        let digits = part.strip_prefix('-').unwrap_or(part);
        if !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(wrong());
        }
        if !part.is_empty() {
            *slot = Some(part.parse::<i64>().map_err(|_| wrong())?);
        }
    }
    let [from, to, by] = numbers;
    if parts.len() == 1 && from.is_none() {
        return Err(wrong());
    }
    Ok(Step::Slice { from, to, by, single: parts.len() == 1 })
}
