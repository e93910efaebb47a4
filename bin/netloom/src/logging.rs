//! What processes that run on tell about themselves, on standard error.

use std::io;

use tracing_subscriber::EnvFilter;

/// The environment variable that says how much is logged.
const LOG_VARIABLE: &str = "NETLOOM_LOG";
const LOG_DEFAULT: &str = "info";

/// Begins to log.
pub(crate) fn start() {
    let filter = EnvFilter::try_from_env(LOG_VARIABLE).unwrap_or_else(|_| EnvFilter::new(LOG_DEFAULT));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::IsTerminal::is_terminal(&io::stderr()))
        .init();
}
