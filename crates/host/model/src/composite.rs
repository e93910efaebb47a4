//! A host of several media: its kernel, its files, its daemons.
//!
//! A step of any medium is planned, rehearsed on the simulated host, journalled, undone and verified in the same way, by
//! what the picture shows. So a part has only to read what its medium has and to change it, and a new one (a routing
//! daemon) is put beside the others without any of them knowing.

use std::{fmt::Debug, time::Duration};

use crate::{Engine, EngineError, Medium, Observed, Scope, Step, StepError};

/// One medium of a host beside its kernel.
pub trait Part: Debug + Send {
    /// Whose steps this part carries out.
    fn medium(&self) -> Medium;

    /// Adds what is configured there to the picture.
    fn read(&mut self, scope: Scope, observed: &mut Observed) -> Result<(), EngineError>;

    /// Whether a step of the kernel comes only once this part has heard of what the kernel did before it.
    fn is_ahead_of(&self, _: &Step) -> bool {
        false
    }

    /// Told of steps before the kernel carries them out; waits where this part [`is_ahead_of`](Self::is_ahead_of) the first.
    fn before(&mut self, _: &[Step]) {}

    /// Carries out steps in order and says for each whether it worked, as [`Engine::execute`] does.
    fn apply(&mut self, steps: &[Step]) -> Result<Vec<Result<(), StepError>>, EngineError>;
}

/// A kernel and the parts beside it.
#[derive(Debug)]
pub struct Composite<K> {
    /// The kernel, which also tells of changes.
    pub kernel: K,
    parts: Vec<Box<dyn Part>>,
}

impl<K> Composite<K> {
    /// Puts parts beside a kernel, one for each medium.
    pub fn new(kernel: K, parts: Vec<Box<dyn Part>>) -> Self {
        Self { kernel, parts }
    }
}

impl<K: Engine> Engine for Composite<K> {
    fn observe(&mut self, scope: Scope) -> Result<Observed, EngineError> {
        let mut observed = self.kernel.observe(scope)?;
        self.parts.iter_mut().try_for_each(|part| part.read(scope, &mut observed))?;
        Ok(observed)
    }

    /// Steps keep their order across media; those of one medium that follow each other go there together.
    fn execute(&mut self, steps: &[Step]) -> Result<Vec<Result<(), StepError>>, EngineError> {
        let mut results = Vec::with_capacity(steps.len());
        let parts = &self.parts;
        let is_ahead = |step: &Step| step.medium() == Medium::Kernel && parts.iter().any(|part| part.is_ahead_of(step));
        let together = |one: &Step, next: &Step| one.medium() == next.medium() && (is_ahead(one) || !is_ahead(next));
        let runs: Vec<&[Step]> = steps.chunk_by(together).collect();
        for run in runs {
            let medium = run[0].medium();
            if medium == Medium::Kernel {
                self.parts.iter_mut().for_each(|part| part.before(run));
            }
            results.extend(match self.parts.iter_mut().find(|part| part.medium() == medium) {
                Some(part) => part.apply(run)?,
                None if medium == Medium::Kernel => self.kernel.execute(run)?,
                None => {
                    let none = StepError::with(StepError::EOPNOTSUPP, &format!("this host has no {medium}"));
                    vec![Err(none); run.len()]
                }
            });
        }
        Ok(results)
    }

    fn wait_for_change(&mut self, at_most: Duration) -> Result<bool, EngineError> {
        self.kernel.wait_for_change(at_most)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use crate::{Resolver, Setting};

    use super::*;

    /// What was carried out, by whom.
    type Log = Arc<Mutex<Vec<(Medium, usize)>>>;

    /// A medium that hears of the kernel before links are put down.
    #[derive(Debug)]
    struct Listener(Log);

    impl Part for Listener {
        fn medium(&self) -> Medium {
            Medium::Daemon
        }

        fn read(&mut self, _: Scope, _: &mut Observed) -> Result<(), EngineError> {
            Ok(())
        }

        fn is_ahead_of(&self, step: &Step) -> bool {
            matches!(step, Step::SetUp { up: false, .. })
        }

        fn before(&mut self, steps: &[Step]) {
            self.0.lock().unwrap().push((Medium::Daemon, steps.len()));
        }

        fn apply(&mut self, steps: &[Step]) -> Result<Vec<Result<(), StepError>>, EngineError> {
            Ok(vec![Ok(()); steps.len()])
        }
    }

    /// A medium that writes down how many steps it is given at once.
    #[derive(Debug)]
    struct Scribe(Medium, Log);

    impl Part for Scribe {
        fn medium(&self) -> Medium {
            self.0
        }

        fn read(&mut self, _: Scope, observed: &mut Observed) -> Result<(), EngineError> {
            let before = observed.settings.hostname_config().to_owned();
            observed.host.settings.set(Setting::HostnameConfig(format!("{before} {}", self.0)));
            Ok(())
        }

        fn apply(&mut self, steps: &[Step]) -> Result<Vec<Result<(), StepError>>, EngineError> {
            self.1.lock().unwrap().push((self.0, steps.len()));
            Ok(vec![Ok(()); steps.len()])
        }
    }

    impl Engine for Scribe {
        fn observe(&mut self, _: Scope) -> Result<Observed, EngineError> {
            Ok(Observed::default())
        }

        fn execute(&mut self, steps: &[Step]) -> Result<Vec<Result<(), StepError>>, EngineError> {
            self.apply(steps)
        }

        fn wait_for_change(&mut self, _: Duration) -> Result<bool, EngineError> {
            Ok(false)
        }
    }

    fn host(parts: &[Medium]) -> (Composite<Scribe>, Log) {
        let log = Log::default();
        let part = |medium: &Medium| Box::new(Scribe(*medium, Arc::clone(&log))) as Box<dyn Part>;
        let parts = parts.iter().map(part).collect();
        (Composite::new(Scribe(Medium::Kernel, Arc::clone(&log)), parts), log)
    }

    fn steps() -> Vec<Step> {
        let up = |up| Step::SetUp { name: "eth0".parse().unwrap(), up };
        let resolver = Step::Set(Setting::Resolver(Resolver::default()));
        vec![up(true), up(false), resolver, up(true)]
    }

    #[test]
    fn each_step_goes_to_its_medium_and_none_overtakes_another() {
        let (mut host, log) = host(&[Medium::File, Medium::Daemon]);
        assert_eq!(host.execute(&steps()).unwrap(), vec![Ok(()); 4]);
        assert_eq!(*log.lock().unwrap(), [(Medium::Kernel, 2), (Medium::File, 1), (Medium::Kernel, 1)]);
        assert_eq!(host.observe(Scope::default()).unwrap().settings.hostname_config(), " file daemon");
    }

    #[test]
    fn a_part_that_is_ahead_of_a_step_is_told_of_it_when_all_before_is_done() {
        let log = Log::default();
        let parts: Vec<Box<dyn Part>> = vec![Box::new(Listener(Arc::clone(&log)))];
        let mut host = Composite::new(Scribe(Medium::Kernel, Arc::clone(&log)), parts);
        let up = |up| Step::SetUp { name: "eth0".parse().unwrap(), up };
        host.execute(&[up(true), up(true), up(false), up(false), up(true)]).unwrap();
        let (kernel, told) = (|steps| (Medium::Kernel, steps), |steps| (Medium::Daemon, steps));
        assert_eq!(*log.lock().unwrap(), [told(2), kernel(2), told(3), kernel(3)]);
    }

    #[test]
    fn a_step_of_a_medium_that_the_host_has_not_is_refused_and_the_others_are_not() {
        let (mut host, _) = host(&[]);
        let answers = host.execute(&steps()).unwrap();
        let refused: Vec<_> = answers.iter().map(|answer| answer.as_ref().err().map(ToString::to_string)).collect();
        assert!(refused[2].as_ref().unwrap().starts_with("this host has no file"), "{refused:?}");
        assert_eq!(refused.iter().flatten().count(), 1);
    }
}
