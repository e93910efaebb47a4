//! Brings the definitions of all kinds to a cluster.

use std::collections::BTreeSet;

use kube::{
    Api, Client, ResourceExt as _,
    api::{DynamicObject, Patch, PatchParams},
};
use netloom_api::{Install, Kind, definition::INSTALLED, registry};
use serde_json::Value;

use super::{api, definition_name};

/// Why the definitions of Netloom's kinds are not there.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot install the definition of {name}: {source}; give the controller the rights of deploy/rbac.yaml, or install deploy/crds by other means"
)]
pub struct InstallError {
    name: String,
    #[source]
    source: Box<kube::Error>,
}

impl InstallError {
    /// A stable word for it.
    pub fn reason(&self) -> &'static str {
        "DefinitionNotInstalled"
    }

    /// Whether trying again may help: it was not the server that refused.
    pub(crate) fn may_pass(&self) -> bool {
        !matches!(&*self.source, kube::Error::Api(status) if matches!(status.code, 400..=499) && !matches!(status.code, 409 | 429))
    }
}

/// What is done about one definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    /// It is brought to what this program has; fields of others are taken over only when `forced`.
    Apply { forced: bool },
    /// It is somebody else's.
    Leave,
}

/// What to do about a definition, by what the cluster has of it. One that says what ours does and has no mark came from a
/// manifest of before marks.
fn deed(install: Install, ours: &Value, known: Option<&DynamicObject>) -> Deed {
    let is_ours = |known: &DynamicObject| {
        known.annotations().contains_key(INSTALLED)
            || known.data.get("spec").is_some_and(|spec| has(spec, &ours["spec"]))
    };
    match (install, known) {
        (Install::Always, _) => Deed::Apply { forced: true },
        // Whoever makes it at the same moment wins.
        (Install::IfAbsent | Install::OnRequest, None) => Deed::Apply { forced: false },
        (Install::IfAbsent | Install::OnRequest, Some(known)) if is_ours(known) => Deed::Apply { forced: true },
        (Install::IfAbsent | Install::OnRequest, Some(_)) | (Install::Never, _) => Deed::Leave,
    }
}

/// Whether a value has all that another one says; a server adds to what it is given.
fn has(value: &Value, part: &Value) -> bool {
    match (value, part) {
        (Value::Object(value), Value::Object(part)) => {
            part.iter().all(|(key, part)| value.get(key).is_some_and(|value| has(value, part)))
        }
        (Value::Array(value), Value::Array(part)) => {
            value.len() == part.len() && value.iter().zip(part).all(|(value, part)| has(value, part))
        }
        (value, part) => value == part,
    }
}

/// Brings the definitions of all kinds to what this program has, as long as it `may`; those that a cluster has on request
/// only where it was `requested`. Says whether all are.
pub(crate) async fn install(client: &Client, requested: bool, may: impl Fn() -> bool) -> Result<bool, InstallError> {
    let api = api(client.clone());
    let mut installed = 0;
    let all = registry::kinds().iter().filter(|kind| requested || kind.install != Install::OnRequest);
    let all: Vec<&Kind> = all.collect();
    let left = if requested { left_alone(&api, &all).await? } else { BTreeSet::new() };
    for kind in all {
        if !may() {
            return Ok(false);
        }
        let name = definition_name(kind);
        if kind.install == Install::OnRequest && left.contains(kind.group) {
            tracing::info!(name, "the definition is left alone: another one of its group is somebody else's");
            continue;
        }
        let applied = install_one(&api, kind, &name).await;
        installed += usize::from(applied.map_err(|source| InstallError { name, source: Box::new(source) })?);
    }
    tracing::info!(count = installed, "the definitions of all kinds are installed");
    Ok(true)
}

/// The groups of kinds that a cluster has on request of which one definition is somebody else's: what belongs together is
/// not mixed.
async fn left_alone(api: &Api<DynamicObject>, kinds: &[&Kind]) -> Result<BTreeSet<&'static str>, InstallError> {
    let mut groups = BTreeSet::new();
    for kind in kinds.iter().filter(|kind| kind.install == Install::OnRequest) {
        let name = definition_name(kind);
        let known = api.get_opt(&name).await;
        let known = known.map_err(|source| InstallError { name, source: Box::new(source) })?;
        if known.is_some_and(|known| deed(kind.install, &kind.crd(), Some(&known)) == Deed::Leave) {
            groups.insert(kind.group);
        }
    }
    Ok(groups)
}

/// Says whether the definition is now what this program has.
async fn install_one(api: &Api<DynamicObject>, kind: &Kind, name: &str) -> kube::Result<bool> {
    let mut definition = kind.crd();
    let known = match kind.install {
        Install::Always | Install::Never => None,
        Install::IfAbsent | Install::OnRequest => {
            definition["metadata"]["annotations"][INSTALLED] = "true".into();
            api.get_opt(name).await?
        }
    };
    let parameters = PatchParams::apply(netloom_controller_core::MANAGER);
    let parameters = match deed(kind.install, &definition, known.as_ref()) {
        Deed::Apply { forced: true } => parameters.force(),
        Deed::Apply { forced: false } => parameters,
        Deed::Leave => {
            tracing::info!(name, "the definition is somebody else's and is left alone");
            return Ok(false);
        }
    };
    api.patch(name, &parameters, &Patch::Apply(definition)).await.map(|_| true)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_definition_that_somebody_else_made_is_never_overwritten() {
        let known = |annotations: Value| -> DynamicObject {
            serde_json::from_value(json!({"metadata": {"name": "things.g.io", "annotations": annotations}})).unwrap()
        };
        let (theirs, ours) = (known(json!({})), known(json!({INSTALLED: "true"})));
        let here = json!({"spec": {"group": "g.io", "versions": [{"name": "v1"}]}});
        let forced = Deed::Apply { forced: true };
        for (install, wanted) in [
            (Install::Always, [forced, forced, forced]),
            (Install::IfAbsent, [Deed::Apply { forced: false }, Deed::Leave, forced]),
            (Install::OnRequest, [Deed::Apply { forced: false }, Deed::Leave, forced]),
            (Install::Never, [Deed::Leave, Deed::Leave, Deed::Leave]),
        ] {
            let found = [None, Some(&theirs), Some(&ours)].map(|known| deed(install, &here, known));
            assert_eq!(found, wanted, "{install:?}: none, somebody else's, ours");
        }
    }

    #[test]
    fn a_definition_of_ours_from_before_marks_is_marked() {
        for kind in registry::on_request() {
            assert_eq!(kind.crd()["metadata"]["annotations"][INSTALLED], "true", "{}: the manifest", kind.kind);
            let mut served = kind.crd();
            served["metadata"]["annotations"] = json!({});
            served["spec"]["conversion"] = json!({"strategy": "None"});
            served["spec"]["names"]["listKind"] = json!("X");
            let read = |served: &Value| serde_json::from_value::<DynamicObject>(served.clone()).unwrap();
            assert_eq!(deed(kind.install, &kind.crd(), Some(&read(&served))), Deed::Apply { forced: true });
            served["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = json!("another one's");
            assert_eq!(deed(kind.install, &kind.crd(), Some(&read(&served))), Deed::Leave, "{}", kind.kind);
        }
    }
}
