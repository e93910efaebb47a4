//! Loops: `all`, `exists`, `map`, `filter` and their forms with two variables.

use std::collections::HashMap;

use kube_cel::cel::{
    IdedExpr, Value,
    common::ast::{CallExpr, ComprehensionExpr, Expr, operators as op},
};

use crate::{
    budget::Fault,
    eval::{Evaluated, Evaluator, Scope},
    operators,
    values::{list, map},
};

/// What a loop goes over: items of lists, keys of maps.
fn items(range: &Value) -> Result<Vec<Value>, Fault> {
    match range {
        Value::List(items) => Ok(items.to_vec()),
        Value::Map(map) => {
            let mut keys: Vec<Value> = map.map.keys().map(operators::key_value).collect();
            // Maps have no order; one that is always the same makes messages repeatable.
            keys.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
            Ok(keys)
        }
        _ => Err(Fault::NoSuchOverload),
    }
}

/// Runs a loop as the parser spells it out.
pub(crate) fn run(evaluator: &mut Evaluator<'_>, loop_: &ComprehensionExpr, scope: &Scope<'_>) -> Evaluated {
    let range = evaluator.eval(&loop_.iter_range, scope)?;
    let items = items(&range)?;
    let start = evaluator.eval(&loop_.accu_init, scope)?;
    if let Value::List(collected) = &start {
        return collect(evaluator, loop_, &items, collected.to_vec(), scope);
    }
    let mut result = start;
    for item in &items {
        let with_result = Scope { parent: Some(scope), name: &loop_.accu_var, value: &result };
        if evaluator.eval(&loop_.loop_cond, &with_result)? != Value::Bool(true) {
            break;
        }
        let with_item = Scope { parent: Some(&with_result), name: &loop_.iter_var, value: item };
        // `all` and `exists` go on over errors: a later item may decide.
        let next = evaluator.eval(&loop_.loop_step, &with_item);
        result = match next {
            Ok(next) => next,
            Err(Fault::TooExpensive) => return Err(Fault::TooExpensive),
            Err(fault) => return undecided(evaluator, loop_, &items, fault, scope),
        };
    }
    let with_result = Scope { parent: Some(scope), name: &loop_.accu_var, value: &result };
    evaluator.eval(&loop_.result, &with_result)
}

/// An item had no answer. Of `all` and `exists`, another item may still decide; else the fault stands.
fn undecided(
    evaluator: &mut Evaluator<'_>,
    loop_: &ComprehensionExpr,
    items: &[Value],
    fault: Fault,
    scope: &Scope<'_>,
) -> Evaluated {
    let (decides, predicate) = match &loop_.loop_step.expr {
        Expr::Call(CallExpr { func_name, args, .. }) if args.len() == 2 => match func_name.as_str() {
            op::LOGICAL_AND => (false, &args[1]),
            op::LOGICAL_OR => (true, &args[1]),
            _ => return Err(fault),
        },
        _ => return Err(fault),
    };
    for item in items {
        let with_item = Scope { parent: Some(scope), name: &loop_.iter_var, value: item };
        match evaluator.eval(predicate, &with_item) {
            Ok(Value::Bool(found)) if found == decides => return Ok(Value::Bool(decides)),
            Err(Fault::TooExpensive) => return Err(Fault::TooExpensive),
            Ok(_) | Err(_) => {}
        }
    }
    Err(fault)
}

/// `map` and `filter`: what the parser writes as adding one list to another is pushed onto one.
fn collect(
    evaluator: &mut Evaluator<'_>,
    loop_: &ComprehensionExpr,
    items: &[Value],
    mut collected: Vec<Value>,
    scope: &Scope<'_>,
) -> Evaluated {
    let (condition, added) = match &loop_.loop_step.expr {
        Expr::Call(CallExpr { func_name, args, .. }) if func_name == op::CONDITIONAL && args.len() == 3 => {
            (Some(&args[0]), &args[1])
        }
        _ => (None, &loop_.loop_step),
    };
    let elements = match &added.expr {
        Expr::Call(CallExpr { func_name, args, .. }) if func_name == op::ADD => match args.as_slice() {
            [_, IdedExpr { expr: Expr::List(elements), .. }] => &elements.elements,
            _ => return Err(Fault::NoSuchOverload),
        },
        _ => return Err(Fault::NoSuchOverload),
    };
    for item in items {
        let with_item = Scope { parent: Some(scope), name: &loop_.iter_var, value: item };
        let taken = match condition {
            Some(condition) => evaluator.eval(condition, &with_item)?,
            None => Value::Bool(true),
        };
        match taken {
            Value::Bool(true) => {
                for element in elements {
                    collected.push(evaluator.eval(element, &with_item)?);
                }
            }
            Value::Bool(false) => {}
            _ => return Err(Fault::NoSuchOverload),
        }
    }
    Ok(list(collected))
}

/// Whether a call is a loop with two variables: index and item of a list, or key and value of a map.
pub(crate) fn is_two_variable(call: &CallExpr) -> bool {
    let named = |i: usize| matches!(call.args.get(i).map(|a| &a.expr), Some(Expr::Ident(_)));
    let counts = match call.func_name.as_str() {
        "all" | "exists" | "existsOne" | "exists_one" => call.args.len() == 3,
        "transformList" | "transformMap" | "transformMapEntry" => matches!(call.args.len(), 3 | 4),
        _ => false,
    };
    call.target.is_some() && counts && named(0) && named(1)
}

/// Runs a loop with two variables.
pub(crate) fn run_two(evaluator: &mut Evaluator<'_>, call: &CallExpr, scope: &Scope<'_>) -> Evaluated {
    let target = call.target.as_deref().ok_or(Fault::NoSuchOverload)?;
    let [IdedExpr { expr: Expr::Ident(first), .. }, IdedExpr { expr: Expr::Ident(second), .. }, rest @ ..] =
        call.args.as_slice()
    else {
        return Err(Fault::NoSuchOverload);
    };
    let pairs = pairs(&evaluator.eval(target, scope)?)?;
    let (condition, body) = match rest {
        [body] => (None, body),
        [condition, body] => (Some(condition), body),
        _ => return Err(Fault::NoSuchOverload),
    };
    let mut results = Vec::new();
    for (a, b) in &pairs {
        let outer = Scope { parent: Some(scope), name: first, value: a };
        let inner = Scope { parent: Some(&outer), name: second, value: b };
        if let Some(condition) = condition
            && evaluator.eval(condition, &inner)? != Value::Bool(true)
        {
            continue;
        }
        results.push((a, evaluator.eval(body, &inner)));
        if matches!(results.last(), Some((_, Err(Fault::TooExpensive)))) {
            return Err(Fault::TooExpensive);
        }
    }
    match call.func_name.as_str() {
        "all" => decide(results, false),
        "exists" => decide(results, true),
        "existsOne" | "exists_one" => {
            let mut count = 0;
            for (_, result) in results {
                count += usize::from(result? == Value::Bool(true));
            }
            Ok(Value::Bool(count == 1))
        }
        "transformList" => Ok(list(results.into_iter().map(|(_, value)| value).collect::<Result<_, _>>()?)),
        _ => transform(results, call.func_name == "transformMapEntry"),
    }
}

fn pairs(range: &Value) -> Result<Vec<(Value, Value)>, Fault> {
    match range {
        Value::List(items) => Ok((0..).zip(items.iter()).map(|(i, item)| (Value::Int(i), item.clone())).collect()),
        Value::Map(map) => {
            let keys = items(range)?;
            let value = |key: &Value| operators::key(key).and_then(|key| map.map.get(&key)).cloned();
            Ok(keys.into_iter().filter_map(|key| value(&key).map(|value| (key, value))).collect())
        }
        _ => Err(Fault::NoSuchOverload),
    }
}

fn decide(results: Vec<(&Value, Evaluated)>, decides: bool) -> Evaluated {
    let mut fault = None;
    for (_, result) in results {
        match result {
            Ok(Value::Bool(found)) if found == decides => return Ok(Value::Bool(decides)),
            Ok(Value::Bool(_)) => {}
            Ok(_) => fault = Some(Fault::NoSuchOverload),
            Err(found) => fault = Some(found),
        }
    }
    fault.map_or(Ok(Value::Bool(!decides)), Err)
}

fn transform(results: Vec<(&Value, Evaluated)>, whole_entries: bool) -> Evaluated {
    let mut entries = HashMap::new();
    for (key, value) in results {
        let value = value?;
        if !whole_entries {
            entries.insert(operators::key(key).ok_or(Fault::NoSuchOverload)?, value);
            continue;
        }
        let Value::Map(one) = value else { return Err(Fault::NoSuchOverload) };
        for (key, value) in one.map.iter() {
            if entries.insert(key.clone(), value.clone()).is_some() {
                return Err(Fault::other("insert failed: key already exists"));
            }
        }
    }
    Ok(map(entries))
}
