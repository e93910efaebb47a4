//! All objects of a kind, once, as the server's own store has them.

use std::sync::Arc;

use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, ListParams},
};
use serde_json::Value;

use crate::whole::read;

/// So many objects come in one answer.
const PAGE: u32 = 500;

/// Reads all objects of a kind, in pages of one moment. No version is named, so that no cache answers: what was written
/// before this began is in it. A kind that the server does not have has no objects.
pub async fn list(client: Client, resource: &ApiResource) -> Result<Vec<Arc<Value>>, kube::Error> {
    let api: Api<DynamicObject> = Api::all_with(client, resource);
    let (mut objects, mut params) = (Vec::new(), ListParams::default().limit(PAGE));
    loop {
        let page = match api.list(&params).await {
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(objects),
            page => page?,
        };
        objects.extend(page.items.into_iter().map(|object| read(object, resource)));
        match page.metadata.continue_.filter(|next| !next.is_empty()) {
            Some(next) => params = params.continue_token(&next),
            None => return Ok(objects),
        }
    }
}
