//! Beacons: a front end of one kind. A `Beacon` puts a link with an address on the nodes of a rack, for others to find.
//!
//! It is here to show what a front end is made of, and that one more touches no other crate.

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use netloom_api::{
    condition::Truth,
    fabric::text::{Interface, InterfaceAddress},
    pipeline::{
        network_config_revision::FrozenObject,
        node_network_config::host::{EntryOrigin, HostAddress, HostConfig, HostLink, HostLinkKind},
    },
};
use netloom_compile::{
    Contribution, Finding, FrontEnd, Frozen, Looks, Meta, NodeClass, ObjectKey, ObjectRef, Outcome, Readable, Reader,
    Report, Selected, Selects, ServedKind, Snapshot, UntimedCondition, Wants, Weighed, frozen, origin, plain,
};
use netloom_model::Source;
use netloom_object::GroupKind;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The label of nodes by which they are selected.
const RACK: &str = "rack";
/// The node has a link of that name that nobody here made.
const NO_NAME: &str = "NoName";
/// Somebody with precedence wants something else.
const CONFLICT: &str = "Conflict";

/// A beacon.
#[derive(Debug, PartialEq)]
pub struct Beacon {
    meta: Meta,
    spec: BeaconSpec,
}

/// What a beacon wants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BeaconSpec {
    /// The rack whose nodes have it.
    pub rack: String,
    /// What its link is called.
    pub link: String,
    /// Its address.
    pub address: String,
    /// How large packets are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
}

impl Readable for Beacon {
    const KIND: GroupKind<'static> = GroupKind::new("beacons.example", "Beacon");
    const VERSION: &'static str = "v1";

    fn read(object: &Value) -> Result<Self, String> {
        let meta: ObjectMeta = plain(&object["metadata"])?;
        Ok(Self { meta: Meta::of(meta), spec: plain(&object["spec"])? })
    }

    fn same(&self, other: &Self) -> bool {
        (self.meta.generation, self.meta.deleted, &self.spec)
            == (other.meta.generation, other.meta.deleted, &other.spec)
    }
}

/// The front end.
#[derive(Debug)]
pub struct Beacons;

impl FrontEnd for Beacons {
    fn name(&self) -> &'static str {
        "beacons"
    }

    fn kinds(&self) -> &'static [ServedKind] {
        const { &[ServedKind::frozen::<Beacon>()] }
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(Readings(0))
    }
}

/// How many beacons were read.
#[derive(Debug)]
struct Readings(usize);

impl Reader for Readings {
    fn live(&mut self, snapshot: &Snapshot) -> Arc<dyn Wants> {
        let live = snapshot.iter::<Beacon>().filter(|(_, beacon)| !beacon.meta.deleted);
        self.all(live.map(|(_, beacon)| (beacon.meta.clone(), beacon.spec.clone())))
    }

    fn frozen(&mut self, content: &Frozen<'_>) -> Arc<dyn Wants> {
        let thawed = |object: &FrozenObject| {
            let key = ObjectKey::new(&object.namespace, &object.name.0);
            Some((Meta { key, created: object.created.clone(), ..Meta::default() }, plain(&object.spec.0).ok()?))
        };
        self.all(content.of_kind(Beacon::KIND).filter_map(thawed))
    }

    fn read(&self) -> usize {
        self.0
    }
}

impl Readings {
    fn all(&mut self, beacons: impl Iterator<Item = (Meta, BeaconSpec)>) -> Arc<dyn Wants> {
        let mut all: Vec<Arc<Lit>> = beacons.map(|(meta, spec)| Arc::new(Lit::new(meta, spec))).collect();
        self.0 += all.len();
        all.sort_by(|a, b| a.meta.precedence().cmp(&b.meta.precedence()));
        Arc::new(InForce(all))
    }
}

/// All beacons that are in force together, the older first.
#[derive(Debug)]
struct InForce(Vec<Arc<Lit>>);

impl Wants for InForce {
    fn looks(&self) -> Looks<'_> {
        Looks { labels: vec![RACK], names: false }
    }

    fn freeze(&self) -> Vec<Weighed> {
        self.0.iter().map(|beacon| beacon.frozen.clone()).collect()
    }

    fn choose(&self, selects: &mut Selects<'_>) -> Vec<Arc<dyn Selected>> {
        let mut chosen: Vec<Arc<dyn Selected>> = Vec::new();
        for beacon in &self.0 {
            if selects(beacon.id(), &|node| node.labels.get(RACK) == Some(&beacon.spec.rack)) {
                chosen.push(beacon.clone());
            }
        }
        chosen
    }

    fn reports(&self, outcome: &Outcome<'_>) -> Vec<(ObjectRef, Arc<dyn Report>)> {
        let reported = |beacon: &Arc<Lit>| (beacon.object(), Arc::new(beacon.report(outcome)) as Arc<dyn Report>);
        self.0.iter().map(reported).collect()
    }
}

/// One beacon.
#[derive(Debug)]
struct Lit {
    meta: Meta,
    spec: BeaconSpec,
    frozen: Weighed,
}

impl Lit {
    fn new(meta: Meta, spec: BeaconSpec) -> Self {
        Self { frozen: frozen::<Beacon>(&meta, BTreeMap::new(), json!(spec)), meta, spec }
    }

    fn object(&self) -> ObjectRef {
        Beacon::object(&self.meta.key)
    }

    fn source(&self) -> Source {
        let ObjectKey { namespace, name } = &self.meta.key;
        Source::object((Beacon::KIND.group, Beacon::KIND.kind), namespace, name)
    }

    fn origin(&self, path: &str) -> EntryOrigin {
        origin(&self.object(), path)
    }

    fn report(&self, outcome: &Outcome<'_>) -> BeaconReport {
        let of_group = |(_, members, chosen): (usize, _, &[Arc<dyn Selected>])| {
            let is_it = |one: &Arc<dyn Selected>| {
                (one.as_ref() as &dyn Any).downcast_ref::<Self>().is_some_and(|one| one.meta.key == self.meta.key)
            };
            let members: &[String] = members;
            chosen.iter().any(is_it).then_some(members)
        };
        let nodes = outcome.groups().filter_map(of_group).flatten().cloned().collect();
        let source = self.source();
        let refusals = outcome.parts().flat_map(|(node, part)| part.refusals.iter().map(move |one| (node, one)));
        let refused = refusals.filter(|(_, (object, _))| *object == self.object());
        let refused = refused.map(|(node, (_, finding))| (node.to_owned(), finding.clone()));
        let lost = outcome.conflicts().filter(|(_, conflict)| conflict.loser == source);
        let lost = lost.map(|(node, conflict)| {
            (node.to_owned(), Finding::new(CONFLICT, conflict.place.as_str(), conflict.to_string()))
        });
        BeaconReport { nodes, refused: refused.chain(lost).collect() }
    }
}

impl Selected for Lit {
    fn id(&self) -> u64 {
        self.frozen.id()
    }

    fn makes(&self, link: &str) -> bool {
        self.spec.link == link
    }

    fn contribute(&self, class: &NodeClass<'_>) -> Contribution {
        let BeaconSpec { rack: _, link, address, mtu } = &self.spec;
        if class.reported.is_taken(link, "dummy") {
            let mut nothing = Contribution::default();
            let why = format!("the node has a link {link} already, which somebody else made; it is left as it is");
            nothing.refuse(self.object(), Finding::new(NO_NAME, "spec.link", why));
            return nothing;
        }
        let name = Interface(link.clone());
        let made = HostLink { mtu: *mtu, ..HostLink::new(name.clone(), HostLinkKind::Dummy, self.origin("spec.link")) };
        let address = InterfaceAddress(address.clone());
        Contribution::new(HostConfig {
            links: vec![made],
            addresses: vec![HostAddress { link: name, address, origin: self.origin("spec.address") }],
            ..HostConfig::default()
        })
    }
}

/// What there is to say about a beacon.
#[derive(Debug)]
pub struct BeaconReport {
    nodes: BTreeSet<String>,
    /// What does not work, by node.
    refused: BTreeMap<String, Finding>,
}

impl Report for BeaconReport {
    fn verdicts(&self) -> Vec<UntimedCondition> {
        let Some((node, Finding { reason, message, .. })) = self.refused.first_key_value() else { return Vec::new() };
        vec![UntimedCondition {
            kind: "Ready",
            status: Truth::False,
            reason,
            message: format!("on node {node}: {message}"),
        }]
    }

    fn written(&self, _: &[UntimedCondition]) -> Value {
        json!({"apiVersion": "beacons.example/v1"})
    }

    fn nodes(&self) -> Option<&BTreeSet<String>> {
        Some(&self.nodes)
    }
}
