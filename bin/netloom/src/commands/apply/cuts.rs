//! Going on over cuts: what is waited for may cut the way to the server itself, for as long as nodes need.

use std::time::Duration;

use tokio::time::sleep;

use crate::{
    failure::{Exit, Failure},
    output::Output,
};

/// How long a server that cannot be reached is left alone: nothing tells when the way is there again.
const PAUSE: Duration = Duration::from_secs(1);

/// Looks again as long as nothing answers, which is told once for each reason; what a server says ends it. Whoever
/// waits sets the limit.
pub(super) async fn over_cuts<T>(
    output: Output,
    mut look: impl AsyncFnMut() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut told = None;
    loop {
        match look().await {
            Err(failure) if failure.exit == Exit::Usage => {
                if told.as_ref() != Some(&failure.message) {
                    output.note(&format!("{}; asking again", failure.message));
                    told = Some(failure.message);
                }
                sleep(PAUSE).await;
            }
            ended => return ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn silence_is_asked_again_and_an_answer_is_not() {
        let mut answers = vec![Ok(1), Err(Failure::failed("no")), Err(Failure::usage("cannot reach it"))];
        let mut ask = async || answers.pop().expect("one more");
        assert_eq!(over_cuts(Output::new(true), &mut ask).await, Err(Failure::failed("no")));
        assert_eq!(over_cuts(Output::new(true), &mut ask).await, Ok(1));
    }
}
