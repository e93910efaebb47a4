//! What the parameters of a request ask for, and why some are refused.
//!
//! Pure: a query (and for deletions a body) in, options or a refusal out.

use netloom_schema::FieldError;
use serde_json::{Value, json};

use crate::{
    request::Query,
    status_error::{Outcome, Qualified, Status},
};

/// The group of all options.
const META: &str = "meta.k8s.io";

/// The longest name of a field manager, in bytes.
const LONGEST_MANAGER: usize = 128;

/// What happens to unknown and repeated fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Validation {
    /// They are dropped.
    Ignore,
    /// They are dropped and the client is notified.
    Warn,
    /// The request is refused.
    Strict,
}

/// Which write the options belong to: each has a kind of its own in messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Write {
    /// A creation.
    Create,
    /// A replacement.
    Update,
    /// A patch; only an apply may force.
    Patch {
        /// Whether it is an apply.
        apply: bool,
    },
}

/// The options of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WriteOptions {
    /// Everything happens but the storing.
    pub(crate) dry_run: bool,
    /// Who owns the fields that change; empty for the client's own name.
    pub(crate) manager: String,
    /// What happens to unknown fields.
    pub(crate) validation: Validation,
    /// Whether an apply takes fields from others.
    pub(crate) force: bool,
}

impl WriteOptions {
    /// Reads the options of a write.
    pub(crate) fn parse(query: &Query, write: Write) -> Outcome<Self> {
        let manager = query.get("fieldManager").unwrap_or_default();
        let validation = query.get("fieldValidation").unwrap_or_default();
        let force = query.get("force").filter(|text| !text.is_empty()).map(truth);
        let mut errors = Vec::new();
        let kind = match write {
            Write::Create => "CreateOptions",
            Write::Update => "UpdateOptions",
            Write::Patch { apply } => {
                if apply && manager.is_empty() {
                    errors.push(FieldError::required("fieldManager", "is required for apply patch"));
                }
                if !apply && force.is_some() {
                    errors.push(FieldError::forbidden("force", "may not be specified for non-apply patch"));
                }
                "PatchOptions"
            }
        };
        errors.extend(manager_errors(manager));
        let dry_run = dry_run(query.all("dryRun"), &mut errors);
        let validation = match validation {
            "" | "Warn" => Validation::Warn,
            "Ignore" => Validation::Ignore,
            "Strict" => Validation::Strict,
            other => {
                let known = ["", "Ignore", "Strict", "Warn"];
                errors.push(FieldError::not_supported("fieldValidation", &json!(other), &known));
                Validation::Warn
            }
        };
        if !errors.is_empty() {
            return Err(Status::invalid(Qualified::new(META, kind), "", &errors));
        }
        Ok(Self { dry_run, manager: manager.into(), validation, force: force.unwrap_or_default() })
    }

    /// The manager, or the client's own name when it gave none.
    pub(crate) fn manager_or<'a>(&'a self, agent: &'a str) -> &'a str {
        if self.manager.is_empty() { agent } else { &self.manager }
    }
}

fn manager_errors(manager: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if manager.len() > LONGEST_MANAGER {
        errors.push(FieldError::too_long("fieldManager", LONGEST_MANAGER));
    }
    for (at, letter) in manager.char_indices().filter(|(_, letter)| letter.is_control()) {
        let why = format!("invalid character U+{:04X} (at position {at})", u32::from(letter));
        errors.push(FieldError::invalid_text("fieldManager", manager, why));
    }
    errors
}

fn dry_run<'a>(values: impl Iterator<Item = &'a str>, errors: &mut Vec<FieldError>) -> bool {
    let values: Vec<&str> = values.filter(|value| !value.is_empty()).collect();
    if values.iter().any(|value| *value != "All") {
        errors.push(FieldError::not_supported("dryRun", &json!(values), &["All"]));
    }
    !values.is_empty()
}

/// What becomes of the objects that a deleted one owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Propagation {
    /// They go after it.
    Background,
    /// They go before it.
    Foreground,
    /// They stay.
    Orphan,
}

/// The options of a deletion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DeleteOptions {
    /// Everything happens but the storing.
    pub(crate) dry_run: bool,
    /// Seconds that the object may still run.
    pub(crate) grace: Option<i64>,
    /// Only an object with this uid goes.
    pub(crate) uid: Option<String>,
    /// Only an object with this revision goes.
    pub(crate) revision: Option<String>,
    /// What becomes of what it owns, where it was reported.
    pub(crate) propagation: Option<Propagation>,
    /// The older way to say it: whether what it owns stays.
    pub(crate) orphan: Option<bool>,
}

impl DeleteOptions {
    /// Reads the options from a body, or from the query when there is none.
    pub(crate) fn parse(query: &Query, body: Option<&Value>) -> Outcome<Self> {
        let from_query;
        let source = if let Some(body) = body {
            body
        } else {
            from_query = options_of(query)?;
            &from_query
        };
        let mut errors = Vec::new();
        let propagation = source.get("propagationPolicy").filter(|value| !value.is_null());
        let orphan = source.get("orphanDependents").and_then(Value::as_bool);
        if let (Some(_), Some(policy)) = (orphan, propagation) {
            let why = "orphanDependents and deletionPropagation cannot be both set";
            errors.push(FieldError::invalid("propagationPolicy", policy, why));
        }
        let propagation = match propagation.map(|value| value.as_str().unwrap_or_default()) {
            None => None,
            Some("Foreground") => Some(Propagation::Foreground),
            Some("Background") => Some(Propagation::Background),
            Some("Orphan") => Some(Propagation::Orphan),
            Some(other) => {
                let known = ["Foreground", "Background", "Orphan", "nil"];
                errors.push(FieldError::not_supported("propagationPolicy", &json!(other), &known));
                None
            }
        };
        let dry = source.get("dryRun").and_then(Value::as_array);
        let dry_run = dry_run(dry.into_iter().flatten().filter_map(Value::as_str), &mut errors);
        if !errors.is_empty() {
            return Err(Status::invalid(Qualified::new(META, "DeleteOptions"), "", &errors));
        }
        let condition = |key: &str| {
            source.get("preconditions").and_then(|all| all.get(key)).and_then(Value::as_str).map(str::to_owned)
        };
        let grace = source.get("gracePeriodSeconds").and_then(Value::as_i64);
        Ok(Self { dry_run, grace, uid: condition("uid"), revision: condition("resourceVersion"), propagation, orphan })
    }
}

/// The options of a deletion as the query says them, in the form of a body.
fn options_of(query: &Query) -> Outcome<Value> {
    let mut options = json!({});
    if let Some(grace) = integer(query, "gracePeriodSeconds")? {
        options["gracePeriodSeconds"] = json!(grace);
    }
    if let Some(policy) = query.get("propagationPolicy") {
        options["propagationPolicy"] = json!(policy);
    }
    if let Some(orphan) = query.get("orphanDependents") {
        options["orphanDependents"] = json!(truth(orphan));
    }
    options["dryRun"] = json!(query.all("dryRun").collect::<Vec<_>>());
    Ok(options)
}

/// How a list's revision is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Match {
    /// Not specified.
    Unset,
    /// This revision.
    Exact,
    /// This one or a newer.
    NotOlderThan,
}

/// The options of a list or a watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListOptions {
    /// The most objects on a page.
    pub(crate) limit: Option<usize>,
    /// Where to go on.
    pub(crate) token: Option<String>,
    /// The revision, as it was written.
    pub(crate) revision: String,
    /// How the revision is meant.
    pub(crate) matching: Match,
    /// Whether a watch wants bookmarks.
    pub(crate) bookmarks: bool,
    /// Whether a watch begins with what is there.
    pub(crate) initial: Option<bool>,
    /// When a watch ends, in seconds.
    pub(crate) timeout: Option<u64>,
}

impl ListOptions {
    /// Reads the options of a list, or of a watch.
    pub(crate) fn parse(query: &Query, watch: bool) -> Outcome<Self> {
        let text = |key: &str| query.get(key).unwrap_or_default().to_owned();
        let limit = integer(query, "limit")?.and_then(|limit| usize::try_from(limit).ok()).filter(|limit| *limit > 0);
        let timeout = integer(query, "timeoutSeconds")?.and_then(|time| u64::try_from(time).ok());
        let initial = query.get("sendInitialEvents").map(truth);
        let mut options = Self {
            limit,
            token: query.get("continue").filter(|token| !token.is_empty()).map(str::to_owned),
            revision: text("resourceVersion"),
            matching: Match::Unset,
            bookmarks: query.get("allowWatchBookmarks").is_some_and(truth),
            initial,
            timeout,
        };
        let matching = text("resourceVersionMatch");
        let errors = if watch {
            // Clients that say nothing and have no revision get what is there first.
            let fresh = matches!(options.revision.as_str(), "" | "0");
            if fresh && initial.is_none() && matching.is_empty() {
                options.initial = Some(true);
                options.matching = Match::NotOlderThan;
                return Ok(options);
            }
            options.watch_errors(&matching)
        } else {
            options.list_errors(&matching)
        };
        if !errors.is_empty() {
            return Err(Status::invalid(Qualified::new(META, "ListOptions"), "", &errors));
        }
        options.matching = match matching.as_str() {
            "Exact" => Match::Exact,
            "NotOlderThan" => Match::NotOlderThan,
            _ => Match::Unset,
        };
        Ok(options)
    }

    fn list_errors(&self, matching: &str) -> Vec<FieldError> {
        const PATH: &str = "resourceVersionMatch";
        let mut errors = Vec::new();
        if !matching.is_empty() {
            if self.revision.is_empty() {
                errors.push(FieldError::forbidden(
                    PATH,
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                ));
            }
            if self.token.is_some() {
                errors.push(FieldError::forbidden(PATH, "resourceVersionMatch is forbidden when continue is provided"));
            }
            if !matches!(matching, "Exact" | "NotOlderThan") {
                errors.push(FieldError::not_supported(PATH, &json!(matching), &["Exact", "NotOlderThan", ""]));
            }
            if matching == "Exact" && self.revision == "0" {
                let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                errors.push(FieldError::forbidden(PATH, why));
            }
        }
        if self.initial.is_some() {
            errors.push(FieldError::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
        }
        errors
    }

    fn watch_errors(&self, matching: &str) -> Vec<FieldError> {
        const PATH: &str = "resourceVersionMatch";
        let mut errors = Vec::new();
        if self.initial.is_some() && matching != "NotOlderThan" {
            let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            errors.push(FieldError::forbidden(PATH, why));
        }
        if !matching.is_empty() {
            if self.initial.is_none() {
                let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
                errors.push(FieldError::forbidden(PATH, why));
            }
            if matching != "NotOlderThan" {
                errors.push(FieldError::not_supported(PATH, &json!(matching), &["NotOlderThan"]));
            }
            if self.token.is_some() {
                errors.push(FieldError::forbidden(PATH, "resourceVersionMatch is forbidden when continue is provided"));
            }
        }
        errors
    }
}

/// A whole number of the query; empty counts as not set.
fn integer(query: &Query, key: &str) -> Outcome<Option<i64>> {
    let Some(text) = query.get(key).filter(|text| !text.is_empty()) else { return Ok(None) };
    let number =
        text.parse().map_err(|_| Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax")));
    number.map(Some)
}

/// A switch of the query: on unless it says no.
fn truth(text: &str) -> bool {
    !matches!(text.to_ascii_lowercase().as_str(), "false" | "0")
}

/// A revision as clients write it.
pub(crate) fn revision(text: &str) -> Outcome<u64> {
    text.parse().map_err(|_| {
        Status::bad_request(format!(
            "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(query: &str, write: Write) -> Result<WriteOptions, String> {
        WriteOptions::parse(&Query::parse(query), write).map_err(|status| status.message().to_owned())
    }

    #[test]
    fn options_of_writes_are_read_or_refused() {
        let apply = Write::Patch { apply: true };
        let patch = Write::Patch { apply: false };
        assert!(write("dryRun=All&fieldManager=me", Write::Create).unwrap().dry_run);
        assert_eq!(write("fieldValidation=Strict", Write::Update).unwrap().validation, Validation::Strict);
        assert!(write("fieldManager=me&force=true", apply).unwrap().force);
        let refused = [
            (
                "",
                apply,
                r#"PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch"#,
            ),
            (
                "force=true",
                patch,
                r#"PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch"#,
            ),
            (
                "fieldValidation=Foo",
                Write::Create,
                r#"CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Foo": supported values: "", "Ignore", "Strict", "Warn""#,
            ),
        ];
        for (query, kind, message) in refused {
            assert_eq!(write(query, kind).unwrap_err(), message);
        }
    }

    #[test]
    fn a_deletion_takes_its_options_from_the_body_or_the_query() {
        let query = Query::parse("propagationPolicy=Orphan&gracePeriodSeconds=3");
        let options = DeleteOptions::parse(&query, None).unwrap();
        assert_eq!((options.propagation, options.grace), (Some(Propagation::Orphan), Some(3)));
        let body = json!({"propagationPolicy": "Foreground", "preconditions": {"uid": "u"}, "dryRun": ["All"]});
        let options = DeleteOptions::parse(&query, Some(&body)).unwrap();
        assert_eq!(options.propagation, Some(Propagation::Foreground));
        assert_eq!(options.uid.as_deref(), Some("u"));
        assert!(options.dry_run);
        let both = json!({"propagationPolicy": "Orphan", "orphanDependents": true});
        assert_eq!(DeleteOptions::parse(&query, Some(&both)).unwrap_err().code(), 422);
    }

    #[test]
    fn a_list_and_a_watch_have_different_rules() {
        let list = |query: &str| ListOptions::parse(&Query::parse(query), false).map_err(|s| s.code());
        let watch = |query: &str| ListOptions::parse(&Query::parse(query), true).map_err(|s| s.code());
        assert_eq!(list("limit=abc"), Err(400));
        assert_eq!(list("resourceVersionMatch=Exact"), Err(422));
        assert_eq!(list("resourceVersionMatch=Exact&resourceVersion=0"), Err(422));
        assert_eq!(list("resourceVersionMatch=Exact&resourceVersion=3").unwrap().matching, Match::Exact);
        assert_eq!(list("sendInitialEvents=true"), Err(422));
        assert_eq!(watch("sendInitialEvents=true"), Err(422));
        assert_eq!(watch("").unwrap().initial, Some(true));
        assert_eq!(watch("resourceVersion=7").unwrap().initial, None);
        assert_eq!(watch("resourceVersionMatch=NotOlderThan"), Err(422));
    }
}
