//! In which form a body comes and in which form the answer goes.
//!
//! Pure: headers in, a decision or a refusal out. Protobuf is read where kinds have a message for it,
//! and never written: a client that also accepts JSON gets JSON. CBOR is neither read nor written.

use std::cmp::Ordering;

use crate::{
    protobuf,
    status_error::{Outcome, Status},
};

/// The types that answers may have, in the order that refusals list them.
pub const ANSWERS: [&str; 2] = ["application/json", "application/yaml"];
/// The same for bodies of kinds that have a message.
const BODIES: [&str; 3] = [ANSWERS[0], ANSWERS[1], protobuf::MEDIA];

/// How text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

impl Media {
    /// The value of `Content-Type`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => ANSWERS[0],
            Self::Yaml => ANSWERS[1],
        }
    }
}

/// Which version of `meta.k8s.io` a transformed answer is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetaVersion {
    /// `v1`.
    V1,
    /// `v1beta1`, asked for as a second choice by old clients.
    V1beta1,
}

impl MetaVersion {
    /// Group and version, as an object carries them.
    pub fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// What is made of the objects before they are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Nothing: they go as they are.
    Object,
    /// Rows for people.
    Table(MetaVersion),
    /// Only metadata.
    Partial(MetaVersion),
    /// Only metadata, and the client expects a list.
    PartialList(MetaVersion),
}

/// How to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Output {
    /// How text is written.
    pub media: Media,
    /// What is made of the objects.
    pub form: Form,
    /// Whether people read it.
    pub pretty: bool,
}

impl Output {
    /// The answer to those who ask for nothing in particular.
    pub const PLAIN: Self = Self { media: Media::Json, form: Form::Object, pretty: false };
}

/// Chooses the form of the answer by the `Accept` header.
pub fn output(accept: Option<&str>, pretty: Option<&str>) -> Outcome<Output> {
    let wanted_pretty = matches!(pretty, Some("true" | "1" | "t" | "T" | "True" | "TRUE"));
    let accept = accept.unwrap_or_default();
    if accept.trim().is_empty() {
        return Ok(Output { pretty: wanted_pretty, ..Output::PLAIN });
    }
    let mut clauses: Vec<Clause<'_>> = accept.split(',').filter_map(Clause::parse).collect();
    clauses.sort_by(Clause::order);
    let found =
        clauses.iter().find_map(|clause| [Media::Json, Media::Yaml].into_iter().find_map(|media| clause.output(media)));
    match found {
        Some(output) => Ok(Output { pretty: output.pretty || wanted_pretty, ..output }),
        None => {
            Err(Status::not_acceptable(format!("only the following media types are accepted: {}", ANSWERS.join(", "))))
        }
    }
}

/// Which of several types to answer with, for what is no object. Without a preference it is the first.
pub(crate) fn choose<T: Copy>(accept: Option<&str>, offers: &[(&str, T)]) -> Option<T> {
    let accept = accept.map(str::trim).filter(|accept| !accept.is_empty()).unwrap_or("*/*");
    let mut clauses: Vec<Clause<'_>> = accept.split(',').filter_map(Clause::parse).collect();
    clauses.sort_by(Clause::order);
    clauses.iter().find_map(|clause| offers.iter().find(|(name, _)| clause.names(name)).map(|(_, offer)| *offer))
}

/// Built-in kinds take no half wildcard: each type is either named or `*/*`.
pub fn produces(accept: Option<&str>) -> Outcome<()> {
    let accept = accept.unwrap_or_default();
    let fits = |part: &str| {
        let name = part.split(';').next().unwrap_or_default().trim();
        name == "*/*" || ANSWERS.contains(&name)
    };
    if accept.trim().is_empty() || accept.split(',').any(fits) {
        return Ok(());
    }
    let list = ANSWERS.join(", ");
    Err(Status::generic(406, &format!("406: Not Acceptable\n\nAvailable representations: {list}")))
}

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// As text.
    Text(Media),
    /// As a message in its envelope.
    Protobuf,
}

/// Reads the `Content-Type` of an object or of options. Custom kinds have no message.
pub fn input(content_type: Option<&str>, has_message: bool) -> Outcome<Written> {
    let name = media_name(content_type);
    match name.as_str() {
        "" if content_type.is_none_or(str::is_empty) => Ok(Written::Text(Media::Json)),
        "application/json" => Ok(Written::Text(Media::Json)),
        "application/yaml" => Ok(Written::Text(Media::Yaml)),
        protobuf::MEDIA if has_message => Ok(Written::Protobuf),
        _ if has_message => Err(Status::unsupported_media_type(&BODIES)),
        _ => Err(Status::unsupported_media_type(&ANSWERS)),
    }
}

/// The four ways to change a part of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchType {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// The merge that knows the keys of lists; built-in kinds only.
    Strategic,
    /// Server-side apply.
    Apply,
}

/// Reads the `Content-Type` of a patch.
pub fn patch(content_type: Option<&str>, builtin: bool) -> Outcome<PatchType> {
    let whole = content_type.unwrap_or_default();
    let name = whole.split(';').next().unwrap_or_default();
    match name {
        "application/json-patch+json" => Ok(PatchType::Json),
        "application/merge-patch+json" => Ok(PatchType::Merge),
        "application/apply-patch+yaml" => Ok(PatchType::Apply),
        "application/strategic-merge-patch+json" if builtin => Ok(PatchType::Strategic),
        _ if builtin => Err(Status::generic(415, "415: Unsupported Media Type")),
        _ => Err(Status::unsupported_media_type(&[
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/apply-patch+yaml",
        ])),
    }
}

fn media_name(content_type: Option<&str>) -> String {
    let whole = content_type.unwrap_or_default();
    whole.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// One part of an `Accept` header.
#[derive(Debug)]
struct Clause<'a> {
    kind: &'a str,
    subtype: &'a str,
    quality: f32,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Clause<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';');
        let name = parts.next()?.trim();
        let (kind, subtype) = if name == "*" { ("*", "*") } else { name.split_once('/')? };
        let mut clause = Self { kind: kind.trim(), subtype: subtype.trim(), quality: 1.0, parameters: Vec::new() };
        for part in parts {
            let Some((key, value)) = part.split_once('=') else { continue };
            let (key, value) = (key.trim(), value.trim());
            if key == "q" {
                clause.quality = value.parse().unwrap_or(1.0);
            } else {
                clause.parameters.push((key, value));
            }
        }
        Some(clause)
    }

    /// Higher quality first, then named types before wildcards; otherwise as written.
    fn order(&self, other: &Self) -> Ordering {
        let rank = |clause: &Self| (clause.kind == "*", clause.subtype == "*");
        other.quality.total_cmp(&self.quality).then_with(|| rank(self).cmp(&rank(other)))
    }

    fn parameter(&self, key: &str) -> &'a str {
        self.parameters.iter().find(|(name, _)| *name == key).map_or("", |(_, value)| value)
    }

    /// Whether a type is meant.
    fn names(&self, media: &str) -> bool {
        let named = media
            .split_once('/')
            .is_some_and(|(kind, subtype)| self.kind == kind && (self.subtype == subtype || self.subtype == "*"));
        named || self.kind == "*" && self.subtype == "*"
    }

    fn output(&self, media: Media) -> Option<Output> {
        if !self.names(media.name()) {
            return None;
        }
        let stream = self.parameter("stream");
        if !stream.is_empty() && stream != "watch" {
            return None;
        }
        let form = self.form()?;
        Some(Output { media, form, pretty: self.parameter("pretty") == "1" })
    }

    fn form(&self) -> Option<Form> {
        let (kind, group, version) = (self.parameter("as"), self.parameter("g"), self.parameter("v"));
        if kind.is_empty() && group.is_empty() && version.is_empty() {
            return Some(Form::Object);
        }
        let version = match (group, version) {
            ("meta.k8s.io", "v1") => MetaVersion::V1,
            ("meta.k8s.io", "v1beta1") => MetaVersion::V1beta1,
            _ => return None,
        };
        match kind {
            "Table" => Some(Form::Table(version)),
            "PartialObjectMetadata" => Some(Form::Partial(version)),
            "PartialObjectMetadataList" => Some(Form::PartialList(version)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_accept_header_decides() {
        let table = Form::Table(MetaVersion::V1);
        let cases = [
            ("", Some((Media::Json, Form::Object))),
            ("*/*", Some((Media::Json, Form::Object))),
            ("application/*", Some((Media::Json, Form::Object))),
            ("application/yaml", Some((Media::Yaml, Form::Object))),
            ("application/json;q=0.5,application/yaml", Some((Media::Yaml, Form::Object))),
            ("application/vnd.kubernetes.protobuf,application/json", Some((Media::Json, Form::Object))),
            ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", Some((Media::Json, table))),
            ("application/json;as=Table;v=v9;g=meta.k8s.io,application/json", Some((Media::Json, Form::Object))),
            ("application/json;as=Other;v=v1;g=meta.k8s.io", None),
            (
                "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
                Some((Media::Json, Form::Partial(MetaVersion::V1))),
            ),
            ("application/json;stream=watch", Some((Media::Json, Form::Object))),
            ("application/json;profile=nopeer", Some((Media::Json, Form::Object))),
            ("text/html", None),
            ("application/vnd.kubernetes.protobuf", None),
        ];
        for (header, expected) in cases {
            let seen = output(Some(header), None).ok().map(|output| (output.media, output.form));
            assert_eq!(seen, expected, "{header}");
        }
    }

    #[test]
    fn what_is_no_object_has_types_of_its_own() {
        let offers = [("application/json", 1), ("application/x+protobuf", 2)];
        let cases = [
            (None, Some(1)),
            (Some(""), Some(1)),
            (Some("*/*"), Some(1)),
            (Some("application/x+protobuf, application/json"), Some(2)),
            (Some("application/x+protobuf;q=0.5, application/json"), Some(1)),
            (Some("text/html"), None),
        ];
        for (accept, expected) in cases {
            assert_eq!(choose(accept, &offers), expected, "{accept:?}");
        }
    }

    #[test]
    fn built_in_kinds_take_no_half_wildcard() {
        assert!(produces(Some("application/*")).is_err());
        assert!(produces(Some("text/html, */*;q=0.1")).is_ok());
        assert!(produces(None).is_ok());
    }

    #[test]
    fn only_kinds_with_a_message_come_as_protobuf() {
        assert_eq!(input(Some("application/vnd.kubernetes.protobuf"), true), Ok(Written::Protobuf));
        assert_eq!(input(Some("Application/YAML; charset=utf-8"), false), Ok(Written::Text(Media::Yaml)));
        let refused = |has_message| input(Some("text/xml"), has_message).unwrap_err().message().to_owned();
        assert!(refused(true).ends_with("application/json, application/yaml, application/vnd.kubernetes.protobuf"));
        assert!(refused(false).ends_with("application/json, application/yaml"));
        assert_eq!(input(Some("application/vnd.kubernetes.protobuf"), false).unwrap_err().code(), 415);
    }

    #[test]
    fn patches_are_reported_apart() {
        assert_eq!(patch(Some("application/merge-patch+json; charset=utf-8"), false), Ok(PatchType::Merge));
        assert_eq!(patch(Some("application/strategic-merge-patch+json"), true), Ok(PatchType::Strategic));
        let refused = patch(Some("application/strategic-merge-patch+json"), false).unwrap_err();
        assert_eq!(refused.code(), 415);
        assert!(
            refused
                .message()
                .ends_with("application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml")
        );
        assert_eq!(patch(None, true).unwrap_err().message(), "415: Unsupported Media Type");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_header_gets_an_answer(text in "\\PC{0,80}") {
            let _ = output(Some(&text), None);
            let _ = input(Some(&text), true);
        }
    }
}
