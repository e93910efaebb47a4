//! Who may do what: roles and bindings of the store, applied to requests.
//!
//! [`Book`] and what is below it are pure. [`Access`] keeps a book in step with the store: before
//! each decision it takes in what was written since the last one, so whoever was notified that a binding
//! is stored can use it at once.

mod book;
mod escalation;
mod rule;

use std::{
    pin::pin,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use netloom_admission::User;
use netloom_store::{Event, EventKind, Range, ReadError, Revision, Store, Watch, WatchError};
use serde_json::Value;

pub use book::{Book, Decision, MASTERS, RoleRef, Sort};
pub use escalation::Grant;
pub use rule::{Asked, Rule};

use crate::request::RequestInfo;

/// The group of roles and bindings.
pub const GROUP: &str = "rbac.authorization.k8s.io";

/// How often a watch that has more to say is asked again before a decision is made without it. One
/// turn yields up to 64 events, so this is far beyond what a rebuild would cost.
const MOST_TURNS: usize = 64;

/// Judges writes by what is in them, before they are stored.
pub trait WriteGuard: Send + Sync {
    /// Whether a user may do something that only shows while a request is being carried out.
    fn decide(&self, user: &User, asked: &Asked) -> Decision;

    /// Why a write is refused, or nothing. `resource` is the group and the plural name.
    fn refuse(
        &self,
        user: &User,
        resource: (&str, &str),
        namespace: Option<&str>,
        old: Option<&Value>,
        new: &Value,
    ) -> Option<String>;
}

/// The roles and bindings of a store, always as they are now.
#[derive(Debug)]
pub struct Access {
    store: Store,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    book: Book,
    watches: Vec<(Sort, Watch)>,
}

impl Access {
    /// Reads every role and binding.
    pub fn open(store: Store) -> Result<Self, ReadError> {
        let state = Mutex::new(load(&store)?);
        Ok(Self { store, state })
    }

    /// Whether a user may do something.
    pub fn decide(&self, user: &User, asked: &Asked) -> Decision {
        if user.groups.iter().any(|group| group == MASTERS) {
            return Decision::Allowed(String::new());
        }
        self.current().book.decide(user, asked)
    }

    /// Every rule that a user has in a namespace.
    pub fn rules_for(&self, user: &User, namespace: &str) -> Vec<Rule> {
        self.current().book.rules_for(user, namespace)
    }

    /// Every role that gathers others, and the rules that it has by that.
    pub fn gathered(&self) -> Vec<(String, Vec<Rule>)> {
        self.current().book.gathered().map(|(name, rules)| (name.to_owned(), rules.to_vec())).collect()
    }

    /// The book, with everything in it that is stored by now.
    fn current(&self) -> MutexGuard<'_, State> {
        // A panic while the lock is held would leave a whole book behind: entries are swapped in.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = take_in(&mut state, self.store.revision()) {
            match load(&self.store) {
                Ok(fresh) => *state = fresh,
                // Decisions go on with what is known; the store that cannot be read refuses the rest.
                Err(reading) => tracing::error!(%error, %reading, "access rules could not be read again"),
            }
        }
        state
    }
}

impl WriteGuard for Access {
    fn decide(&self, user: &User, asked: &Asked) -> Decision {
        Self::decide(self, user, asked)
    }

    fn refuse(
        &self,
        user: &User,
        (group, plural): (&str, &str),
        namespace: Option<&str>,
        old: Option<&Value>,
        new: &Value,
    ) -> Option<String> {
        let sort = Sort::ALL.into_iter().find(|sort| group == GROUP && sort.plural() == plural)?;
        let grant = Grant { user, sort, namespace: namespace.unwrap_or_default(), old, new };
        grant.refusal(&self.current().book)
    }
}

/// What a request about a resource asks for.
pub fn asked(info: &RequestInfo) -> Asked {
    Asked::Resource {
        verb: info.verb.word().to_owned(),
        group: info.group.clone(),
        resource: info.resource.clone(),
        subresource: info.subresource.clone().unwrap_or_default(),
        namespace: info.rule_namespace().unwrap_or_default().to_owned(),
        name: info.rule_name().unwrap_or_default(),
    }
}

/// The answer to somebody who may not.
pub fn refusal(user: &User, asked: &Asked) -> String {
    let name = &user.name;
    match asked {
        Asked::Path { verb, path } => format!("User {name:?} cannot {verb} path {path:?}"),
        Asked::Resource { verb, group, resource, subresource, namespace, .. } => {
            let separator = if subresource.is_empty() { "" } else { "/" };
            let resource = format!("{resource}{separator}{subresource}");
            let place = match namespace.as_str() {
                "" => "at the cluster scope".to_owned(),
                namespace => format!("in the namespace {namespace:?}"),
            };
            format!("User {name:?} cannot {verb} resource {resource:?} in API group {group:?} {place}")
        }
    }
}

fn load(store: &Store) -> Result<State, ReadError> {
    let mut state = State { book: Book::default(), watches: Vec::new() };
    for sort in Sort::ALL {
        let range = Range::resource(&format!("{GROUP}/{}", sort.plural()));
        let page = store.list(&range, None, None, None)?;
        for (key, object) in &page.items {
            put(&mut state.book, sort, key.name(), &object.bytes);
        }
        state.watches.push((sort, store.watch(range, page.revision)?));
    }
    Ok(state)
}

/// Takes in everything up to a revision.
fn take_in(state: &mut State, newest: Revision) -> Result<(), WatchError> {
    let State { book, watches } = state;
    for (sort, watch) in watches {
        let mut write_slots = 0;
        loop {
            let next = pin!(watch.next()).poll(&mut Context::from_waker(Waker::noop()));
            match next {
                Poll::Ready(event) => apply(book, *sort, &*event?),
                Poll::Pending if watch.progress() < newest && write_slots < MOST_TURNS => write_slots += 1,
                Poll::Pending => break,
            }
        }
    }
    Ok(())
}

fn apply(book: &mut Book, sort: Sort, event: &Event) {
    match &event.kind {
        EventKind::Put { object, .. } => put(book, sort, event.key.name(), &object.bytes),
        EventKind::Delete { .. } => book.remove(sort, event.key.namespace(), event.key.name()),
    }
}

fn put(book: &mut Book, sort: Sort, name: &str, bytes: &[u8]) {
    match serde_json::from_slice(bytes) {
        Ok(object) => book.put(sort, &object),
        Err(error) => tracing::error!(name, %error, "a stored role or binding cannot be read"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_have_the_words_that_clients_know() {
        let user = User { name: "ann".into(), ..User::default() };
        let path = Asked::Path { verb: "get".into(), path: "/metrics".into() };
        assert_eq!(refusal(&user, &path), r#"User "ann" cannot get path "/metrics""#);
        let mut resource = Asked::Resource {
            verb: "update".into(),
            group: "apps".into(),
            resource: "deployments".into(),
            subresource: "scale".into(),
            namespace: "a".into(),
            name: "x".into(),
        };
        let expected =
            r#"User "ann" cannot update resource "deployments/scale" in API group "apps" in the namespace "a""#;
        assert_eq!(refusal(&user, &resource), expected);
        if let Asked::Resource { namespace, subresource, .. } = &mut resource {
            namespace.clear();
            subresource.clear();
        }
        assert!(refusal(&user, &resource).ends_with(r#""deployments" in API group "apps" at the cluster scope"#));
    }
}
