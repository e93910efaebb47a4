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
/// What one says that a person watches, who is told everything else in other words.
#[cfg(feature = "cluster")]
const WATCHED: &str = "warn";

/// Begins to log.
pub(crate) fn start() -> Result<(), Failure> {
    start_at(ALONE)
}

/// Begins to log what a person needs who is told how it goes anyway.
#[cfg(feature = "cluster")]
pub(crate) fn start_beside_words() -> Result<(), Failure> {
    start_at(WATCHED)
}

fn start_at(unsaid: &str) -> Result<(), Failure> {
    tracing_subscriber::fmt()
        .with_env_filter(filter(env::var(LOG_VARIABLE), unsaid)?)
        .with_writer(io::stderr)
        .with_ansi(io::IsTerminal::is_terminal(&io::stderr()))
        .init();
    Ok(())
}

/// What is logged. A wish that is not understood is refused: whoever has it would look for lines that
/// never come.
fn filter(said: Result<String, VarError>, unsaid: &str) -> Result<EnvFilter, Failure> {
    let refused = |said: &str, why: &dyn Display| {
        Failure::usage(format_args!(
            "{LOG_VARIABLE}={said:?} is not understood: {why}; name a level (error, warn, info, debug, trace), or a \
             part of the program with its level, such as netloom_apiserver=debug"
        ))
    };
    match said {
        Err(VarError::NotPresent) => Ok(EnvFilter::new(unsaid)),
        Ok(said) if said.is_empty() => Ok(EnvFilter::new(unsaid)),
        Ok(said) => EnvFilter::try_new(&said).map_err(|why| refused(&said, &why)),
        Err(VarError::NotUnicode(said)) => Err(refused(&said.to_string_lossy(), &"it is not UTF-8")),
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
