//! Keeps the webhook's own certificate, and tells API servers to believe it.
//!
//! Every controller signs its own certificate with the authority that the Secret holds, in time before the one it
//! has ends. Only the leader writes: the Secret when there is none or its authority comes to its end, and the
//! configurations of the webhook when they do not say that authority. Before an authority is used that they do not
//! name yet they are brought to name both, so there is no moment in which API servers do not believe the webhook.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use futures_util::{Stream, StreamExt as _, stream::BoxStream};
use jiff::{SignedDuration, Timestamp};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, GroupVersionKind, PostParams},
    runtime::{WatchStreamExt as _, watcher},
};
use netloom_client::read;
use netloom_generate::{CONFIGURATION, CONFIGURATION_KINDS, CONFIGURATION_ON_REQUEST};
use serde_json::{Value, json};
use tokio_rustls::rustls::{
    crypto::CryptoProvider,
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

use super::authority::{Authority, CertificateError};
use crate::{clock::Clock, elect::Leadership};

/// The Secret of the authority.
const SECRET: &str = "netloom-webhook";
/// After a write that failed: nothing tells when it would not.
const AGAIN: Duration = Duration::from_secs(2);

/// The certificate that is shown at the moment.
#[derive(Debug, Default)]
pub struct Slot(RwLock<Option<Arc<CertifiedKey>>>);

impl Slot {
    /// Whether there is one.
    pub fn is_filled(&self) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn fill(&self, certificate: CertifiedKey) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(certificate));
    }
}

impl ResolvesServerCert for Slot {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What is wanted of the own certificate.
#[derive(Debug)]
pub struct Own {
    /// Where it goes.
    pub slot: Arc<Slot>,
    /// The namespace of the Secret.
    pub namespace: String,
    /// The names and addresses under which API servers reach the webhook.
    pub names: Vec<String>,
    /// Whether there may be a configuration for kinds that a cluster has on request.
    pub on_request: bool,
}

/// Something to write.
#[derive(Debug, Clone, PartialEq)]
enum Deed {
    /// A configuration with another authority.
    Configure(Value),
    /// A Secret that is not there.
    Create(Value),
    /// A Secret that is.
    Replace(Value),
}

/// What is known of the objects.
#[derive(Debug, Default)]
struct Known {
    secret: Option<Value>,
    configurations: [Option<Value>; 3],
    /// Which have been heard of. The last configuration is not waited for: there may be no right to read it.
    heard: [bool; 3],
}

/// Keeps the certificate.
pub(crate) struct Keeper {
    own: Own,
    client: Client,
    clock: Clock,
    leadership: Leadership,
    provider: Arc<CryptoProvider>,
    /// The authority that signed the certificate that is shown, and when the next one is due.
    shown: Option<(String, Timestamp)>,
}

impl Keeper {
    pub(crate) fn new(own: Own, client: Client, clock: Clock, leadership: Leadership) -> Self {
        let provider = Arc::new(tokio_rustls::rustls::crypto::aws_lc_rs::default_provider());
        Self { own, client, clock, leadership, provider, shown: None }
    }

    /// Runs until it is dropped.
    pub(crate) async fn run(mut self) {
        let mut changes = self.changes();
        let mut known = Known::default();
        loop {
            let wake = match self.round(&known).await {
                Ok(wake) => wake,
                Err(why) => {
                    tracing::warn!(%why, "the webhook's certificate cannot be kept up; trying again");
                    Some(Clock::at_wall(self.clock.now().wall) + AGAIN)
                }
            };
            tokio::select! {
                Some((place, object)) = changes.next() => known.take(place, object),
                () = self.leadership.changed() => {}
                () = crate::drive::until(wake) => {}
            }
        }
    }

    /// Does what is to be done now; says when time alone makes a difference.
    async fn round(&mut self, known: &Known) -> Result<Option<tokio::time::Instant>, KeepError> {
        if known.heard.contains(&false) {
            return Ok(None);
        }
        let now = self.clock.now();
        let leads = self.leadership.until(now).is_some();
        for deed in known.deeds(now.wall, leads, &self.own.namespace)? {
            if self.leadership.until(self.clock.now()).is_none() {
                return Ok(None);
            }
            self.perform(deed).await?;
        }
        let Some(secret) = &known.secret else { return Ok(None) };
        let authority = Authority::read(secret)?;
        let due = self.show(&authority, now.wall)?;
        // One that is due and not renewed yet is the leader's to renew; a day later is soon enough to look again.
        let again = now.wall.checked_add(SignedDuration::from_hours(24)).unwrap_or(Timestamp::MAX);
        let renewal = if authority.due() > now.wall { authority.due() } else { again };
        Ok(Some(Clock::at_wall(due.min(renewal))))
    }

    /// Shows a certificate of that authority; says when the next one is due.
    fn show(&mut self, authority: &Authority, now: Timestamp) -> Result<Timestamp, KeepError> {
        if let Some((bundle, due)) = &self.shown
            && *bundle == authority.bundle()
            && now < *due
        {
            return Ok(*due);
        }
        let leaf = authority.issue(&self.own.names, now)?;
        self.own.slot.fill(CertifiedKey::from_der(leaf.chain, leaf.key, &self.provider)?);
        tracing::info!(names = ?self.own.names, until = %leaf.due, "the webhook has a new certificate");
        self.shown = Some((authority.bundle(), leaf.due));
        Ok(leaf.due)
    }

    async fn perform(&self, deed: Deed) -> Result<(), KeepError> {
        let parameters = PostParams::default();
        let read = |object: &Value| serde_json::from_value::<DynamicObject>(object.clone());
        match &deed {
            Deed::Create(secret) => drop(self.secrets().create(&parameters, &read(secret)?).await?),
            Deed::Replace(secret) => drop(self.secrets().replace(SECRET, &parameters, &read(secret)?).await?),
            Deed::Configure(object) => {
                let kind = object["kind"].as_str().unwrap_or_default();
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                let api = configurations(&self.client, kind);
                drop(api.replace(name, &parameters, &read(object)?).await?);
                tracing::info!(kind, name, "API servers were given the authority to trust");
            }
        }
        Ok(())
    }

    fn secrets(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.own.namespace, &secret_kind())
    }

    /// What happens to the objects, with the place of each.
    fn changes(&self) -> BoxStream<'static, (usize, Option<Value>)> {
        let secrets = one(self.secrets(), SECRET, secret_kind(), 0).boxed();
        let all = [(0, CONFIGURATION), (1, CONFIGURATION), (1, CONFIGURATION_ON_REQUEST)];
        let there = if self.own.on_request { all.len() } else { all.len() - 1 };
        let configured = all.into_iter().take(there).enumerate().map(|(place, (kind, name))| {
            let kind = CONFIGURATION_KINDS[kind];
            one(configurations(&self.client, kind), name, configuration_kind(kind), place + 1).boxed()
        });
        futures_util::stream::select_all([secrets].into_iter().chain(configured)).boxed()
    }
}

/// Why a round failed.
#[derive(Debug, thiserror::Error)]
enum KeepError {
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    #[error(transparent)]
    Tls(#[from] tokio_rustls::rustls::Error),
    #[error(transparent)]
    Api(#[from] kube::Error),
    #[error(transparent)]
    Form(#[from] serde_json::Error),
}

impl Known {
    fn take(&mut self, place: usize, object: Option<Value>) {
        if let Some(heard) = self.heard.get_mut(place) {
            *heard = true;
        }
        match place.checked_sub(1) {
            None => self.secret = object,
            Some(place) => self.configurations[place] = object,
        }
    }

    /// What the leader writes, in this order.
    fn deeds(&self, now: Timestamp, leads: bool, namespace: &str) -> Result<Vec<Deed>, CertificateError> {
        if !leads {
            return Ok(Vec::new());
        }
        let Some(secret) = &self.secret else {
            let metadata = json!({"name": SECRET, "namespace": namespace});
            let data = Authority::make(now, None)?.data();
            let secret =
                json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": metadata, "data": data});
            return Ok(vec![Deed::Create(secret)]);
        };
        let stored = Authority::read(secret);
        if let Err(why) = &stored {
            tracing::warn!(reason = why.reason(), %why, "the authority of the webhook is recreated");
        }
        let stored = stored.ok();
        let (authority, replaced) = match stored {
            Some(authority) if now < authority.due() => (authority, None),
            stored => {
                let next = Authority::make(now, stored.as_ref())?;
                let mut secret = secret.clone();
                secret["data"] = next.data();
                (next, Some(Deed::Replace(secret)))
            }
        };
        let bundle = json!(authority.bundle());
        let reported = self.configurations.iter().flatten().filter_map(|object| believing(object, &bundle));
        Ok(reported.map(Deed::Configure).chain(replaced).collect())
    }
}

/// A configuration with the authority in each of its webhooks; none where it is there already.
fn believing(configuration: &Value, bundle: &Value) -> Option<Value> {
    let mut changed = configuration.clone();
    for webhook in changed.get_mut("webhooks")?.as_array_mut()? {
        webhook["clientConfig"]["caBundle"] = bundle.clone();
    }
    (changed != *configuration).then_some(changed)
}

fn secret_kind() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Secret"))
}

fn configuration_kind(kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind))
}

fn configurations(client: &Client, kind: &str) -> Api<DynamicObject> {
    Api::all_with(client.clone(), &configuration_kind(kind))
}

/// Follows one object.
fn one(
    api: Api<DynamicObject>,
    name: &'static str,
    resource: ApiResource,
    place: usize,
) -> impl Stream<Item = (usize, Option<Value>)> {
    let events = watcher::watch_object(api, name).default_backoff();
    events.filter_map(move |event| {
        let seen = match event {
            Ok(object) => Some((place, object.map(|object| Value::clone(&read(object, &resource))))),
            Err(why) => {
                tracing::warn!(kind = resource.kind, name, %why, "the watch of an object was interrupted");
                None
            }
        };
        std::future::ready(seen)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2030-05-01T10:00:00Z".parse().unwrap()
    }

    fn known(authority: &Authority, bundle: &str) -> Known {
        let hooks = json!([{"name": "a", "clientConfig": {"caBundle": bundle}}, {"name": "b", "clientConfig": {"caBundle": bundle}}]);
        let configuration = json!({"kind": CONFIGURATION_KINDS[0], "webhooks": hooks});
        let secret = json!({"metadata": {"name": SECRET, "resourceVersion": "7"}, "data": authority.data()});
        Known { secret: Some(secret), configurations: [Some(configuration), None, None], heard: [true; 3] }
    }

    fn bundles(deed: &Deed) -> Vec<&str> {
        let Deed::Configure(object) = deed else { panic!("{deed:?}") };
        let hooks = object["webhooks"].as_array().unwrap();
        hooks.iter().map(|hook| hook["clientConfig"]["caBundle"].as_str().unwrap()).collect()
    }

    #[test]
    fn only_the_leader_makes_the_authority() {
        let nothing = Known::default();
        assert_eq!(nothing.deeds(now(), false, "n").unwrap(), []);
        let deeds = nothing.deeds(now(), true, "n").unwrap();
        let [Deed::Create(secret)] = deeds.as_slice() else { panic!("{deeds:?}") };
        assert!(Authority::read(secret).is_ok());
        assert_eq!(secret["metadata"], json!({"name": SECRET, "namespace": "n"}));
    }

    #[test]
    fn configurations_are_written_only_where_they_differ() {
        let authority = Authority::make(now(), None).unwrap();
        let current = known(&authority, &authority.bundle());
        assert_eq!(current.deeds(now(), true, "n").unwrap(), []);
        let stale = known(&authority, "");
        let deeds = stale.deeds(now(), true, "n").unwrap();
        assert_eq!(deeds.len(), 1);
        assert_eq!(bundles(&deeds[0]), [authority.bundle(), authority.bundle()]);
        assert_eq!(stale.deeds(now(), false, "n").unwrap(), [], "others leave it to the leader");
    }

    #[test]
    fn the_configuration_for_machines_is_kept_up_and_not_waited_for() {
        let authority = Authority::make(now(), None).unwrap();
        let mut stale = known(&authority, &authority.bundle());
        let hooks = json!([{"name": "a", "clientConfig": {}}]);
        let metadata = json!({"name": CONFIGURATION_ON_REQUEST});
        let machines = json!({"kind": CONFIGURATION_KINDS[1], "metadata": metadata, "webhooks": hooks});
        stale.take(3, Some(machines));
        assert_eq!(stale.heard, [true; 3]);
        let deeds = stale.deeds(now(), true, "n").unwrap();
        assert_eq!((deeds.len(), bundles(&deeds[0])), (1, vec![authority.bundle().as_str()]));
        stale.take(3, None);
        assert_eq!(stale.deeds(now(), true, "n").unwrap(), []);
    }

    #[test]
    fn both_authorities_are_believed_before_the_new_one_is_used() {
        let old = Authority::make(now(), None).unwrap();
        let due = old.due();
        let deeds = known(&old, &old.bundle()).deeds(due, true, "n").unwrap();
        let [configure, Deed::Replace(secret)] = deeds.as_slice() else { panic!("{deeds:?}") };
        let next = Authority::read(secret).unwrap();
        assert_eq!(bundles(configure), [next.bundle(), next.bundle()]);
        assert_eq!(secret["metadata"]["resourceVersion"], "7", "tied to what was looked at");
        assert!(next.due() > due);
        // The same after a crash between the two: the old one is still believed.
        let half = known(&old, &next.bundle()).deeds(due, true, "n").unwrap();
        assert_eq!(half.len(), 2);
    }

    #[test]
    fn a_secret_that_somebody_broke_is_recreated() {
        let authority = Authority::make(now(), None).unwrap();
        let mut broken = known(&authority, &authority.bundle());
        broken.secret.as_mut().unwrap()["data"] = json!({});
        let deeds = broken.deeds(now(), true, "n").unwrap();
        assert!(matches!(deeds.as_slice(), [Deed::Configure(_), Deed::Replace(_)]), "{deeds:?}");
    }
}
