//! How long tests wait for what must come.
//!
//! Such a time only ends a wait that has failed; nobody waits for it otherwise, and it says nothing about how fast
//! anything should be. On a machine that is busy with other things too, the same takes several times as long: with
//! `NETLOOM_PATIENCE=N`, N times as long is waited.

use std::{env, sync::LazyLock, time::Duration};

static TIME_LIMIT: LazyLock<u32> = LazyLock::new(|| {
    let given = env::var("NETLOOM_PATIENCE").ok().filter(|text| !text.is_empty());
    given.map_or(1, |text| parse(&text))
});

/// How long to wait on this machine for what comes within this time on one of its own.
pub fn stretched(time: Duration) -> Duration {
    time * *TIME_LIMIT
}

fn parse(text: &str) -> u32 {
    match text.parse() {
        Ok(times @ 1..) => times,
        _ => panic!("NETLOOM_PATIENCE is {text:?}; it is a whole number, at least 1"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_times_it_is() {
        assert_eq!(parse("6"), 6);
    }

    #[test]
    #[should_panic(expected = "at least 1")]
    fn nobody_waits_for_nothing() {
        parse("0");
    }
}
