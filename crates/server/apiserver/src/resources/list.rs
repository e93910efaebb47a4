//! GET of a collection: all objects, or a page of them, as they were at one revision.
//!
//! Objects are turned into text one by one, so a list costs the memory of its text and not of its
//! objects; a long one is sent while it is read and costs only the part under way.

use bytes::Bytes;
use netloom_store::{Key, Object, Page, ReadError, Revision};
use serde_json::{Map, Value, json};

use super::{
    Api,
    answer::Answer,
    asked::Asked,
    chunks::Chunks,
    options::{self, ListOptions, Match},
    pages::Token,
    selection::Selection,
    stored,
};
use crate::{
    catalogue::Resource,
    negotiate::{Form, Media},
    status_error::{Outcome, Status},
    tables::Shaper,
};

/// A page that has so many bytes is sent with fewer objects than it may have; the client goes on behind
/// it as behind any other.
const LONGEST_PAGE: usize = 8 << 20;

/// So many bytes of a list are gathered for a client that wants it in a form that cannot be sent while
/// it is read.
const LONGEST_TEXT: usize = 64 << 20;

/// What was gathered for one answer.
struct Gathered {
    revision: Revision,
    text: Vec<u8>,
    count: usize,
    /// The last object that was looked at, when there may be more.
    last: Option<Key>,
    /// How many objects there are from the first one of this answer on, where that is known.
    total: Option<u64>,
}

impl Api {
    pub(crate) async fn list(&self, asked: &Asked<'_>) -> Outcome<Answer> {
        let options = ListOptions::parse(&asked.info.query, false)?;
        let selection = Selection::parse(asked)?;
        let token =
            options.token.as_deref().map(|token| Token::decode(token, asked.resource.namespaced)).transpose()?;
        let at = self.snapshot(&options, token.as_ref()).await?;
        let after = token.as_ref().map(|token| {
            let namespace = token.namespace.as_deref().or(asked.namespace()).unwrap_or_default();
            Key::new(&asked.resource.store_name(), namespace, &token.name)
        });
        let mut shaper = Shaper::list(asked, self.source.now())?;
        let mut chunks = Chunks::from(selection.range(asked), at, after);
        let expired = |error: ReadError| expired(error, token.as_ref());
        // What may be of any age comes from what is at hand, all of it.
        let limit = options.limit.filter(|_| options.revision != "0");
        let gathered = self.gather(asked, &selection, limit, &mut chunks, &mut shaper).await.map_err(expired)??;
        if limit.is_none() && gathered.last.is_some() && asked.output.media == Media::Json && !asked.output.pretty {
            return Ok(self.stream(asked, selection, gathered, chunks, shaper));
        }
        let gathered = if limit.is_some() {
            gathered
        } else {
            self.rest(asked, &selection, gathered, &mut chunks, &mut shaper).await.map_err(expired)??
        };
        let total = token.as_ref().and_then(|token| token.left).or(gathered.total);
        let gathered = Gathered { total: total.filter(|_| selection.is_everything()), ..gathered };
        let mut text = shaper.head(&list_metadata(asked, &gathered));
        text.extend_from_slice(&gathered.text);
        text.extend_from_slice(Shaper::TAIL);
        Ok(Answer::Text { code: 200, text: text.into() })
    }

    /// The revision at which the list is read; none for the newest.
    async fn snapshot(&self, options: &ListOptions, token: Option<&Token>) -> Outcome<Option<Revision>> {
        let wanted = options.revision.as_str();
        if let Some(token) = token {
            if !wanted.is_empty() && wanted != "0" {
                return Err(Status::bad_request("specifying resource version is not allowed when using continue"));
            }
            return Ok(token.revision.map(Revision));
        }
        if wanted.is_empty() {
            return Ok(None);
        }
        let wanted = options::revision(wanted)
            .map_err(|status| Status::bad_request(format!("invalid resource version: {}", status.message())))?;
        if wanted == 0 {
            return Ok(None);
        }
        self.wait_for(wanted).await?;
        // A page of a named revision has always meant exactly that one.
        let exact = match options.matching {
            Match::Exact => true,
            Match::NotOlderThan => false,
            Match::Unset => options.limit.is_some(),
        };
        Ok(exact.then_some(Revision(wanted)))
    }

    /// The first part: up to the limit, or one chunk.
    async fn gather(
        &self,
        asked: &Asked<'_>,
        selection: &Selection,
        limit: Option<usize>,
        chunks: &mut Chunks,
        shaper: &mut Shaper,
    ) -> Result<Outcome<Gathered>, ReadError> {
        let mut gathered = Gathered { revision: Revision(0), text: Vec::new(), count: 0, last: None, total: None };
        loop {
            let most = limit.map_or(usize::MAX, |limit| limit - gathered.count);
            let first = gathered.revision == Revision(0);
            let Some(page) = chunks.next(&self.store, most).await? else { return Ok(Ok(gathered)) };
            if first {
                gathered.total = page.remaining.map(|left| left + page.items.len() as u64);
            }
            gathered.revision = page.revision;
            if let Err(status) = Self::render(asked, selection, &page, &mut gathered, shaper) {
                return Ok(Err(status));
            }
            let full = limit.is_none_or(|limit| gathered.count >= limit || gathered.text.len() >= LONGEST_PAGE);
            if gathered.last.is_none() || full {
                return Ok(Ok(gathered));
            }
        }
    }

    /// What follows the first part, into the same text.
    async fn rest(
        &self,
        asked: &Asked<'_>,
        selection: &Selection,
        mut gathered: Gathered,
        chunks: &mut Chunks,
        shaper: &mut Shaper,
    ) -> Result<Outcome<Gathered>, ReadError> {
        while let Some(page) = chunks.next(&self.store, usize::MAX).await? {
            if let Err(status) = Self::render(asked, selection, &page, &mut gathered, shaper) {
                return Ok(Err(status));
            }
            if gathered.text.len() > LONGEST_TEXT {
                let why = "the list is too long to be sent in this form at once: ask for pages with \"limit\", \
                           or for plain JSON";
                return Ok(Err(Status::too_large(why)));
            }
        }
        Ok(Ok(gathered))
    }

    fn render(
        asked: &Asked<'_>,
        selection: &Selection,
        page: &Page,
        gathered: &mut Gathered,
        shaper: &mut Shaper,
    ) -> Outcome<()> {
        for (_, object) in &page.items {
            if item(&asked.resource, selection, object, gathered.count > 0, shaper, &mut gathered.text)? {
                gathered.count += 1;
            }
        }
        gathered.last = page.items.last().filter(|_| page.more).map(|(key, _)| key.clone());
        Ok(())
    }

    /// Sends a long list while it is read.
    fn stream(
        &self,
        asked: &Asked<'_>,
        selection: Selection,
        mut first: Gathered,
        chunks: Chunks,
        shaper: Shaper,
    ) -> Answer {
        let (sender, body) = crate::body::stream();
        let first_text = std::mem::take(&mut first.text);
        let whole = Gathered { last: None, text: Vec::new(), ..first };
        let mut head = shaper.head(&list_metadata(asked, &whole));
        head.extend_from_slice(&first_text);
        let resource = asked.resource.clone();
        let store = self.store.clone();
        tokio::spawn(async move {
            let (mut chunks, mut shaper, mut any) = (chunks, shaper, whole.count > 0);
            if sender.send(head.into()).await.is_err() {
                return;
            }
            loop {
                let page = match chunks.next(&store, usize::MAX).await {
                    Ok(Some(page)) => page,
                    Ok(None) => break,
                    // A stream that cannot go on ends in the middle, which no reader takes for a whole.
                    Err(error) => return tracing::warn!(%error, "a list breaks off"),
                };
                let mut text = Vec::new();
                for (_, object) in &page.items {
                    let Ok(written) = item(&resource, &selection, object, any, &mut shaper, &mut text) else { return };
                    any |= written;
                }
                if !text.is_empty() && sender.send(Bytes::from(text)).await.is_err() {
                    return;
                }
            }
            // The client may be gone; there is nobody else to tell.
            let _ = sender.send(Bytes::copy_from_slice(Shaper::TAIL)).await;
        });
        Answer::Stream { body }
    }
}

/// Writes one object of a list if it is meant; says whether it was.
fn item(
    resource: &Resource,
    selection: &Selection,
    object: &Object,
    comma: bool,
    shaper: &mut Shaper,
    text: &mut Vec<u8>,
) -> Outcome<bool> {
    let before = text.len();
    if comma {
        text.push(b',');
    }
    if selection.is_everything()
        && shaper.is_object()
        && stored::splice(resource, &object.bytes, object.revision, resource.builtin.is_none(), text)
    {
        return Ok(true);
    }
    let object = stored::decode(resource, object)?;
    if !selection.matches(resource, &object) {
        text.truncate(before);
        return Ok(false);
    }
    shaper.item(object, text)?;
    Ok(true)
}

/// The metadata of a list that has no more to come.
pub(crate) fn whole_metadata(asked: &Asked<'_>, revision: Revision) -> Map<String, Value> {
    let mut metadata = Map::new();
    metadata.insert("resourceVersion".into(), json!(revision.to_string()));
    // Lists of custom objects say so even when there is no more.
    if asked.resource.builtin.is_none() && asked.output.form == Form::Object {
        metadata.insert("continue".into(), json!(""));
    }
    metadata
}

fn list_metadata(asked: &Asked<'_>, gathered: &Gathered) -> Value {
    let mut metadata = whole_metadata(asked, gathered.revision);
    let left = gathered.total.map(|total| total.saturating_sub(gathered.count as u64));
    if let Some(last) = &gathered.last {
        // Lists over all namespaces go on behind a namespace and a name, others behind a name.
        let across = asked.resource.namespaced && asked.namespace().is_none();
        let token = Token {
            revision: Some(gathered.revision.0),
            namespace: across.then(|| last.namespace().to_owned()),
            name: last.name().to_owned(),
            left,
        };
        metadata.insert("continue".into(), json!(token.encode()));
        if let Some(left) = left {
            metadata.insert("remainingItemCount".into(), json!(left));
        }
    }
    Value::Object(metadata)
}

fn expired(error: ReadError, token: Option<&Token>) -> Status {
    match (error, token) {
        (ReadError::Compacted { .. }, Some(token)) => token.too_old(),
        (ReadError::Compacted { .. }, None) => Status::expired("The resourceVersion for the provided list is too old."),
        (ReadError::Future { asked, current }, _) => Status::revision_too_large(asked.0, current.0),
        (error @ (ReadError::Closed | ReadError::Unavailable { .. } | ReadError::Damaged { .. }), _) => {
            Status::internal(&error.to_string())
        }
    }
}
