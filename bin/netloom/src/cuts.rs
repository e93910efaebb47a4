//! Going on over cuts: what is waited for may cut the way to the server itself, for as long as nodes need.

use std::{
    cell::{Cell, RefCell},
    time::Duration,
};

use tokio::time::{sleep, timeout};

use crate::{failure::Failure, output::Output};

/// How long a server that cannot be reached is left alone: nothing tells when the way is there again.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a look lasts. Of packets that are lost on the way nobody is notified, so silence does not say that there is
/// nothing to hear.
const LOOK: Duration = Duration::from_secs(30);

/// Whether a server is heard.
pub(crate) struct Cuts {
    output: Output,
    look: Duration,
    heard: Cell<bool>,
    /// Why nothing was heard since.
    why: RefCell<Option<String>>,
}

impl Cuts {
    pub(crate) fn new(output: Output) -> Self {
        Self { output, look: LOOK, heard: Cell::new(false), why: RefCell::new(None) }
    }

    /// Something came from the server.
    pub(crate) fn heard(&self) {
        self.heard.set(true);
        self.why.take();
    }

    /// Looks again as long as nothing answers, which is reported, each reason when it is new; any other answer ends it.
    /// Whoever waits sets the limit, and a look says by [`Self::heard`] that it hears something, at its begin at least.
    pub(crate) async fn go_on<T>(&self, mut look: impl AsyncFnMut() -> Result<T, Failure>) -> Result<T, Failure> {
        loop {
            self.heard.set(false);
            match timeout(self.look, look()).await {
                Ok(Err(failure)) if failure.passing => {
                    self.cut(failure.message);
                    sleep(PAUSE).await;
                }
                Ok(ended) => return ended,
                Err(_) if self.heard.get() => {}
                Err(_) => self.cut(format!("the server sent nothing for {} seconds", self.look.as_secs())),
            }
        }
    }

    fn cut(&self, why: String) {
        if self.why.borrow().as_ref() != Some(&why) {
            self.output.note(&format!("{why}; asking again"));
            self.why.replace(Some(why));
        }
    }

    /// What there is to say when the time is over and nothing was heard at the end.
    pub(crate) fn ending(&self) -> Option<String> {
        self.why.borrow().as_ref().map(|why| format!("nothing was heard at the end: {why}"))
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    /// What is reported at the end after these answers; none is silence.
    async fn ending_after(mut answers: Vec<Option<Failure>>, last: &str) -> Option<String> {
        let cuts = Cuts { look: Duration::from_millis(1), ..Cuts::new(Output::new(true)) };
        answers.reverse();
        let ask = async || match answers.pop() {
            Some(Some(failure)) => Err::<(), _>(failure),
            Some(None) => pending().await,
            None => Err(Failure::usage(last)),
        };
        assert_eq!(cuts.go_on(ask).await, Err(Failure::usage(last)));
        cuts.ending()
    }

    #[tokio::test]
    async fn what_does_not_answer_is_asked_again() {
        assert_eq!(ending_after(vec![], "who are you?").await, None);
        let ending = ending_after(vec![None, Some(Failure::passing("cannot reach it"))], "who are you?").await;
        assert_eq!(ending.as_deref(), Some("nothing was heard at the end: cannot reach it"));
        let ending = ending_after(vec![Some(Failure::passing("cannot reach it")), None], "who are you?").await;
        assert_eq!(ending.as_deref(), Some("nothing was heard at the end: the server sent nothing for 0 seconds"));
    }

    #[tokio::test]
    async fn a_quiet_server_that_was_heard_is_no_cut() {
        let cuts = Cuts { look: Duration::from_millis(1), ..Cuts::new(Output::new(true)) };
        let mut looks = 0;
        let look = async || {
            looks += 1;
            cuts.heard();
            if looks < 3 { pending().await } else { Ok(()) }
        };
        assert_eq!(cuts.go_on(look).await, Ok(()));
        assert_eq!((looks, cuts.ending()), (3, None));
    }
}
