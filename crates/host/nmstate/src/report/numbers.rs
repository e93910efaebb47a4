//! Sets of numbers as people write them, `1-9,12`, and names that end in a number.

use std::collections::BTreeSet;

/// A set as text: runs as `first-last`, in rising order.
pub(super) fn text(numbers: &BTreeSet<u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let run = |&(first, last): &(u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    runs.iter().map(run).collect::<Vec<_>>().join(",")
}

/// Reads such a text; none when it is not one, or has more than `most` numbers.
pub(super) fn parse(text: &str, most: usize) -> Option<BTreeSet<u32>> {
    let mut numbers = BTreeSet::new();
    for run in text.split(',') {
        let (first, last) = run.split_once('-').unwrap_or((run, run));
        let (first, last) = (number(first)?, number(last)?);
        let len = usize::try_from(last.checked_sub(first)?).ok()?;
        if len >= most.checked_sub(numbers.len())? {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

/// A name as what stands before its number, and the number: `bond0.12` is `bond0.` and 12.
pub(super) fn split(name: &str) -> Option<(&str, u32)> {
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    // Leading zeros belong to the text before: the number is printed without.
    (1..=digits).rev().find_map(|len| {
        let (before, digits) = name.split_at(name.len() - len);
        Some((before, number(digits)?))
    })
}

fn number(digits: &str) -> Option<u32> {
    let plain = digits.bytes().all(|b| b.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    digits.parse().ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn runs_are_written_with_their_ends() {
        assert_eq!(text(&BTreeSet::from([1, 2, 3, 5, 8, 9, u32::MAX])), "1-3,5,8-9,4294967295");
        assert_eq!(text(&BTreeSet::new()), "");
        assert_eq!(parse("1-3,5", 4), Some(BTreeSet::from([1, 2, 3, 5])));
        for wrong in ["", "3-1", "a", "1-", "01", "1-5", "-1", "0-4294967295"] {
            assert_eq!(parse(wrong, 4), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_name_ends_in_a_number_without_leading_zeros() {
        let table =
            [("bond0.12", Some(("bond0.", 12))), ("v007", Some(("v00", 7))), ("v0", Some(("v", 0))), ("lo", None)];
        for (name, wanted) in table {
            assert_eq!(split(name), wanted, "{name}");
        }
        let (before, number) = split("x99999999999").unwrap();
        assert_eq!(format!("{before}{number}"), "x99999999999", "a long number is cut where it fits");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn what_is_written_is_read(numbers in prop::collection::btree_set(0u32..40, 1..30)) {
            prop_assert_eq!(parse(&text(&numbers), 64), Some(numbers));
        }
    }
}
