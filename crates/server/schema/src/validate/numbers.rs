//! Numbers against bounds. Whole numbers are compared as whole numbers, whatever the bound.

use serde_json::{Number, Value};

use super::outcome::{At, Outcome};
use crate::{Schema, Type, go_text};

/// Checks range, multiple, minimum and maximum.
pub(super) fn check(schema: &Schema, number: &Number, at: At<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    let kind = schema.kind().filter(|_| !schema.is_int_or_string());
    let format = schema.format().filter(|f| crate::formats::is_known(schema, f));
    let limits = Range { kind, format };
    limits.check(Bound::of(number), "Checked", at, &mut outcome);
    let checks = &schema.checks;
    let value = Value::Number(number.clone());
    if let Some(factor) = checks.multiple_of {
        let fits = limits.check(Bound::Float(factor), "MultipleOf", at, &mut outcome);
        multiple(&value, number, factor, fits, at, &mut outcome);
    }
    if let Some(minimum) = checks.minimum {
        let fits = limits.check(Bound::Float(minimum), "Minimum boundary", at, &mut outcome);
        let words = if checks.exclusive_minimum { "greater than" } else { "greater than or equal to" };
        let broken = |order: Option<std::cmp::Ordering>| match order {
            Some(std::cmp::Ordering::Less) => true,
            Some(std::cmp::Ordering::Equal) => checks.exclusive_minimum,
            Some(std::cmp::Ordering::Greater) | None => false,
        };
        bound(&value, number, minimum, fits, words, broken, at, &mut outcome);
    }
    if let Some(maximum) = checks.maximum {
        let fits = limits.check(Bound::Float(maximum), "Maximum boundary", at, &mut outcome);
        let words = if checks.exclusive_maximum { "less than" } else { "less than or equal to" };
        let broken = |order: Option<std::cmp::Ordering>| match order {
            Some(std::cmp::Ordering::Greater) => true,
            Some(std::cmp::Ordering::Equal) => checks.exclusive_maximum,
            Some(std::cmp::Ordering::Less) | None => false,
        };
        bound(&value, number, maximum, fits, words, broken, at, &mut outcome);
    }
    outcome.matches += 1;
    outcome
}

/// A number as the server holds it.
#[derive(Clone, Copy)]
enum Bound {
    Whole(i64),
    Float(f64),
}

impl Bound {
    fn of(number: &Number) -> Self {
        number.as_i64().map_or_else(|| Self::Float(number.as_f64().unwrap_or(f64::NAN)), Self::Whole)
    }
}

/// What numbers a type and format can hold.
struct Range<'a> {
    kind: Option<Type>,
    format: Option<&'a str>,
}

impl Range<'_> {
    fn holds(&self, value: Bound) -> bool {
        match (self.kind, self.format) {
            (Some(Type::Integer), Some("int32")) => whole(value).is_some_and(|v| i32::try_from(v).is_ok()),
            (Some(Type::Integer), _) => whole(value).is_some(),
            (_, Some("float")) => match value {
                Bound::Whole(_) => true,
                Bound::Float(value) => value.abs() <= f64::from(f32::MAX),
            },
            _ => true,
        }
    }

    fn check(&self, value: Bound, what: &str, at: At<'_>, outcome: &mut Outcome) -> bool {
        if self.holds(value) {
            return true;
        }
        let kind = self.kind.map_or("", Type::name);
        let text = match self.format {
            Some(format) => format!("{what} value must be of type {kind} with format {format} in {}", at.path),
            None => format!("{what} value must be of type {kind} (default format) in {}", at.path),
        };
        outcome.errors.push(at.of_the_whole(text));
        false
    }
}

fn whole(value: Bound) -> Option<i64> {
    match value {
        Bound::Whole(value) => Some(value),
        Bound::Float(value) if value.fract() == 0.0 && value.abs() < 9.2e18 => Some(truncate(value)),
        Bound::Float(_) => None,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "Go cuts the same way; Rust's cast stays at the limits")]
fn truncate(value: f64) -> i64 {
    value as i64
}

#[expect(clippy::too_many_arguments, reason = "two calls that differ in words and direction only")]
fn bound(
    value: &Value,
    number: &Number,
    limit: f64,
    fits: bool,
    words: &str,
    broken: impl Fn(Option<std::cmp::Ordering>) -> bool,
    at: At<'_>,
    outcome: &mut Outcome,
) {
    let (order, printed) = match Bound::of(number) {
        Bound::Whole(whole) if fits => {
            let limit = truncate(limit);
            (Some(whole.cmp(&limit)), limit.to_string())
        }
        Bound::Whole(_) | Bound::Float(_) => {
            let size = number.as_f64().unwrap_or(f64::NAN);
            (size.partial_cmp(&limit), go_text::float(limit))
        }
    };
    if broken(order) {
        outcome.errors.push(at.invalid(value, &format!("should be {words} {printed}")));
    }
}

fn multiple(value: &Value, number: &Number, factor: f64, fits: bool, at: At<'_>, outcome: &mut Outcome) {
    let (whole_factor, sound) = match Bound::of(number) {
        Bound::Whole(whole) if fits => {
            let factor = truncate(factor);
            (Some(factor), factor > 0 && whole % factor == 0)
        }
        Bound::Whole(_) | Bound::Float(_) => {
            let size = number.as_f64().unwrap_or(f64::NAN);
            let times = if factor < 1.0 { 1.0 / factor * size } else { size / factor };
            (None, factor > 0.0 && (times - times.round()).abs() < 1e-9)
        }
    };
    if sound {
        return;
    }
    let printed = whole_factor.map_or_else(|| go_text::float(factor), |f| f.to_string());
    if factor <= 0.0 || whole_factor.is_some_and(|f| f <= 0) {
        let text = format!("factor MultipleOf declared for {} must be positive: {printed}", at.path);
        let shown = whole_factor.map_or_else(|| Value::from(factor), Value::from);
        outcome.errors.push(crate::FieldError::invalid(at.full(), &shown, text));
    } else {
        outcome.errors.push(at.invalid(value, &format!("should be a multiple of {printed}")));
    }
}
