//! Objects of the fabric, as far as decisions read them.

use std::{collections::BTreeMap, fmt};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use netloom_api::fabric::{
    GROUP, OWNER_KIND, OWNER_NAME, bgp_peering::BgpPeeringSpec, destination::DestinationSpec,
    layer2_attachment::Layer2AttachmentSpec, layer2_network_configuration::Layer2NetworkConfigurationSpec,
    network::NetworkSpec, selector::LabelSelector, vrf::VrfSpec, vrf_route_configuration::VrfRouteConfigurationSpec,
};
use netloom_object::{GroupKind, ObjectKey, ObjectRef};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    key::Meta,
    snapshot::{Readable, plain},
};

/// An object of the fabric; its status is ours to write, so it cannot matter.
#[derive(Debug, Clone, PartialEq)]
pub struct Object<S> {
    /// What it says of itself.
    pub meta: Meta,
    /// Its labels: destinations are picked by them.
    pub labels: BTreeMap<String, String>,
    /// What it wants.
    pub spec: S,
}

/// A specification by the kind that has it.
pub trait Spec: Serialize + DeserializeOwned + Clone + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// The name of the kind.
    const KIND: &'static str;

    /// The nodes that it is for; none for all of them.
    fn nodes(&self) -> Option<&LabelSelector>;
}

macro_rules! specs {
    ($($spec:ident: $kind:literal, $nodes:expr;)*) => {$(
        impl Spec for $spec {
            const KIND: &'static str = $kind;

            fn nodes(&self) -> Option<&LabelSelector> {
                let nodes: fn(&Self) -> Option<&LabelSelector> = $nodes;
                nodes(self)
            }
        }
    )*};
}

specs! {
    Layer2NetworkConfigurationSpec: "Layer2NetworkConfiguration", |spec| spec.node_selector.as_ref();
    VrfRouteConfigurationSpec: "VRFRouteConfiguration", |spec| spec.node_selector.as_ref();
    BgpPeeringSpec: "BGPPeering", |spec| spec.node_selector.as_ref();
    Layer2AttachmentSpec: "Layer2Attachment", |spec| spec.node_selector.as_ref();
    VrfSpec: "VRF", |_| None;
    NetworkSpec: "Network", |_| None;
    DestinationSpec: "Destination", |_| None;
}

impl<S: Spec> Readable for Object<S> {
    const KIND: GroupKind<'static> = GroupKind::new(GROUP, S::KIND);
    const VERSION: &'static str = "v1alpha1";

    fn read(object: &Value) -> Result<Self, String> {
        let spec = object.get("spec").ok_or_else(|| "there is no spec".to_owned())?;
        let metadata = object.get("metadata").ok_or_else(|| "there is no metadata".to_owned())?;
        let mut meta = ObjectMeta::deserialize(metadata).map_err(|error| error.to_string())?;
        let labels = meta.labels.take().unwrap_or_default();
        Ok(Self { meta: Meta::of(meta), labels, spec: plain(spec)? })
    }

    fn same(&self, other: &Self) -> bool {
        let Self { meta, labels, spec } = self;
        (meta.generation, &meta.created, meta.deleted, labels, spec)
            == (other.meta.generation, &other.meta.created, other.meta.deleted, &other.labels, &other.spec)
    }
}

impl<S: Spec> Object<S> {
    /// The object.
    pub fn reference(&self) -> ObjectRef {
        Self::object(&self.meta.key)
    }

    /// The intent that it was generated from.
    pub(super) fn owner(&self) -> Option<ObjectRef> {
        let kind = intent(self.labels.get(OWNER_KIND)?)?;
        Some(ObjectRef { kind, key: ObjectKey::global(self.labels.get(OWNER_NAME)?.as_str()) })
    }
}

/// A kind from which low-level objects are generated.
pub(super) fn intent(name: &str) -> Option<GroupKind<'static>> {
    [Layer2AttachmentSpec::KIND].into_iter().find(|kind| *kind == name).map(|kind| GroupKind::new(GROUP, kind))
}
