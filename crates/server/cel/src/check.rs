//! Rules of a definition, when it is written.
//!
//! Not the type checker of Kubernetes: what is found is what does not parse, variables and functions
//! that do not exist, fields of `self` that no schema declares, results that cannot be a boolean, and
//! the old value where there can be none. A rule with a deeper type error is accepted here and fails
//! when it runs.

use kube_cel::cel::{
    IdedExpr,
    common::ast::{CallExpr, ComprehensionExpr, Expr, LiteralValue, operators as op},
};
use netloom_schema::{FieldError, ListType, Rule, Schema, Shape, Type, go_text};
use serde_json::Value;

use crate::{
    calls,
    compile::{Compiled, compiled, pointed},
    escape::escape,
    operators,
};

/// Checks all rules of a schema.
pub(crate) fn check(schema: &Schema, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    node(schema, path, true, None, &mut errors);
    errors
}

/// `uncorrelated` is the nearest place above whose items have no old state.
fn node(schema: &Schema, path: &str, is_object: bool, uncorrelated: Option<&str>, errors: &mut Vec<FieldError>) {
    if !schema.has_rules() {
        return;
    }
    for (i, rule) in schema.rules().iter().enumerate() {
        let at = |name: &str| format!("{path}.x-kubernetes-validations[{i}].{name}");
        let compiled = compiled(rule, schema);
        let types = Types {
            self_schema: schema,
            is_object,
            source: &rule.rule,
            optional_old: rule.optional_old_self == Some(true),
        };
        if let Some(why) = expression_error(&compiled, &types) {
            errors.push(refused(at("rule"), rule, why));
        }
        if let Some(why) = message_error(&compiled, &Types { source: &rule.message_expression, ..types }) {
            errors.push(refused(at("messageExpression"), rule, why));
        }
        if compiled.uses_old_self {
            if let Some(place) = uncorrelated {
                let why = format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {place}");
                errors.push(FieldError::invalid_text(at("rule"), &rule.rule, why));
            }
        } else if let Some(flag) = rule.optional_old_self.filter(|_| compiled.rule.is_ok()) {
            let why = "may not be set if oldSelf is not used in rule";
            errors.push(FieldError::invalid(at("optionalOldSelf"), &Value::Bool(flag), why));
        }
    }
    for (name, property) in schema.properties() {
        node(property, &format!("{path}.properties[{name}]"), property.is_embedded(), uncorrelated, errors);
    }
    if let Shape::Object { additional: Some(additional), .. } = schema.shape() {
        node(additional, &format!("{path}.additionalProperties"), additional.is_embedded(), uncorrelated, errors);
    }
    if let Some(items) = schema.items() {
        let correlated = matches!(schema.list_type(), ListType::Map(_));
        let uncorrelated = uncorrelated.or((!correlated).then_some(path));
        node(items, &format!("{path}.items"), items.is_embedded(), uncorrelated, errors);
    }
}

/// An error about a rule shows the rule, with the names that its fields have inside of the server.
fn refused(path: String, rule: &Rule, why: String) -> FieldError {
    let text = |text: &str| go_text::json(&Value::from(text));
    let reason = if rule.reason.is_empty() { "null".to_owned() } else { text(&rule.reason) };
    let optional = rule.optional_old_self.map_or_else(|| "null".to_owned(), |flag| flag.to_string());
    let value = format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{reason},\"FieldPath\":{},\"OptionalOldSelf\":{optional}}}",
        text(&rule.rule),
        text(&rule.message),
        text(&rule.message_expression),
        text(&rule.field_path),
    );
    FieldError { value: Some(value), ..FieldError::invalid(path, &Value::Null, why) }
}

fn expression_error(compiled: &Compiled, types: &Types<'_>) -> Option<String> {
    let expression = match &compiled.rule {
        Ok(expression) => expression,
        Err(error) => return Some(format!("compilation failed: {error}")),
    };
    match types.of(expression, &mut Vec::new()) {
        Err(error) => Some(format!("compilation failed: {error}")),
        Ok(Guess::Dyn | Guess::Bool) => None,
        Ok(_) => Some("cel expression must evaluate to a bool".to_owned()),
    }
}

fn message_error(compiled: &Compiled, types: &Types<'_>) -> Option<String> {
    let expression = match compiled.message.as_ref()? {
        Ok(expression) => expression,
        Err(error) => return Some(format!("messageExpression compilation failed: {error}")),
    };
    match types.of(expression, &mut Vec::new()) {
        Err(error) => Some(format!("messageExpression compilation failed: {error}")),
        Ok(Guess::Dyn | Guess::Text) => None,
        Ok(_) => Some("messageExpression must evaluate to a string".to_owned()),
    }
}

/// What is known of the type of an expression.
#[derive(Clone, Copy)]
enum Guess<'a> {
    Dyn,
    Bool,
    Text,
    Int,
    Uint,
    Double,
    Null,
    List(Option<&'a Schema>),
    /// A value of a schema; with `true` a whole object.
    Of(&'a Schema, bool),
    /// The metadata of an object.
    Metadata,
    Other,
}

struct Types<'a> {
    self_schema: &'a Schema,
    is_object: bool,
    source: &'a str,
    optional_old: bool,
}

type Guessed<'a> = Result<Guess<'a>, String>;
type Bound<'a> = Vec<(String, Guess<'a>)>;

impl<'a> Types<'a> {
    fn fault(&self, near: &str, message: &str) -> String {
        self.fault_at(self.source.find(near).unwrap_or(0), message)
    }

    fn fault_at(&self, at: usize, message: &str) -> String {
        let before = &self.source[..at];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        pointed(self.source, isize::try_from(line).unwrap_or(1), isize::try_from(column).unwrap_or(1), message)
    }

    fn of(&self, expression: &IdedExpr, bound: &mut Bound<'a>) -> Guessed<'a> {
        match &expression.expr {
            Expr::Literal(literal) => Ok(match literal {
                LiteralValue::Boolean(_) => Guess::Bool,
                LiteralValue::String(_) => Guess::Text,
                LiteralValue::Int(_) => Guess::Int,
                LiteralValue::UInt(_) => Guess::Uint,
                LiteralValue::Double(_) => Guess::Double,
                LiteralValue::Null => Guess::Null,
                LiteralValue::Bytes(_) => Guess::Other,
            }),
            Expr::Ident(name) => self.variable(name, bound),
            Expr::Select(select) => {
                let operand = self.of(&select.operand, bound)?;
                let found = self.field(operand, &select.field, select.test)?;
                Ok(if select.test { Guess::Bool } else { found })
            }
            Expr::Call(call) => self.call(call, bound),
            Expr::List(list) => {
                list.elements.iter().try_for_each(|element| self.of(element, bound).map(drop))?;
                Ok(Guess::List(None))
            }
            Expr::Map(_) | Expr::Struct(_) => {
                crate::compile::children(expression).into_iter().try_for_each(|part| self.of(part, bound).map(drop))?;
                Ok(Guess::Other)
            }
            Expr::Comprehension(loop_) => self.comprehension(loop_, bound),
            Expr::Unspecified => Ok(Guess::Dyn),
        }
    }

    /// Where a text or a variable stands in the source.
    fn literal_at(&self, expression: &IdedExpr) -> usize {
        let near = match &expression.expr {
            Expr::Literal(LiteralValue::String(text)) => text.inner().to_owned(),
            Expr::Select(select) => format!(".{}", select.field),
            Expr::Ident(name) => name.clone(),
            _ => return 0,
        };
        let quoted = usize::from(matches!(expression.expr, Expr::Literal(_)));
        self.source.find(&near).map_or(0, |at| at.saturating_sub(quoted))
    }

    fn variable(&self, name: &str, bound: &Bound<'a>) -> Guessed<'a> {
        if let Some((_, guess)) = bound.iter().rev().find(|(known, _)| known == name) {
            return Ok(*guess);
        }
        match name {
            "oldSelf" if self.optional_old => Ok(Guess::Dyn),
            "self" | "oldSelf" => Ok(narrow(self.self_schema, self.is_object)),
            other if calls::type_name(other).is_some() => Ok(Guess::Dyn),
            other => Err(self.fault(other, &format!("undeclared reference to '{other}' (in container '')"))),
        }
    }

    /// `test` says that the field is asked for by `has`, where errors point.
    fn field(&self, operand: Guess<'a>, name: &str, test: bool) -> Guessed<'a> {
        let fault = |message: &str| {
            let asked = self.source.find("has(").filter(|_| test).map(|at| at + 3);
            let at = asked.or_else(|| self.source.find(&format!(".{name}"))).unwrap_or(0);
            self.fault_at(at, message)
        };
        let undefined = || fault(&format!("undefined field '{name}'"));
        if let Some(scalar) = scalar_name(operand) {
            return Err(fault(&format!("type '{scalar}' does not support field selection")));
        }
        match operand {
            Guess::List(_) => Err(fault("type 'list' does not support field selection")),
            Guess::Metadata if matches!(name, "name" | "generateName") => Ok(Guess::Text),
            Guess::Metadata => Err(undefined()),
            Guess::Of(schema, is_object) => {
                if is_object && matches!(name, "apiVersion" | "kind") {
                    return Ok(Guess::Text);
                }
                if is_object && name == "metadata" {
                    return Ok(Guess::Metadata);
                }
                let property = schema.properties().iter().find(|(known, _)| escape(known).as_deref() == Some(name));
                if let Some((_, property)) = property {
                    return Ok(narrow(property, property.is_embedded()));
                }
                match schema.shape() {
                    Shape::Object { additional: Some(additional), .. } if schema.properties().is_empty() => {
                        Ok(narrow(additional, additional.is_embedded()))
                    }
                    _ => Err(undefined()),
                }
            }
            Guess::Dyn
            | Guess::Other
            | Guess::Bool
            | Guess::Text
            | Guess::Int
            | Guess::Uint
            | Guess::Double
            | Guess::Null => Ok(Guess::Dyn),
        }
    }

    fn call(&self, call: &CallExpr, bound: &mut Bound<'a>) -> Guessed<'a> {
        let name = calls::full_name(call, |name| bound.iter().any(|(known, _)| known == name));
        if let Some(variables) = variables_of(&name, call) {
            if let Some(target) = call.target.as_deref().filter(|_| name == call.func_name) {
                self.of(target, bound)?;
            }
            let depth = bound.len();
            for argument in &call.args[variables.len()..] {
                bound.truncate(depth);
                bound.extend(variables.iter().map(|name| (name.clone(), Guess::Dyn)));
                self.of(argument, bound)?;
            }
            bound.truncate(depth);
            return Ok(if matches!(name.as_str(), "all" | "exists" | "existsOne" | "exists_one") {
                Guess::Bool
            } else {
                Guess::Dyn
            });
        }
        let is_operator = operators::is_unary(&name) || operators::is_binary(&name) || is_special(&name);
        if !is_operator && !calls::exists(&name) {
            return Err(self.undeclared(call, &name, bound));
        }
        if let Some(target) = call.target.as_deref().filter(|_| name == call.func_name) {
            self.of(target, bound)?;
        }
        let args = call.args.iter().map(|arg| self.of(arg, bound)).collect::<Result<Vec<_>, _>>()?;
        if is_operator {
            if matches!(name.as_str(), op::LOGICAL_AND | op::LOGICAL_OR) {
                for (arg, guess) in call.args.iter().zip(&args) {
                    if let Some(found) = scalar_name(*guess).filter(|found| *found != "bool") {
                        return Err(
                            self.fault_at(self.literal_at(arg), &format!("expected type 'bool' but found '{found}'"))
                        );
                    }
                }
            }
            if let Some((left, right)) = no_overload(&name, &args) {
                let sign = name.replace(['_', '@'], "");
                let message = format!("found no matching overload for '{name}' applied to '({left}, {right})'");
                return Err(self.fault(&sign, &message));
            }
            return Ok(operator_result(&name, &args));
        }
        Ok(match name.as_str() {
            "size" | "int" | "indexOf" | "lastIndexOf" => Guess::Int,
            "uint" => Guess::Uint,
            "double" => Guess::Double,
            "contains" | "startsWith" | "endsWith" | "matches" | "isURL" | "isIP" | "isCIDR" | "isQuantity"
            | "bool" | "isSemver" | "hasValue" | "isSorted" => Guess::Bool,
            "string" | "lowerAscii" | "upperAscii" | "trim" | "join" | "replace" | "substring" | "charAt" => {
                Guess::Text
            }
            _ => Guess::Dyn,
        })
    }

    /// A function that does not exist, and a namespace before it that does not either.
    fn undeclared(&self, call: &CallExpr, name: &str, bound: &Bound<'a>) -> String {
        let at = self.source.find(&format!("{}(", call.func_name)).map_or(0, |at| at + call.func_name.len());
        let mut faults = Vec::new();
        if let Some(Expr::Ident(prefix)) = call.target.as_deref().map(|t| &t.expr)
            && self.variable(prefix, bound).is_err()
        {
            faults.push(self.fault(prefix, &format!("undeclared reference to '{prefix}' (in container '')")));
        }
        faults.push(self.fault_at(at, &format!("undeclared reference to '{name}' (in container '')")));
        faults.join("\n")
    }

    fn comprehension(&self, loop_: &ComprehensionExpr, bound: &mut Bound<'a>) -> Guessed<'a> {
        let range = self.of(&loop_.iter_range, bound)?;
        let item = match range {
            Guess::List(Some(items)) => narrow(items, items.is_embedded()),
            Guess::Of(schema, _) if matches!(schema.kind(), Some(Type::Object)) => Guess::Text,
            Guess::Bool | Guess::Text | Guess::Int | Guess::Uint | Guess::Double | Guess::Null => {
                return Err(self.fault(
                    "",
                    "expression of type cannot be range of a comprehension (must be list, map, or dynamic)",
                ));
            }
            Guess::Dyn | Guess::List(None) | Guess::Of(..) | Guess::Metadata | Guess::Other => Guess::Dyn,
        };
        let start = self.of(&loop_.accu_init, bound)?;
        let depth = bound.len();
        bound.push((loop_.accu_var.clone(), Guess::Dyn));
        bound.push((loop_.iter_var.clone(), item));
        self.of(&loop_.loop_step, bound)?;
        bound.truncate(depth);
        Ok(match start {
            // The count of `exists_one` ends in a comparison.
            Guess::Int => Guess::Bool,
            other => other,
        })
    }
}

/// The variables that a call brings along, if it is a loop or a binding.
fn variables_of(name: &str, call: &CallExpr) -> Option<Vec<String>> {
    let count = match name {
        "optMap" | "optFlatMap" if call.args.len() == 2 => 1,
        _ if crate::loops::is_two_variable(call) => 2,
        _ => return None,
    };
    call.args[..count]
        .iter()
        .map(|arg| match &arg.expr {
            Expr::Ident(name) => Some(name.clone()),
            _ => None,
        })
        .collect()
}

fn is_special(name: &str) -> bool {
    matches!(name, op::LOGICAL_AND | op::LOGICAL_OR | op::CONDITIONAL | op::NOT_STRICTLY_FALSE | op::OPT_SELECT)
}

fn operator_result<'a>(name: &str, args: &[Guess<'a>]) -> Guess<'a> {
    match (name, args) {
        (op::ADD, [Guess::Text, _] | [_, Guess::Text]) | (op::CONDITIONAL, [_, Guess::Text, Guess::Text]) => {
            Guess::Text
        }
        (op::ADD | op::SUBSTRACT | op::MULTIPLY | op::DIVIDE | op::MODULO, [Guess::Int, Guess::Int])
        | (op::NEGATE, [Guess::Int])
        | (op::CONDITIONAL, [_, Guess::Int, Guess::Int]) => Guess::Int,
        (op::ADD | op::SUBSTRACT | op::MULTIPLY | op::DIVIDE, [Guess::Double, Guess::Double])
        | (op::NEGATE, [Guess::Double]) => Guess::Double,
        (op::ADD, [Guess::List(_), Guess::List(_)]) => Guess::List(None),
        (op::INDEX, [Guess::List(Some(items)), _]) => narrow(items, items.is_embedded()),
        (op::INDEX, [Guess::Of(schema, _), _]) => match schema.shape() {
            Shape::Object { additional: Some(additional), .. } => narrow(additional, additional.is_embedded()),
            _ => Guess::Dyn,
        },
        (op::CONDITIONAL, [_, Guess::Bool, Guess::Bool])
        | (
            op::LOGICAL_AND
            | op::LOGICAL_OR
            | op::LOGICAL_NOT
            | op::EQUALS
            | op::NOT_EQUALS
            | op::LESS
            | op::LESS_EQUALS
            | op::GREATER
            | op::GREATER_EQUALS
            | op::IN
            | op::NOT_STRICTLY_FALSE,
            _,
        ) => Guess::Bool,
        _ => Guess::Dyn,
    }
}

/// The name of a type that has one.
fn scalar_name(guess: Guess<'_>) -> Option<&'static str> {
    Some(match guess {
        Guess::Bool => "bool",
        Guess::Text => "string",
        Guess::Int => "int",
        Guess::Uint => "uint",
        Guess::Double => "double",
        Guess::Null => "null",
        Guess::Dyn | Guess::List(_) | Guess::Of(..) | Guess::Metadata | Guess::Other => return None,
    })
}

/// Two scalars that an operator does not take together.
fn no_overload(name: &str, args: &[Guess<'_>]) -> Option<(&'static str, &'static str)> {
    let [left, right] = args else { return None };
    let (left, right) = (scalar_name(*left)?, scalar_name(*right)?);
    let numeric = |name: &str| matches!(name, "int" | "uint" | "double");
    let refused = match name {
        op::EQUALS | op::NOT_EQUALS => left != right,
        // Numbers of different types have an order, though they are never equal.
        op::LESS | op::LESS_EQUALS | op::GREATER | op::GREATER_EQUALS => {
            left != right && !(numeric(left) && numeric(right))
        }
        op::ADD => left != right || left == "bool" || left == "null",
        op::SUBSTRACT | op::MULTIPLY | op::DIVIDE => left != right || !numeric(left),
        op::MODULO => left != right || !numeric(left) || left == "double",
        _ => false,
    };
    refused.then_some((left, right))
}

/// What values of a schema are.
fn narrow(schema: &Schema, is_object: bool) -> Guess<'_> {
    match schema.shape() {
        Shape::Object { .. } => Guess::Of(schema, is_object),
        Shape::Array { items, .. } => Guess::List(items),
        Shape::Scalar(Type::Boolean) => Guess::Bool,
        Shape::Scalar(Type::Integer) => Guess::Int,
        Shape::Scalar(Type::Number) => Guess::Double,
        Shape::Scalar(Type::String) => match schema.format() {
            Some("date-time" | "datetime" | "date" | "duration" | "byte") => Guess::Other,
            _ => Guess::Text,
        },
        Shape::Scalar(Type::Object | Type::Array) | Shape::IntOrString | Shape::Unknown => Guess::Dyn,
    }
}
