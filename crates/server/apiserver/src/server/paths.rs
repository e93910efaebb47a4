//! Paths that are not about objects: discovery, documents, health, version, backup.

use std::{fs::File, io::Read, sync::Arc};

use bytes::Bytes;
use http::{HeaderValue, Method, Response, StatusCode, header};
use netloom_admission::{CONTROLLER_GROUP, agent};
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;

use super::{
    answer,
    front::{Admitted, Front},
};
use crate::{
    body::{self, Body},
    discovery::{AGGREGATED, Discovery, wants_aggregated},
    health::{Check, Question},
    metrics, negotiate, openapi,
    request::Query,
    resources::{clock::uid, nowhere, object_response, status_response},
    status_error::Status,
    version,
};

/// Where a backup of everything can be had.
pub const BACKUP_PATH: &str = "/netloom/backup";
/// Where an identity for an agent or the controller can be had.
pub const IDENTITY_PATH: &str = "/netloom/identity";
const JSON: &str = "application/json";
/// Of a backup so much is sent at once.
const PIECE: usize = 64 << 10;
/// What the index of schemas is reported as; clients read it as JSON all the same.
const TEXT: &str = "text/plain; charset=utf-8";
const PUBLIC: &str = "public";
const UNKEPT: &str = "no-cache, private";
/// For documents whose address changes with their content.
const FOR_EVER: &str = "public, immutable";

impl Front {
    /// The answer for a path.
    pub(super) async fn path(&self, admitted: &Admitted, path: &str, query: &Query) -> Response<Body> {
        if path == IDENTITY_PATH && admitted.method == Method::POST {
            return self.identity(admitted, query).unwrap_or_else(|status| status_response(&status, admitted.output));
        }
        if !matches!(admitted.method, Method::GET | Method::HEAD) {
            return status_response(&Status::generic(405, ""), admitted.output);
        }
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        match parts.as_slice() {
            [""] => object_response(200, &self.directory(), admitted.output),
            ["api"] => self.groups(admitted, true),
            ["apis"] => self.groups(admitted, false),
            ["apis", group] => found(admitted, self.discovery().group(group)),
            ["api", version] => self.resources(admitted, "", version),
            ["apis", group, version] => self.resources(admitted, group, version),
            ["openapi", "v2"] => self.older_openapi(admitted),
            ["openapi", "v3"] => self.openapi_index(admitted),
            ["openapi", "v3", "api", version] => self.openapi(admitted, "", version, query),
            ["openapi", "v3", "apis", group, version] => self.openapi(admitted, group, version, query),
            ["metrics"] => self.figures(admitted),
            ["version"] => object_response(200, &version::document(), admitted.output),
            ["netloom", "backup"] => self.backup(admitted).await,
            _ => self.health(path, query),
        }
    }

    fn discovery(&self) -> Discovery {
        Discovery::of(&self.api.catalogue())
    }

    /// What there is below the root.
    fn directory(&self) -> serde_json::Value {
        let discovery = self.discovery();
        let mut paths: Vec<String> =
            discovery.versions().map(|(group, version)| format!("/{}", openapi::place(group, version))).collect();
        let others = [
            "/api",
            "/apis",
            "/healthz",
            "/livez",
            "/metrics",
            BACKUP_PATH,
            "/openapi/v2",
            "/openapi/v3",
            "/readyz",
            "/version",
        ];
        paths.extend(others.map(str::to_owned));
        paths.sort();
        json!({ "paths": paths })
    }

    /// All groups, in the form that the client asks for.
    fn groups(&self, admitted: &Admitted, core: bool) -> Response<Body> {
        let accept = admitted.headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
        if wants_aggregated(accept) {
            let catalogue = self.api.catalogue();
            let name = if core { "aggregated/api" } else { "aggregated/apis" };
            let document =
                self.documents.get(catalogue.generation, name, || Some(Discovery::of(&catalogue).aggregated(core)));
            return document.map_or_else(nowhere, |found| found.response(&admitted.headers, AGGREGATED, PUBLIC));
        }
        let discovery = self.discovery();
        let document = if core { discovery.core_versions(&self.address.to_string()) } else { discovery.group_list() };
        object_response(200, &document, admitted.output)
    }

    /// The resources of a version. Of a group that is served, a version that is not gets more words.
    fn resources(&self, admitted: &Admitted, group: &str, version: &str) -> Response<Body> {
        let discovery = self.discovery();
        match discovery.resources(group, version) {
            None if discovery.versions().any(|(known, _)| known == group) => {
                status_response(&Status::generic(404, ""), admitted.output)
            }
            document => found(admitted, document),
        }
    }

    /// The one document of the older form, in the form that the client likes best.
    fn older_openapi(&self, admitted: &Admitted) -> Response<Body> {
        let offers = [(JSON, false), (openapi::gnostic::MEDIA, true), (openapi::gnostic::MEDIA_BEFORE, true)];
        let accept = admitted.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
        let Some(protobuf) = negotiate::choose(accept, &offers) else {
            let mut refused = Response::new(body::empty());
            *refused.status_mut() = StatusCode::NOT_ACCEPTABLE;
            return refused;
        };
        let catalogue = self.api.catalogue();
        let name = if protobuf { "openapi/v2.pb" } else { "openapi/v2" };
        let document = self.documents.get_bytes(catalogue.generation, name, || {
            let document = openapi::older_document(&catalogue);
            if protobuf { Some(openapi::gnostic::encode(&document)) } else { serde_json::to_vec(&document).ok() }
        });
        let media = if protobuf { openapi::gnostic::MEDIA } else { JSON };
        document.map_or_else(nowhere, |found| found.response(&admitted.headers, media, UNKEPT))
    }

    fn openapi_index(&self, admitted: &Admitted) -> Response<Body> {
        let catalogue = self.api.catalogue();
        let document = self.documents.get(catalogue.generation, "openapi", || Some(openapi::index(&catalogue)));
        document.map_or_else(nowhere, |found| found.response(&admitted.headers, TEXT, UNKEPT))
    }

    fn openapi(&self, admitted: &Admitted, group: &str, version: &str, query: &Query) -> Response<Body> {
        let catalogue = self.api.catalogue();
        let place = openapi::place(group, version);
        let name = format!("openapi/{place}");
        let document =
            self.documents.get(catalogue.generation, &name, || openapi::document(&catalogue, group, version));
        let Some(document) = document else {
            let mut nothing = Response::new(body::empty());
            *nothing.status_mut() = StatusCode::NOT_FOUND;
            return nothing;
        };
        let print = openapi::fingerprint(&catalogue, group, version);
        match query.get("hash") {
            None => document.response(&admitted.headers, JSON, UNKEPT),
            Some(asked) if asked == print => document.response(&admitted.headers, JSON, FOR_EVER),
            Some(_) => moved(&format!("/openapi/v3/{place}?hash={print}")),
        }
    }

    /// What the server has counted.
    fn figures(&self, admitted: &Admitted) -> Response<Body> {
        match self.metrics.text() {
            Ok(text) => {
                let mut response = answer::text(200, text);
                response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(metrics::CONTENT_TYPE));
                response
            }
            Err(error) => status_response(&Status::internal(&error.to_string()), admitted.output),
        }
    }

    fn health(&self, path: &str, query: &Query) -> Response<Body> {
        let Some(question) = Question::parse(path) else { return nowhere() };
        let store = self.api.store().stats().map(drop).map_err(|error| error.to_string());
        if let Err(error) = &store {
            tracing::error!(error, "the store does not answer");
        }
        let followers = self.api.problem().map_or(Ok(()), Err);
        let checks = [Check::new("ping", Ok(())), Check::new("store", store), Check::new("followers", followers)];
        match question.answer(&checks, query) {
            Some((code, text)) => answer::text(code, text),
            None => nowhere(),
        }
    }

    /// A certificate for the agent of a node, or for the controller.
    fn identity(&self, admitted: &Admitted, query: &Query) -> Result<Response<Body>, Status> {
        let (user, group) = match query.get("node") {
            Some(node) => {
                if let Some(why) = netloom_schema::names::dns_subdomain(node).first() {
                    return Err(Status::bad_request(format!("{node:?} is not the name of a node: {why}")));
                }
                (format!("{}{node}", agent::USER_PREFIX), agent::GROUP)
            }
            None if query.flag("controller") => (CONTROLLER_GROUP.to_owned(), CONTROLLER_GROUP),
            None => return Err(Status::bad_request("name a `node`, or ask for the `controller`")),
        };
        let made = self.authority.client(&user, &[group], self.source.now());
        let made = made.map_err(|error| Status::internal(&error.to_string()))?;
        tracing::info!(by = admitted.caller.user.name, user, "an identity was issued");
        let answer = json!({
            "user": user,
            "authority": self.authority.certificate(),
            "certificate": made.certificate,
            "key": made.key,
        });
        Ok(object_response(201, &answer, admitted.output))
    }

    /// Everything that is stored, as one file. One at a time: each takes the room of the whole on the disk.
    async fn backup(&self, admitted: &Admitted) -> Response<Body> {
        let Ok(write_slot) = Arc::clone(&self.backups).try_acquire_owned() else {
            let busy = "another backup is being sent; try again when it has ended";
            return status_response(&Status::too_many_requests(busy, 5), admitted.output);
        };
        let store = self.api.store().clone();
        // Beside the store there is a disk; where temporary files are there may be only memory.
        let path = self.folder.join(format!("backup-{}", uid(&*self.source)));
        let made = tokio::task::spawn_blocking(move || {
            let copied = store.backup(&path).map_err(|error| error.to_string());
            let opened = File::open(&path).map_err(|error| error.to_string());
            // Once open, it needs no name any more, and goes when it was sent or given up.
            drop(std::fs::remove_file(&path));
            let (revision, file) = (copied?, opened?);
            let length = file.metadata().map_err(|error| error.to_string())?.len();
            Ok::<_, String>((revision, file, length))
        });
        let (revision, file, length) = match made.await {
            Ok(Ok(made)) => made,
            Ok(Err(why)) => return status_response(&Status::internal(&why), admitted.output),
            Err(error) => return status_response(&Status::internal(&error.to_string()), admitted.output),
        };
        tracing::info!(by = admitted.caller.user.name, %revision, length, "a backup is sent");
        let mut response = Response::new(file_body(file, write_slot));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
        // Whoever gets less than this knows that it is not the whole.
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        response
    }
}

/// What is read from a file while it is sent. One that cannot be read to its end breaks off.
fn file_body(mut file: impl Read + Send + 'static, write_slot: OwnedSemaphorePermit) -> Body {
    let (sender, stream) = body::stream();
    tokio::task::spawn_blocking(move || {
        let mut piece = vec![0; PIECE];
        loop {
            match file.read(&mut piece) {
                Ok(0) => break,
                Ok(length) => {
                    if sender.blocking_send(Bytes::copy_from_slice(&piece[..length])).is_err() {
                        tracing::warn!("a backup was given up by the one who asked for it");
                        break;
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "a backup breaks off: its copy cannot be read");
                    break;
                }
            }
        }
        drop(write_slot);
    });
    stream
}

fn found(admitted: &Admitted, document: Option<serde_json::Value>) -> Response<Body> {
    document.map_or_else(nowhere, |document| object_response(200, &document, admitted.output))
}

fn moved(to: &str) -> Response<Body> {
    let mut response = Response::new(body::empty());
    *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
    if let Ok(to) = HeaderValue::from_str(to) {
        response.headers_mut().insert(header::LOCATION, to);
    }
    response
}

#[cfg(test)]
mod tests {
    use std::io;

    use http_body_util::BodyExt as _;
    use tokio::sync::Semaphore;

    use super::*;

    /// A file whose disk fails after a while.
    struct Torn(usize);

    impl Read for Torn {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let length = self.0.min(out.len());
            self.0 -= length;
            if length == 0 { Err(io::Error::other("the disk does not answer")) } else { Ok(length) }
        }
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_read_breaks_off_and_its_turn_ends() {
        let write_slots = Arc::new(Semaphore::new(1));
        let write_slot = Arc::clone(&write_slots).try_acquire_owned().unwrap();
        let sent = file_body(Torn(PIECE + 5), write_slot).collect().await.unwrap().to_bytes();
        assert_eq!(sent.len(), PIECE + 5);
        assert!(write_slots.acquire().await.is_ok());
    }
}
