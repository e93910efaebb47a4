//! Files made from the kinds: manifests for clusters and pages for people.
//!
//! Texts only; who calls this writes the files. Equal kinds give byte-equal texts.

mod pages;
mod rbac;
mod restriction;
mod webhook;
mod workloads;

pub use self::{
    pages::{effects_page, index_page, kind_page},
    rbac::{rbac, rbac_on_request},
    restriction::{node_restriction, node_restriction_on_request},
    webhook::{
        COMPLETE_PATH, CONFIGURATION, CONFIGURATION_KINDS, CONFIGURATION_ON_REQUEST, Reached, SERVICE, VALIDATE_PATH,
        webhook, webhook_on_request,
    },
    workloads::{agent_workload, controller_workload},
};
use netloom_admission::taints::TaintKey;
use netloom_api::{Install, Kind, kinds, registry::usual};

/// The image of pods unless somebody names another; it comes from nowhere, so that nobody runs a stranger's by accident.
pub const IMAGE: &str = concat!("netloom:", env!("CARGO_PKG_VERSION"));

/// One generated file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Where it lies, from the root of the project.
    pub path: String,
    /// What it says.
    pub content: String,
}

/// All generated files.
pub fn files() -> Vec<File> {
    manifests().into_iter().chain(reference()).collect()
}

/// The manifests for clusters, below `deploy`. Those of `deploy/vms` are for clusters that are asked to have machines.
pub fn manifests() -> Vec<File> {
    let crds = kinds().iter().map(|kind| File { path: crd_place(kind), content: crd(kind) });
    let rest = [
        ("deploy/rbac.yaml", rbac()),
        ("deploy/node-restriction.yaml", node_restriction(&[TaintKey::starting()])),
        ("deploy/webhook.yaml", webhook(Reached { address: None, authority: None })),
        ("deploy/controller.yaml", controller_workload(IMAGE)),
        ("deploy/agent.yaml", agent_workload(IMAGE)),
        ("deploy/vms/rbac.yaml", rbac_on_request()),
        ("deploy/vms/node-restriction.yaml", node_restriction_on_request()),
        ("deploy/vms/webhook.yaml", webhook_on_request(Reached { address: None, authority: None })),
    ];
    crds.chain(rest.map(|(path, content)| File { path: path.to_owned(), content })).collect()
}

/// The reference of all kinds, below `docs/reference/kinds`.
pub fn reference() -> Vec<File> {
    let place = |name: &str| format!("docs/reference/kinds/{name}");
    let kinds = kinds().iter().map(|kind| File { path: place(&page_file(kind)), content: kind_page(kind) });
    let rest = [("README.md", index_page()), ("effects.md", effects_page())];
    kinds.chain(rest.map(|(name, content)| File { path: place(name), content })).collect()
}

/// The definition of a kind as a manifest.
fn crd(kind: &Kind) -> String {
    format!("{HEADER}{}", netloom_yaml::print(&kind.crd()))
}

/// The definitions of all kinds as their types derive them: what the checked-in files must be.
#[cfg(feature = "derive")]
pub fn derived() -> Vec<File> {
    let file = |kind: &Kind| File {
        path: crd_place(kind),
        content: format!("{HEADER}{}", netloom_yaml::print(&(kind.derived)())),
    };
    kinds().iter().map(file).collect()
}

/// The definitions that every cluster gets as one stream, in the order of the registry.
pub fn crds() -> String {
    netloom_yaml::print_stream(&usual().map(Kind::crd).collect::<Vec<_>>())
}

const HEADER: &str = "# Generated from the types by netloom; change those.\n";

/// Where the definition of a kind lies.
fn crd_place(kind: &Kind) -> String {
    let folder = if kind.install == Install::OnRequest { "vms" } else { "crds" };
    format!("deploy/{folder}/{}.yaml", kind.file_stem())
}

fn page_file(kind: &Kind) -> String {
    format!("{}.{}.md", kind.plural, kind.group)
}
