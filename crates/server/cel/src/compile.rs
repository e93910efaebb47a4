//! Texts of rules to expressions that can be evaluated, once for each schema.

use std::{any::Any, sync::Arc};

use kube_cel::cel::{
    IdedExpr,
    common::ast::{EntryExpr, Expr},
    parser::Parser,
};
use netloom_schema::{Rule, Schema, field_path};

/// Longer texts are refused unread.
const LONGEST: usize = 64 << 10;

/// A rule, ready to run.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) rule: Result<IdedExpr, String>,
    pub(crate) message: Option<Result<IdedExpr, String>>,
    pub(crate) uses_old_self: bool,
    /// The path to report, relative to the place of the rule.
    pub(crate) field_path: String,
}

/// Compiles a rule, or takes what was compiled before.
pub(crate) fn compiled(rule: &Rule, schema: &Schema) -> Arc<Compiled> {
    let slot = rule.compiled().get_or_init(|| {
        let made: Arc<dyn Any + Send + Sync> = Arc::new(compile(rule, schema));
        made
    });
    // Another evaluator may have filled the slot; then the work is done again.
    Arc::clone(slot).downcast::<Compiled>().unwrap_or_else(|_| Arc::new(compile(rule, schema)))
}

fn compile(rule: &Rule, schema: &Schema) -> Compiled {
    let parsed = parse(&rule.rule);
    let message = Some(rule.message_expression.trim()).filter(|m| !m.is_empty()).map(parse);
    let uses_old_self = parsed.as_ref().is_ok_and(|e| mentions(e, "oldSelf"));
    let field_path = Some(rule.field_path.as_str())
        .filter(|path| !path.is_empty())
        .and_then(|path| field_path::resolve(path, schema).ok())
        .map_or_else(String::new, |(path, _)| path);
    Compiled { rule: parsed, message, uses_old_self, field_path }
}

/// Reads an expression. The error is the text that a definition with it is refused with.
pub(crate) fn parse(source: &str) -> Result<IdedExpr, String> {
    if source.len() > LONGEST {
        return Err(format!("ERROR: <input>:1:1: expression has more than {LONGEST} bytes"));
    }
    let parser = Parser::new().enable_optional_syntax(true);
    let expression = parser.parse(source).map_err(|errors| {
        let each = errors.errors.iter().map(|error| {
            let (line, column) = error.pos;
            let message = error.msg.strip_prefix("Syntax error: ").unwrap_or(&error.msg);
            pointed(source, line, column, &format!("Syntax error: {message}"))
        });
        each.collect::<Vec<_>>().join("\n")
    })?;
    supported(&expression).map_err(|what| pointed(source, 1, 1, &what))?;
    Ok(expression)
}

/// A message with the line that it is about and a mark below the place.
pub(crate) fn pointed(source: &str, line: isize, column: isize, message: &str) -> String {
    let text = usize::try_from(line - 1).ok().and_then(|n| source.lines().nth(n)).unwrap_or_default();
    let dots = ".".repeat(usize::try_from(column - 1).unwrap_or(0).min(text.len()));
    format!("ERROR: <input>:{line}:{column}: {message}\n | {text}\n | {dots}^")
}

/// Messages are objects of types that no schema declares.
fn supported(expression: &IdedExpr) -> Result<(), String> {
    if let Expr::Struct(object) = &expression.expr {
        return Err(format!("undeclared reference to '{}' (in container '')", object.type_name));
    }
    if matches!(expression.expr, Expr::Unspecified) {
        return Err("Syntax error: an expression is missing".to_owned());
    }
    children(expression).into_iter().try_for_each(supported)
}

/// All expressions directly below.
pub(crate) fn children(expression: &IdedExpr) -> Vec<&IdedExpr> {
    match &expression.expr {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => Vec::new(),
        Expr::Call(call) => call.target.as_deref().into_iter().chain(&call.args).collect(),
        Expr::Comprehension(c) => vec![&c.iter_range, &c.accu_init, &c.loop_cond, &c.loop_step, &c.result],
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Select(select) => vec![&select.operand],
        Expr::Map(map) => entries(&map.entries),
        Expr::Struct(object) => entries(&object.entries),
    }
}

fn entries(entries: &[kube_cel::cel::common::ast::IdedEntryExpr]) -> Vec<&IdedExpr> {
    let mut all = Vec::new();
    for entry in entries {
        match &entry.expr {
            EntryExpr::StructField(field) => all.push(&field.value),
            EntryExpr::MapEntry(entry) => all.extend([&entry.key, &entry.value]),
        }
    }
    all
}

/// Whether an expression uses a variable. A variable of a loop by the same name counts as well.
pub(crate) fn mentions(expression: &IdedExpr, name: &str) -> bool {
    matches!(&expression.expr, Expr::Ident(found) if found == name)
        || children(expression).into_iter().any(|child| mentions(child, name))
}
