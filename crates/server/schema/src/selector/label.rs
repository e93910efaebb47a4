//! Label selectors: `app=web,tier in (a,b),!legacy`.

use std::{collections::BTreeSet, fmt};

use serde_json::Value;

use super::{
    SelectorError,
    lexer::{Token, lex},
};
use crate::{
    field_error::{FieldError, aggregate},
    names,
};

/// How a requirement compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// The label has one of the values.
    In,
    /// The label has none of the values, or is not there.
    NotIn,
    /// The label has the value (`=`).
    Equals,
    /// The label has the value (`==`).
    DoubleEquals,
    /// The label has another value, or is not there.
    NotEquals,
    /// The label is there.
    Exists,
    /// The label is not there.
    DoesNotExist,
    /// The label is a larger whole number.
    GreaterThan,
    /// The label is a smaller whole number.
    LessThan,
}

/// One condition on one label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// The label's key.
    pub key: String,
    /// How it is compared.
    pub operator: Operator,
    /// With what; sorted and without repeats.
    pub values: Vec<String>,
}

impl Requirement {
    /// Builds a requirement and checks key and values; `path` is where errors say they are.
    pub fn new(key: &str, operator: Operator, values: Vec<String>, path: &str) -> Result<Self, Vec<FieldError>> {
        let mut errors = Vec::new();
        let at = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        let wrong = names::qualified(key);
        if !wrong.is_empty() {
            errors.push(FieldError::invalid_text(at("key"), key, wrong.join("; ")));
        }
        let listed = || Value::from(values.clone());
        match operator {
            Operator::In | Operator::NotIn if values.is_empty() => errors.push(FieldError::invalid(
                at("values"),
                &listed(),
                "for 'in', 'notin' operators, values set can't be empty",
            )),
            Operator::Equals | Operator::DoubleEquals | Operator::NotEquals if values.len() != 1 => errors.push(
                FieldError::invalid(at("values"), &listed(), "exact-match compatibility requires one single value"),
            ),
            Operator::Exists | Operator::DoesNotExist if !values.is_empty() => errors.push(FieldError::invalid(
                at("values"),
                &listed(),
                "values set must be empty for exists and does not exist",
            )),
            Operator::GreaterThan | Operator::LessThan => errors.extend(numeric(&values, &at("values"))),
            Operator::In
            | Operator::NotIn
            | Operator::Equals
            | Operator::DoubleEquals
            | Operator::NotEquals
            | Operator::Exists
            | Operator::DoesNotExist => {}
        }
        for (i, value) in values.iter().enumerate() {
            let wrong = names::label_value(value);
            if !wrong.is_empty() {
                errors.push(FieldError::invalid_text(format!("{}[{i}][{key}]", at("values")), value, wrong.join("; ")));
            }
        }
        if errors.is_empty() { Ok(Self { key: key.to_owned(), operator, values }) } else { Err(errors) }
    }

    /// Whether labels, looked up by key, meet the requirement.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        let found = label(&self.key);
        let among = |value: &str| self.values.iter().any(|v| v == value);
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => found.is_some_and(among),
            Operator::NotIn | Operator::NotEquals => !found.is_some_and(among),
            Operator::Exists => found.is_some(),
            Operator::DoesNotExist => found.is_none(),
            Operator::GreaterThan | Operator::LessThan => {
                let bound = self.values.first().and_then(|v| v.parse::<i64>().ok());
                match (found.and_then(|v| v.parse::<i64>().ok()), bound) {
                    (Some(value), Some(bound)) if self.operator == Operator::GreaterThan => value > bound,
                    (Some(value), Some(bound)) => value < bound,
                    _ => false,
                }
            }
        }
    }
}

fn numeric(values: &[String], path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if values.len() != 1 {
        let listed = Value::from(values.to_vec());
        errors.push(FieldError::invalid(path, &listed, "for 'Gt', 'Lt' operators, exactly one value is required"));
    }
    for (i, value) in values.iter().enumerate().filter(|(_, v)| v.parse::<i64>().is_err()) {
        let why = "for 'Gt', 'Lt' operators, the value must be an integer";
        errors.push(FieldError::invalid_text(format!("{path}[{i}]"), value, why));
    }
    errors
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self.values.join(",");
        match self.operator {
            Operator::Exists => f.write_str(&self.key),
            Operator::DoesNotExist => write!(f, "!{}", self.key),
            Operator::In => write!(f, "{} in ({values})", self.key),
            Operator::NotIn => write!(f, "{} notin ({values})", self.key),
            Operator::Equals => write!(f, "{}={values}", self.key),
            Operator::DoubleEquals => write!(f, "{}=={values}", self.key),
            Operator::NotEquals => write!(f, "{}!={values}", self.key),
            Operator::GreaterThan => write!(f, "{}>{values}", self.key),
            Operator::LessThan => write!(f, "{}<{values}", self.key),
        }
    }
}

/// Requirements that must all hold. None selects everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
}

impl LabelSelector {
    /// Reads the text of a `labelSelector` parameter.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut parser = Parser { tokens: lex(text), at: 0 };
        let mut requirements = parser.selector()?;
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Self { requirements })
    }

    /// Reads a selector in object form: `matchLabels` and `matchExpressions`.
    pub fn from_object(selector: &Value, path: &str) -> Result<Self, Vec<FieldError>> {
        let mut requirements = Vec::new();
        let mut errors = Vec::new();
        let mut add = |made: Result<Requirement, Vec<FieldError>>| match made {
            Ok(requirement) => requirements.push(requirement),
            Err(wrong) => errors.extend(wrong),
        };
        for (key, value) in selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten() {
            let value = value.as_str().unwrap_or_default().to_owned();
            add(Requirement::new(key, Operator::Equals, vec![value], &format!("{path}.matchLabels")));
        }
        let expressions = selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten();
        for (i, expression) in expressions.enumerate() {
            add(expression_requirement(expression, &format!("{path}.matchExpressions[{i}]")));
        }
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        if errors.is_empty() { Ok(Self { requirements }) } else { Err(errors) }
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// The requirements, by key.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// Whether labels, looked up by key, are selected.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|r| r.matches(&label))
    }

    /// Whether an object with these `metadata.labels` is selected.
    pub fn matches_object(&self, object: &Value) -> bool {
        let labels = object.pointer("/metadata/labels");
        self.matches(|key| labels.and_then(|l| l.get(key)).and_then(Value::as_str))
    }
}

fn expression_requirement(expression: &Value, path: &str) -> Result<Requirement, Vec<FieldError>> {
    let key = expression.get("key").and_then(Value::as_str).unwrap_or_default();
    let values: BTreeSet<String> = expression
        .get("values")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|v| v.as_str().map(str::to_owned))
        .collect();
    let operator = expression.get("operator").and_then(Value::as_str).unwrap_or_default();
    let operator = match operator {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        other => {
            let why = "not a valid selector operator";
            return Err(vec![FieldError::invalid_text(format!("{path}.operator"), other, why)]);
        }
    };
    Requirement::new(key, operator, values.into_iter().collect(), path)
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, requirement) in self.requirements.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            requirement.fmt(f)?;
        }
        Ok(())
    }
}

struct Parser {
    tokens: Vec<(Token, String)>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> (Token, &str) {
        // Past the end there is only the end.
        let (token, text) = self.tokens.get(self.at).map_or((Token::End, ""), |(t, s)| (*t, s.as_str()));
        // Where a value may stand, `in` and `notin` are words like any other.
        (if matches!(token, Token::In | Token::NotIn) { Token::Name } else { token }, text)
    }

    fn next_raw(&mut self) -> (Token, String) {
        let next = self.tokens.get(self.at).cloned().unwrap_or((Token::End, String::new()));
        self.at += 1;
        next
    }

    fn next(&mut self) -> (Token, String) {
        let token = self.peek().0;
        (token, self.next_raw().1)
    }

    fn selector(&mut self) -> Result<Vec<Requirement>, SelectorError> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                (Token::Name | Token::Not, _) => {
                    let requirement = self
                        .requirement()
                        .map_err(|e| SelectorError::new(format!("unable to parse requirement: {e}")))?;
                    requirements.push(requirement);
                    match self.next() {
                        (Token::End, _) => return Ok(requirements),
                        (Token::Comma, _) => {
                            if let (token, text) = self.peek()
                                && !matches!(token, Token::Name | Token::Not)
                            {
                                return Err(SelectorError::new(format!(
                                    "found '{text}', expected: identifier after ','"
                                )));
                            }
                        }
                        (_, text) => {
                            return Err(SelectorError::new(format!(
                                "found '{text}', expected: ',' or 'end of string'"
                            )));
                        }
                    }
                }
                (Token::End, _) => return Ok(requirements),
                (_, text) => {
                    return Err(SelectorError::new(format!(
                        "found '{text}', expected: !, identifier, or 'end of string'"
                    )));
                }
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, SelectorError> {
        let (mut token, mut key) = self.next();
        let negated = token == Token::Not;
        if negated {
            (token, key) = self.next();
        }
        if token != Token::Name {
            return Err(SelectorError::new(format!("found '{key}', expected: identifier")));
        }
        let wrong = names::qualified(&key);
        if !wrong.is_empty() {
            return Err(SelectorError::new(FieldError::invalid_text("", &key, wrong.join("; ")).to_string()));
        }
        let build = |operator, values| {
            Requirement::new(&key, operator, values, "").map_err(|e| SelectorError::new(aggregate(&e)))
        };
        if negated {
            return build(Operator::DoesNotExist, Vec::new());
        }
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return build(Operator::Exists, Vec::new());
        }
        let operator = self.operator()?;
        let values = match operator {
            Operator::In | Operator::NotIn => self.values()?,
            Operator::Equals
            | Operator::DoubleEquals
            | Operator::NotEquals
            | Operator::GreaterThan
            | Operator::LessThan
            | Operator::Exists
            | Operator::DoesNotExist => vec![self.exact_value()?],
        };
        build(operator, values)
    }

    fn operator(&mut self) -> Result<Operator, SelectorError> {
        let (token, text) = self.next_raw();
        Ok(match token {
            Token::In => Operator::In,
            Token::NotIn => Operator::NotIn,
            Token::Equals => Operator::Equals,
            Token::DoubleEquals => Operator::DoubleEquals,
            Token::NotEquals => Operator::NotEquals,
            Token::Greater => Operator::GreaterThan,
            Token::Less => Operator::LessThan,
            Token::Fault | Token::End | Token::ClosePar | Token::Comma | Token::Not | Token::Name | Token::OpenPar => {
                return Err(SelectorError::new(format!("found '{text}', expected: in, notin, =, ==, !=, gt, lt")));
            }
        })
    }

    fn values(&mut self) -> Result<Vec<String>, SelectorError> {
        let (token, text) = self.next();
        if token != Token::OpenPar {
            return Err(SelectorError::new(format!("found '{text}' expected: '('")));
        }
        let (token, first) = (self.peek().0, self.peek().1.to_owned());
        match token {
            Token::ClosePar => {
                self.next();
                Ok(vec![String::new()])
            }
            Token::Name | Token::Comma => {
                let values = self.identifiers()?;
                if self.next().0 != Token::ClosePar {
                    return Err(SelectorError::new(format!("found '{first}', expected: ')'")));
                }
                Ok(values.into_iter().collect())
            }
            Token::Fault
            | Token::End
            | Token::Not
            | Token::DoubleEquals
            | Token::Equals
            | Token::Greater
            | Token::In
            | Token::Less
            | Token::NotEquals
            | Token::NotIn
            | Token::OpenPar => Err(SelectorError::new(format!("found '{first}', expected: ',', ')' or identifier"))),
        }
    }

    /// The words up to the closing parenthesis, which stays. A comma with nothing beside it stands for
    /// an empty value.
    fn identifiers(&mut self) -> Result<BTreeSet<String>, SelectorError> {
        let mut values = BTreeSet::new();
        loop {
            match self.next() {
                (Token::Name, text) => {
                    values.insert(text);
                    match self.peek() {
                        (Token::Comma, _) => {}
                        (Token::ClosePar, _) => return Ok(values),
                        (_, text) => return Err(SelectorError::new(format!("found '{text}', expected: ',' or ')'"))),
                    }
                }
                (Token::Comma, _) => {
                    if values.is_empty() {
                        values.insert(String::new());
                    }
                    match self.peek().0 {
                        Token::ClosePar => {
                            values.insert(String::new());
                            return Ok(values);
                        }
                        Token::Comma => {
                            values.insert(String::new());
                        }
                        _ => {}
                    }
                }
                (_, text) => return Err(SelectorError::new(format!("found '{text}', expected: ',', or identifier"))),
            }
        }
    }

    fn exact_value(&mut self) -> Result<String, SelectorError> {
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return Ok(String::new());
        }
        match self.next() {
            (Token::Name, text) => Ok(text),
            (_, text) => Err(SelectorError::new(format!("found '{text}', expected: identifier"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_are_read_and_printed() {
        let table = [
            ("", ""),
            (" x = a , y!=b ", "x=a,y!=b"),
            ("b,a", "a,b"),
            ("x==a", "x==a"),
            ("!x", "!x"),
            ("x in (b,a)", "x in (a,b)"),
            ("x notin (a)", "x notin (a)"),
            ("x in ()", "x in ()"),
            ("x in (a,)", "x in (,a)"),
            ("x=", "x="),
            ("x>1,y<2", "x>1,y<2"),
            ("in in (in)", "in in (in)"),
        ];
        for (text, printed) in table {
            assert_eq!(LabelSelector::parse(text).map(|s| s.to_string()), Ok(printed.to_owned()), "{text}");
        }
    }

    #[test]
    fn refusals_have_the_words_of_kubernetes() {
        let table = [
            ("x=a y=b", "found 'y', expected: ',' or 'end of string'"),
            (",", "found ',', expected: !, identifier, or 'end of string'"),
            ("x,", "found '', expected: identifier after ','"),
            ("x in a", "unable to parse requirement: found 'a' expected: '('"),
            ("x in (a", "unable to parse requirement: found '', expected: ',' or ')'"),
            ("x a", "unable to parse requirement: found 'a', expected: in, notin, =, ==, !=, gt, lt"),
            ("!", "unable to parse requirement: found '', expected: identifier"),
            (
                "x>a",
                "unable to parse requirement: values[0]: Invalid value: \"a\": for 'Gt', 'Lt' operators, the value must be an integer",
            ),
        ];
        for (text, message) in table {
            assert_eq!(LabelSelector::parse(text).unwrap_err().to_string(), message, "{text}");
        }
        let error = LabelSelector::parse("a/b/c=1").unwrap_err().to_string();
        assert!(
            error.starts_with("unable to parse requirement: <nil>: Invalid value: \"a/b/c\": a valid label key"),
            "{error}"
        );
        let error = LabelSelector::parse("a=-").unwrap_err().to_string();
        assert!(
            error.starts_with("unable to parse requirement: values[0][a]: Invalid value: \"-\": a valid label"),
            "{error}"
        );
    }

    #[test]
    fn labels_are_matched() {
        let object = json!({"metadata": {"labels": {"app": "web", "n": "5"}}});
        let table = [
            ("app=web", true),
            ("app!=web", false),
            ("app in (a,web)", true),
            ("app notin (a)", true),
            ("other!=a", true),
            ("other notin (a)", true),
            ("other in (a)", false),
            ("app,!other", true),
            ("n>4,n<6", true),
            ("n>5", false),
            ("app>1", false),
            ("", true),
        ];
        for (text, expected) in table {
            assert_eq!(LabelSelector::parse(text).unwrap().matches_object(&object), expected, "{text}");
        }
    }

    #[test]
    fn the_object_form_means_the_same() {
        let selector = json!({
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "n", "operator": "In", "values": ["5"]}, {"key": "x", "operator": "DoesNotExist"}],
        });
        let selector = LabelSelector::from_object(&selector, "spec.selector").unwrap();
        assert_eq!(selector.to_string(), "app=web,n in (5),!x");
        let wrong = json!({"matchExpressions": [{"key": "n", "operator": "Is"}]});
        let errors = LabelSelector::from_object(&wrong, "spec.selector").unwrap_err();
        assert_eq!(
            errors[0].to_string(),
            "spec.selector.matchExpressions[0].operator: Invalid value: \"Is\": not a valid selector operator"
        );
    }
}
