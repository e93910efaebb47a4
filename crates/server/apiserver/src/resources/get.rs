//! GET: one object.

use netloom_store::Key;
use serde_json::Value;

use super::{Api, answer::Answer, asked::Asked, options, stored};
use crate::status_error::{Outcome, Status};

impl Api {
    pub(crate) async fn get(&self, asked: &Asked<'_>) -> Outcome<Answer> {
        let name = asked.name()?;
        let key = asked.key(name)?;
        let wanted = asked.info.query.get("resourceVersion").unwrap_or_default();
        if !wanted.is_empty() && wanted != "0" {
            self.wait_for(options::revision(wanted)?).await?;
        }
        let object = self.found(asked, &key)?;
        Ok(Answer::object(200, object))
    }

    /// An object that must be there.
    pub(crate) fn found(&self, asked: &Asked<'_>, key: &Key) -> Outcome<Value> {
        let found = self.stored(key)?;
        let found = found.ok_or_else(|| Status::not_found(asked.resource.qualified(), key.name()))?;
        stored::decode(&asked.resource, &found)
    }
}
