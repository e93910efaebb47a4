//! Writes down what the published Kubernetes types look like, so that the server need not carry the
//! code that derives it: one line for each type, its name and its schema as JSON, ordered by name; compressed.

use std::{env, error::Error, fmt::Write as _, fs, io::Write as _, path::Path};

use flate2::{Compression, write::ZlibEncoder};
use k8s_openapi::{
    api::{
        authentication::v1::{SelfSubjectReview, TokenRequest, TokenReview},
        authorization::v1::{
            LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview,
        },
        coordination::v1::Lease,
        core::v1::{ConfigMap, Endpoints, Event, Namespace, Node, Pod, Secret, Service, ServiceAccount},
        discovery::v1::EndpointSlice,
        events::v1::Event as NewEvent,
        rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::{APIResourceList, DeleteOptions, ListMeta, ObjectMeta, Status},
};
use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::Value;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let mut generator = SchemaSettings::openapi3().into_generator();
    register(&mut generator);
    let mut lines = String::new();
    for (name, mut schema) in generator.take_definitions(true) {
        spare_metadata(&mut schema);
        writeln!(lines, "{name} {schema}")?;
    }
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    packed.write_all(lines.as_bytes())?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("published.z"), packed.finish()?)?;
    Ok(())
}

fn register(generator: &mut SchemaGenerator) {
    macro_rules! all {
        ($($published:ty),* $(,)?) => { $(generator.subschema_for::<$published>();)* };
    }
    all!(ConfigMap, Endpoints, Event, Namespace, Node, Pod, Secret, Service, ServiceAccount);
    all!(ClusterRole, ClusterRoleBinding, Role, RoleBinding);
    all!(Lease, EndpointSlice, NewEvent, CustomResourceDefinition);
    all!(SelfSubjectReview, TokenRequest, TokenReview);
    all!(LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview);
    all!(ObjectMeta, ListMeta, DeleteOptions, Status, APIResourceList);
}

/// The Rust types always have metadata; the kinds that they stand for do not ask for it.
fn spare_metadata(schema: &mut Value) {
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|field| field != "metadata");
    }
}
