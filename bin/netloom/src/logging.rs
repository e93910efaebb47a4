//! What processes that run on tell about themselves, on standard error.

use std::{
    env::{self, VarError},
    fmt::Display,
    io,
};

use tracing_subscriber::EnvFilter;

use crate::failure::Failure;

/// The environment variable that says how much is logged.
const LOG_VARIABLE: &str = "NETLOOM_LOG";
/// What a process says that has nobody in front of it.
const ALONE: &str = "info";
/// What one says that a person watches, who is shown everything else in other words.
#[cfg(feature = "cluster")]
const WATCHED: &str = "warn";

/// Begins to log.
pub(crate) fn start() -> Result<(), Failure> {
    start_at(ALONE)
}

/// Begins to log what a person needs who is shown the progress anyway.
#[cfg(feature = "cluster")]
pub(crate) fn start_beside_words() -> Result<(), Failure> {
    start_at(WATCHED)
}

fn start_at(unspecified: &str) -> Result<(), Failure> {
    tracing_subscriber::fmt()
        .with_env_filter(filter(env::var(LOG_VARIABLE), unspecified)?)
        .with_writer(io::stderr)
        .with_ansi(io::IsTerminal::is_terminal(&io::stderr()))
        .init();
    Ok(())
}

/// What is logged. A level that is not understood is refused: whoever has it would look for lines that
/// never come.
fn filter(given: Result<String, VarError>, unspecified: &str) -> Result<EnvFilter, Failure> {
    let refused = |given: &str, why: &dyn Display| {
        Failure::usage(format_args!(
            "{LOG_VARIABLE}={given:?} is not understood: {why}; name a level (error, warn, info, debug, trace), or a \
             part of the program with its level, such as netloom_apiserver=debug"
        ))
    };
    match given {
        Err(VarError::NotPresent) => Ok(EnvFilter::new(unspecified)),
        Ok(given) if given.is_empty() => Ok(EnvFilter::new(unspecified)),
        Ok(given) => EnvFilter::try_new(&given).map_err(|why| refused(&given, &why)),
        Err(VarError::NotUnicode(given)) => Err(refused(&given.to_string_lossy(), &"it is not UTF-8")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Exit;

    #[test]
    fn a_level_that_is_none_is_refused() {
        for good in ["", "debug", "netloom_apiserver=debug,info", "off"] {
            assert!(filter(Ok(good.to_owned()), ALONE).is_ok(), "{good}");
        }
        assert_eq!(filter(Err(VarError::NotPresent), ALONE).unwrap().to_string(), "info");
        for bad in ["netloom_apiserver=loud", "a=b=c"] {
            let refused = filter(Ok(bad.to_owned()), ALONE).unwrap_err();
            assert_eq!(refused.exit, Exit::Usage);
            assert!(refused.message.starts_with(&format!("NETLOOM_LOG={bad:?} is not understood: ")), "{refused:?}");
        }
    }
}
