//! Reading and writing: discovery, definitions, apply, leases, events and pages.

use std::collections::BTreeSet;

use k8s_openapi::{
    api::{
        coordination::v1::Lease,
        core::v1::{ConfigMap, Event as CoreEvent},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Discovery, Resource as _, ResourceExt as _,
    api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams},
    discovery::ApiGroup,
    runtime::{
        events::{Event, EventType, Recorder, Reporter},
        wait::{await_condition, conditions},
    },
};
use serde_json::json;

use super::{Scene, expect, object, refused, text};

/// Both forms of discovery find the same.
pub(super) async fn discovery(scene: Scene) -> Result<(), String> {
    let plain = Discovery::new(scene.client.clone()).run().await.map_err(text)?;
    let whole = Discovery::new(scene.client).run_aggregated().await.map_err(text)?;
    let kinds = |discovery: &Discovery| -> BTreeSet<String> {
        let resources = discovery.groups().flat_map(ApiGroup::recommended_resources);
        resources.map(|(resource, _)| format!("{}/{}", resource.api_version, resource.kind)).collect()
    };
    let (plain, whole) = (kinds(&plain), kinds(&whole));
    let apart: Vec<&String> = plain.symmetric_difference(&whole).collect();
    expect(apart.is_empty(), || format!("only one form has {apart:?}"))?;
    for kind in ["v1/ConfigMap", "coordination.k8s.io/v1/Lease", "apiextensions.k8s.io/v1/CustomResourceDefinition"] {
        expect(whole.contains(kind), || format!("{kind} is missing in {whole:?}"))?;
    }
    Ok(())
}

/// A kind is defined, established, used with its status, and gone again.
pub(super) async fn definitions(scene: Scene) -> Result<(), String> {
    let definitions: Api<CustomResourceDefinition> = Api::all(scene.client.clone());
    let name = "boats.library.example.dev";
    let schema = json!({ "type": "object", "properties": {
        "spec": { "type": "object", "properties": { "length": { "type": "integer", "default": 7 } } },
        "status": { "type": "object", "properties": { "afloat": { "type": "boolean" } } } } });
    let definition = object(json!({ "metadata": { "name": name }, "spec": {
        "group": "library.example.dev", "scope": "Namespaced", "names": { "plural": "boats", "kind": "Boat" },
        "versions": [{ "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
            "schema": { "openAPIV3Schema": schema } }] } }))?;
    definitions.create(&PostParams::default(), &definition).await.map_err(text)?;
    await_condition(definitions.clone(), name, conditions::is_crd_established()).await.map_err(text)?;

    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("library.example.dev", "v1", "Boat"));
    let boats: Api<DynamicObject> = Api::namespaced_with(scene.client.clone(), &scene.namespace, &kind);
    let boat = DynamicObject::new("queen", &kind).data(json!({ "spec": {} }));
    let made = boats.create(&PostParams::default(), &boat).await.map_err(text)?;
    expect(made.data["spec"]["length"] == 7, || format!("no default in {made:?}"))?;
    let status = Patch::Merge(json!({ "status": { "afloat": true } }));
    let floats = boats.patch_status("queen", &PatchParams::default(), &status).await.map_err(text)?;
    expect(floats.data["status"]["afloat"] == true, || format!("no status in {floats:?}"))?;
    expect(floats.metadata.generation == Some(1), || "a status counted as a generation".to_owned())?;

    let uid = floats.uid().unwrap_or_default();
    boats.delete("queen", &DeleteParams::foreground()).await.map_err(text)?;
    await_condition(boats, "queen", conditions::is_deleted(&uid)).await.map_err(text)?;
    definitions.delete(name, &DeleteParams::default()).await.map(drop).map_err(text)
}

/// Server-side apply by two managers who disagree.
pub(super) async fn apply(scene: Scene) -> Result<(), String> {
    let maps: Api<ConfigMap> = Api::namespaced(scene.client.clone(), &scene.namespace);
    let desired = |value: &str| {
        Patch::Apply(
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "k": value } }),
        )
    };
    maps.patch("a", &PatchParams::apply("one"), &desired("1")).await.map_err(text)?;
    let reason = refused(maps.patch("a", &PatchParams::apply("two"), &desired("2")).await)?;
    expect(reason == "Conflict", || format!("the reason is {reason}"))?;
    let forced = maps.patch("a", &PatchParams::apply("two").force(), &desired("2")).await.map_err(text)?;
    let managers: Vec<&str> = forced.managed_fields().iter().filter_map(|entry| entry.manager.as_deref()).collect();
    expect(managers == ["two"], || format!("the fields belong to {managers:?}"))?;
    let nothing = Patch::Apply(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } }));
    let empty = maps.patch("a", &PatchParams::apply("two"), &nothing).await.map_err(text)?;
    expect(empty.data.is_none(), || format!("something is left: {empty:?}"))?;
    let strict = PatchParams { dry_run: true, ..PatchParams::apply("three").validation_strict() };
    let bare = Patch::Apply(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "dry" } }));
    maps.patch("dry", &strict, &bare).await.map_err(text)?;
    let gone = maps.get_opt("dry").await.map_err(text)?;
    expect(gone.is_none(), || "a dry run was kept".to_owned())
}

/// Two holders want one lease; the version decides.
pub(super) async fn leases(scene: Scene) -> Result<(), String> {
    let leases: Api<Lease> = Api::namespaced(scene.client.clone(), &scene.namespace);
    let lease = object(json!({ "metadata": { "name": "leader" }, "spec": { "holderIdentity": "one",
        "leaseDurationSeconds": 15, "renewTime": "2001-01-01T00:00:00.123456Z" } }))?;
    let first = leases.create(&PostParams::default(), &lease).await.map_err(text)?;
    let held_by = |lease: &Lease, name: &str| -> Result<Lease, String> {
        let mut lease = lease.clone();
        lease.spec.get_or_insert_default().holder_identity = Some(name.to_owned());
        Ok(lease)
    };
    let (two, three) = (held_by(&first, "two")?, held_by(&first, "three")?);
    leases.replace("leader", &PostParams::default(), &two).await.map_err(text)?;
    let reason = refused(leases.replace("leader", &PostParams::default(), &three).await)?;
    expect(reason == "Conflict", || format!("the reason is {reason}"))?;
    let now = leases.get("leader").await.map_err(text)?;
    let holder = now.spec.and_then(|spec| spec.holder_identity);
    expect(holder.as_deref() == Some("two"), || format!("it is held by {holder:?}"))
}

/// Events are published in one spelling, read in the other, and counted when they repeat.
pub(super) async fn events(scene: Scene) -> Result<(), String> {
    let maps: Api<ConfigMap> = Api::namespaced(scene.client.clone(), &scene.namespace);
    let map = object(json!({ "metadata": { "name": "a" } }))?;
    let map: ConfigMap = maps.create(&PostParams::default(), &map).await.map_err(text)?;
    let reporter = Reporter { controller: "example.dev/story".to_owned(), instance: Some("story-1".to_owned()) };
    let recorder = Recorder::new(scene.client.clone(), reporter);
    let event = Event {
        type_: EventType::Warning,
        reason: "Told".to_owned(),
        note: Some("a story was run".to_owned()),
        action: "Telling".to_owned(),
        secondary: None,
    };
    recorder.publish(&event, &map.object_ref(&())).await.map_err(text)?;
    recorder.publish(&event, &map.object_ref(&())).await.map_err(text)?;
    let about =
        ListParams::default().fields(&format!("involvedObject.uid={},type=Warning", map.uid().unwrap_or_default()));
    let seen: Api<CoreEvent> = Api::namespaced(scene.client, &scene.namespace);
    let seen = seen.list(&about).await.map_err(text)?.items;
    expect(seen.len() == 1, || format!("{} events", seen.len()))?;
    let count = seen[0].series.as_ref().and_then(|series| series.count);
    expect(count == Some(2), || format!("the event was counted {count:?} times"))?;
    expect(seen[0].message.as_deref() == Some("a story was run"), || format!("{:?}", seen[0]))
}

/// Pages show one state, whatever happens between them.
pub(super) async fn pages(scene: Scene) -> Result<(), String> {
    let maps: Api<ConfigMap> = Api::namespaced(scene.client.clone(), &scene.namespace);
    for number in 0..5 {
        let map = object(json!({ "metadata": { "name": format!("m{number}") } }))?;
        maps.create(&PostParams::default(), &map).await.map_err(text)?;
    }
    let mut page = ListParams::default().limit(2);
    let mut names = Vec::new();
    loop {
        let list = maps.list(&page).await.map_err(text)?;
        names.extend(list.items.iter().map(ConfigMap::name_any));
        if names.len() == 2 {
            maps.delete("m4", &DeleteParams::default()).await.map_err(text)?;
        }
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => break,
        }
    }
    expect(names == ["m0", "m1", "m2", "m3", "m4"], || format!("the pages show {names:?}"))
}
