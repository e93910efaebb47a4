//! DELETE of a collection: everything that is selected goes, one object after the other.
//!
//! It is not atomic: what was deleted before an error stays deleted. The answer lists what was there.

use netloom_store::ReadError;
use serde_json::Value;

use super::{
    Api, answer::Answer, asked::Asked, chunks::Chunks, list, options::ListOptions, selection::Selection, stored,
};
use crate::{
    catalogue::Resource,
    request::RequestInfo,
    status_error::{Outcome, Status},
    tables::Shaper,
};

impl Api {
    pub(crate) async fn delete_collection(&self, asked: &Asked<'_>) -> Outcome<Answer> {
        let limit = ListOptions::parse(&asked.info.query, false)?.limit;
        let selection = Selection::parse(asked)?;
        let options = Self::delete_options(asked)?;
        let mut shaper = Shaper::list(asked, self.source.now())?;
        let mut chunks = Chunks::new(selection.range(asked));
        let (mut text, mut count) = (Vec::new(), 0);
        let internal = |error: ReadError| Status::internal(&error.to_string());
        'pages: while let Some(page) = chunks.next(&self.store, usize::MAX).await.map_err(internal)? {
            for (key, found) in &page.items {
                let object = stored::decode(&asked.resource, found)?;
                if !selection.matches(&asked.resource, &object) {
                    continue;
                }
                let info = one(asked.info, &asked.resource, key.namespace());
                let single = Asked { info: &info, resource: asked.resource.clone(), ..*asked };
                match self.delete_object(&single, key.name(), &options).await {
                    Err(status) if status.code() != 404 => return Err(status),
                    Ok(_) | Err(_) => {}
                }
                if count > 0 {
                    text.push(b',');
                }
                count += 1;
                shaper.item(object, &mut text)?;
                if limit.is_some_and(|limit| count >= limit) {
                    break 'pages;
                }
            }
        }
        let mut whole = shaper.head(&Value::Object(list::whole_metadata(asked, chunks.revision().unwrap_or_default())));
        whole.extend_from_slice(&text);
        whole.extend_from_slice(Shaper::TAIL);
        Ok(Answer::Text { code: 200, text: whole.into() })
    }
}

/// The request as if it were about one namespace.
fn one(info: &RequestInfo, resource: &Resource, namespace: &str) -> RequestInfo {
    let namespace = resource.namespaced.then(|| namespace.to_owned());
    RequestInfo { namespace, ..info.clone() }
}
