//! What a kind is: its definition, its owner and the effects of its fields.
//!
//! A kind's module implements [`Declared`] for its root type; [`Kind`] is the same with the type
//! erased, so that callers can walk over all kinds. Names are stated once, in the derive attributes.

use std::{borrow::Cow, io::Read as _, sync::OnceLock};

use flate2::read::ZlibDecoder;
use kube_core::{CustomResourceExt, Resource};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use netloom_object::GroupKind;

use crate::effects::FieldEffect;
pub use crate::owner::{NodeField, Owner};

/// The definitions that are checked in, as compressed JSON, by the names of their files.
static DEFINITIONS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/definitions.rs"));

/// An annotation: a definition that a controller made where there was none, or that a server has by itself.
pub const INSTALLED: &str = "netloom.dev/installed";
/// Its value on a definition that the server has by itself.
pub const BUILT_IN: &str = "built-in";

/// Who brings the definition of a kind to a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Install {
    /// Netloom does: the kind is its own.
    Always,
    /// Netloom does where there is none, and keeps what it has made: on another cluster the definition is somebody
    /// else's, and is left alone.
    IfAbsent,
    /// Netloom does where somebody asks for it and there is none, and keeps what it has made. No manifest that every
    /// cluster gets speaks of the kind; the embedded server has it.
    OnRequest,
    /// Somebody else does, everywhere.
    Never,
}

/// A root type together with everything that its kind needs besides the derive attributes.
pub trait Declared: CustomResourceExt + Resource<DynamicType = ()> + DeserializeOwned {
    /// Whose agent may write such an object.
    const OWNER: Owner = Owner::Cluster;
    /// Who brings the definition to a cluster.
    const INSTALL: Install = Install::Always;
    /// Whether every agent reads such objects, though no node owns them.
    const READ_BY_AGENTS: bool = false;
    /// Whether `status` is written through a subresource of its own.
    const STATUS_SUBRESOURCE: bool = true;
    /// Whether the agent that an object is of also reports in it. Else its `status` is the controller's answer.
    const STATUS_BY_OWNER: bool = true;
    /// Whether the agent that an object is of also deletes it. Else what goes is for others to decide.
    const DELETED_BY_OWNER: bool = false;
    /// Whether the agent that an object is of writes nothing but its `status`, though that is no subresource.
    const REPORTED_ONLY: bool = false;
    /// Whether people write such objects; false for those that only the controller or agents keep.
    const EDITABLE: bool = matches!(Self::OWNER, Owner::Cluster);
    /// Where every field of the schema takes effect.
    const EFFECTS: &'static [FieldEffect];
}

/// A kind with its type erased.
#[expect(clippy::struct_excessive_bools, reason = "each says one thing about a kind, and nobody passes them on")]
#[derive(Debug, Clone)]
pub struct Kind {
    /// The API group.
    pub group: &'static str,
    /// The only version.
    pub version: &'static str,
    /// The name of the kind.
    pub kind: &'static str,
    /// The name in URLs.
    pub plural: &'static str,
    /// Whose agent may write such an object.
    pub owner: Owner,
    /// Who brings the definition to a cluster.
    pub install: Install,
    /// Whether every agent reads such objects, though no node owns them.
    pub read_by_agents: bool,
    /// Whether the agent that an object is of also reports in it.
    pub status_by_owner: bool,
    /// Whether the agent that an object is of also deletes it.
    pub deleted_by_owner: bool,
    /// Whether the agent that an object is of writes nothing but its `status`.
    pub reported_only: bool,
    /// Whether people write such objects.
    pub editable: bool,
    /// Where every field of the schema takes effect.
    pub effects: &'static [FieldEffect],
    /// The definition as the type derives it; only for those who write or check the files.
    #[cfg(any(test, feature = "derive"))]
    pub derived: fn() -> Value,
    /// Read once, when it is first asked for.
    manifest: OnceLock<Value>,
}

impl Kind {
    /// The kind whose root type is `T`.
    pub fn of<T: Declared>() -> Self {
        Self {
            group: fixed(T::group(&())),
            version: fixed(T::version(&())),
            kind: fixed(T::kind(&())),
            plural: fixed(T::plural(&())),
            owner: T::OWNER,
            install: T::INSTALL,
            read_by_agents: T::READ_BY_AGENTS,
            status_by_owner: T::STATUS_BY_OWNER,
            deleted_by_owner: T::DELETED_BY_OWNER,
            reported_only: T::REPORTED_ONLY,
            editable: T::EDITABLE,
            effects: T::EFFECTS,
            #[cfg(any(test, feature = "derive"))]
            derived: || {
                let mut manifest = crate::structural::manifest(&T::crd(), T::STATUS_SUBRESOURCE);
                // Whoever applies the manifest has the definition from here, as if a controller had made it.
                if T::INSTALL == Install::OnRequest {
                    manifest["metadata"]["annotations"][INSTALLED] = "true".into();
                }
                manifest
            },
            manifest: OnceLock::new(),
        }
    }

    /// The definition as a server takes it, as `apiextensions.k8s.io/v1`.
    pub fn crd(&self) -> Value {
        self.manifest().clone()
    }

    /// A kind whose file is not there yet has an empty definition; the test that compares the files
    /// with the types says so.
    fn manifest(&self) -> &Value {
        self.manifest.get_or_init(|| {
            let name = self.file_stem();
            let packed = DEFINITIONS.iter().find(|(file, _)| *file == name).map(|&(_, packed)| packed);
            packed.and_then(|packed| serde_json::from_str(&unpacked(packed)?).ok()).unwrap_or_default()
        })
    }

    /// What the definition's file is called, without `.yaml`.
    pub fn file_stem(&self) -> String {
        format!("{}_{}", self.group, self.plural)
    }

    /// The schema of the version, as it stands in the definition.
    pub fn schema(&self) -> Value {
        self.manifest().pointer("/spec/versions/0/schema/openAPIV3Schema").cloned().unwrap_or_default()
    }

    /// Whether `status` is written through a subresource of its own.
    pub fn has_status_subresource(&self) -> bool {
        self.manifest().pointer("/spec/versions/0/subresources/status").is_some()
    }

    /// `group/version`.
    pub fn api_version(&self) -> String {
        format!("{}/{}", self.group, self.version)
    }
}

/// What the build packed.
fn unpacked(packed: &[u8]) -> Option<String> {
    let mut text = String::new();
    ZlibDecoder::new(packed).read_to_string(&mut text).is_ok().then_some(text)
}

/// Names from derive attributes are literals; anything else is kept for the life of the process,
/// which happens at most once for each kind.
fn fixed(name: Cow<'static, str>) -> &'static str {
    match name {
        Cow::Borrowed(name) => name,
        Cow::Owned(name) => name.leak(),
    }
}
