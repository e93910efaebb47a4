//! The evaluator: expression in, value out, every step paid for.

use std::{collections::HashMap, sync::Arc};

use kube_cel::cel::{
    IdedExpr, Value,
    common::ast::{CallExpr, EntryExpr, Expr, ListExpr, LiteralValue, MapExpr, SelectExpr, operators as op},
    objects::Key,
};

use crate::{
    budget::{Budget, Fault},
    calls, loops, operators,
    values::{Unordered, inside, list, map, optional, text},
};

/// How deep expressions may lie in each other while they are evaluated. The parser has a limit of its
/// own, a little below.
const DEEPEST: usize = 200;

/// The variables that an expression sees: a chain from the innermost to the outermost.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) parent: Option<&'a Scope<'a>>,
    pub(crate) name: &'a str,
    pub(crate) value: &'a Value,
}

impl<'a> Scope<'a> {
    /// Whether there is a variable by that name.
    pub(crate) fn names(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    fn find(&self, name: &str) -> Option<&'a Value> {
        let mut here = Some(self);
        while let Some(scope) = here {
            if scope.name == name {
                return Some(scope.value);
            }
            here = scope.parent;
        }
        None
    }
}

pub(crate) type Evaluated = Result<Value, Fault>;

/// Evaluates one expression.
pub(crate) struct Evaluator<'b> {
    pub(crate) budget: &'b mut Budget,
    unordered: &'b Unordered,
    depth: usize,
}

impl<'b> Evaluator<'b> {
    pub(crate) fn new(budget: &'b mut Budget, unordered: &'b Unordered) -> Self {
        Self { budget, unordered, depth: 0 }
    }

    pub(crate) fn eval(&mut self, expression: &IdedExpr, scope: &Scope<'_>) -> Evaluated {
        self.budget.spend(1)?;
        if self.depth >= DEEPEST {
            return Err(Fault::other("the expression is nested too deep"));
        }
        self.depth += 1;
        let result = self.node(expression, scope);
        self.depth -= 1;
        result
    }

    fn node(&mut self, expression: &IdedExpr, scope: &Scope<'_>) -> Evaluated {
        match &expression.expr {
            Expr::Literal(literal) => Ok(self::literal(literal)),
            Expr::Ident(name) => scope
                .find(name)
                .cloned()
                .or_else(|| calls::type_name(name))
                .ok_or_else(|| Fault::other(format!("no such attribute(s): {name}"))),
            Expr::Select(select) => self.select(select, scope),
            Expr::Call(call) => self.call(call, scope),
            Expr::List(elements) => self.list(elements, scope),
            Expr::Map(entries) => self.map(entries, scope),
            Expr::Comprehension(comprehension) => loops::run(self, comprehension, scope),
            Expr::Struct(object) => Err(Fault::other(format!("undeclared reference to '{}'", object.type_name))),
            Expr::Unspecified => Err(Fault::other("an expression is missing")),
        }
    }

    fn select(&mut self, select: &SelectExpr, scope: &Scope<'_>) -> Evaluated {
        let operand = self.eval(&select.operand, scope)?;
        if let Some(inner) = inside(&operand) {
            let found = inner.and_then(|value| field(value, &select.field));
            return Ok(if select.test { Value::Bool(found.is_some()) } else { optional(found) });
        }
        if !matches!(operand, Value::Map(_)) {
            return Err(Fault::NoSuchOverload);
        }
        let found = field(&operand, &select.field);
        if select.test {
            return Ok(Value::Bool(found.is_some()));
        }
        found.ok_or_else(|| Fault::other(format!("no such key: {}", select.field)))
    }

    fn list(&mut self, elements: &ListExpr, scope: &Scope<'_>) -> Evaluated {
        let mut items = Vec::with_capacity(elements.elements.len());
        for (i, element) in elements.elements.iter().enumerate() {
            let value = self.eval(element, scope)?;
            if elements.optional_indices.contains(&i) {
                items.extend(inside(&value).ok_or(Fault::NoSuchOverload)?.cloned());
            } else {
                items.push(value);
            }
        }
        Ok(list(items))
    }

    fn map(&mut self, literal: &MapExpr, scope: &Scope<'_>) -> Evaluated {
        let mut entries = HashMap::with_capacity(literal.entries.len());
        for entry in &literal.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else { return Err(Fault::NoSuchOverload) };
            let key = self.eval(&entry.key, scope)?;
            let key = operators::key(&key).ok_or(Fault::NoSuchOverload)?;
            let value = self.eval(&entry.value, scope)?;
            if entry.optional {
                if let Some(value) = inside(&value).ok_or(Fault::NoSuchOverload)? {
                    entries.insert(key, value.clone());
                }
            } else if entries.insert(key, value).is_some() {
                return Err(Fault::other("Failed with repeated key"));
            }
        }
        Ok(map(entries))
    }

    fn call(&mut self, call: &CallExpr, scope: &Scope<'_>) -> Evaluated {
        match (call.func_name.as_str(), call.target.as_deref(), call.args.as_slice()) {
            (op::LOGICAL_AND, None, [left, right]) => self.logic(left, right, false, scope),
            (op::LOGICAL_OR, None, [left, right]) => self.logic(left, right, true, scope),
            (op::CONDITIONAL, None, [condition, yes, no]) => match self.eval(condition, scope)? {
                Value::Bool(true) => self.eval(yes, scope),
                Value::Bool(false) => self.eval(no, scope),
                _ => Err(Fault::NoSuchOverload),
            },
            (op::NOT_STRICTLY_FALSE, None, [condition]) => match self.eval(condition, scope) {
                Err(Fault::TooExpensive) => Err(Fault::TooExpensive),
                result => Ok(Value::Bool(result != Ok(Value::Bool(false)))),
            },
            (op::OPT_SELECT, None, [operand, name]) => {
                let (operand, name) = (self.eval(operand, scope)?, self.eval(name, scope)?);
                operators::optional_index(&operand, &name)
            }
            (name, None, [operand]) if operators::is_unary(name) => {
                let operand = self.eval(operand, scope)?;
                operators::unary(name, operand)
            }
            (name, None, [left, right]) if operators::is_binary(name) => {
                let (left, right) = (self.eval(left, scope)?, self.eval(right, scope)?);
                operators::binary(name, left, right, self.budget, self.unordered)
            }
            _ => calls::call(self, call, scope),
        }
    }

    /// `&&` and `||`: an error on one side does not matter if the other side decides.
    fn logic(&mut self, left: &IdedExpr, right: &IdedExpr, decides: bool, scope: &Scope<'_>) -> Evaluated {
        let left = self.boolean(left, scope);
        if left == Ok(decides) || left == Err(Fault::TooExpensive) {
            return left.map(Value::Bool);
        }
        match (left, self.boolean(right, scope)) {
            (_, Err(Fault::TooExpensive)) => Err(Fault::TooExpensive),
            (_, Ok(right)) if right == decides => Ok(Value::Bool(decides)),
            (Ok(_), right) => right.map(Value::Bool),
            (Err(fault), _) => Err(fault),
        }
    }

    fn boolean(&mut self, expression: &IdedExpr, scope: &Scope<'_>) -> Result<bool, Fault> {
        match self.eval(expression, scope)? {
            Value::Bool(flag) => Ok(flag),
            _ => Err(Fault::NoSuchOverload),
        }
    }
}

fn field(value: &Value, name: &str) -> Option<Value> {
    let Value::Map(map) = value else { return None };
    map.map.get(&Key::String(Arc::new(name.to_owned()))).cloned()
}

fn literal(literal: &LiteralValue) -> Value {
    match literal {
        LiteralValue::Boolean(value) => Value::Bool(*value.inner()),
        LiteralValue::Int(value) => Value::Int(*value.inner()),
        LiteralValue::UInt(value) => Value::UInt(*value.inner()),
        LiteralValue::Double(value) => Value::Float(*value.inner()),
        LiteralValue::String(value) => text(value.inner()),
        LiteralValue::Bytes(value) => Value::Bytes(Arc::new(value.inner().to_vec())),
        LiteralValue::Null => Value::Null,
    }
}
