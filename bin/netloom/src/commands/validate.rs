//! `netloom validate`: the schema and the rules of every object in some files.
//!
//! The objects are checked against each other: each is reviewed as if it were written while all the
//! others are there. With a cluster, its objects count as well, and those that the files have too are
//! reviewed as updates.

use std::{collections::BTreeMap, sync::Arc};

use netloom_admission::{Objects, Operation, Review, User, View as _};
use netloom_api::{
    GroupKind, Kind, foreign,
    registry::{self, kinds},
};
use netloom_cel::Cel;
use netloom_schema::{
    Cause, FieldError, Schema, aggregate, apply_defaults,
    metadata::{self, NameRule},
    prune, validate,
};
use netloom_types::spelling::nearest;
use serde_json::{Value, json};

use crate::{
    args::{Format, cluster::ValidateArgs},
    cluster::Cluster,
    connection::asynchronously,
    failure::{Exit, Failure},
    manifests::{self, Contents, Flaw, Manifest},
    output::{self, Output},
    settings, text,
};

/// Something to be reported about an object, or about what is none.
struct Finding<'a> {
    about: About<'a>,
    /// Where in the object; empty for the object as a whole.
    path: String,
    message: String,
    refused: bool,
    by: By,
}

/// What finds something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// The object alone: its form and its schema.
    Form,
    /// A rule, which may have looked at other objects.
    Rule,
    /// A rule that did not find an object that is named.
    Reference,
}

/// What a finding is about.
#[derive(Clone, Copy)]
enum About<'a> {
    Object(&'a Manifest),
    Flaw(&'a Flaw),
}

impl<'a> Finding<'a> {
    fn refusal(manifest: &'a Manifest, path: &str, message: String) -> Self {
        Self { about: About::Object(manifest), path: path.to_owned(), message, refused: true, by: By::Form }
    }

    fn line(&self) -> String {
        self.marked(if self.refused { "" } else { "warning: " })
    }

    /// The place of an object, a mark, and what there is to say.
    fn marked(&self, mark: &str) -> String {
        let Self { about, path, message, refused: _, by: _ } = self;
        match about {
            About::Object(manifest) => {
                format!("{}:{}: {}: {mark}{message}", manifest.file, manifest.line_of(path), manifest.title())
            }
            About::Flaw(flaw) => flaw.to_string(),
        }
    }

    fn value(&self) -> Value {
        let Self { about, path, message, refused, by: _ } = self;
        match about {
            About::Object(manifest) => json!({
                "file": manifest.file, "line": manifest.line_of(path),
                "apiVersion": manifest.text("/apiVersion"), "kind": manifest.text("/kind"),
                "namespace": manifest.text("/metadata/namespace"), "name": manifest.text("/metadata/name"),
                "field": path, "message": message, "refused": refused,
            }),
            About::Flaw(flaw) => {
                json!({ "file": flaw.file, "line": flaw.line, "message": message, "refused": refused })
            }
        }
    }
}

pub(crate) fn run(args: &ValidateArgs) -> Result<Exit, Failure> {
    let ValidateArgs { files, config, kubeconfig, format } = args;
    let mut schemas = Schemas::default();
    let Contents { mut manifests, flaws } = manifests::contents(files)?;
    for manifest in &mut manifests {
        schemas.place(manifest);
    }
    let mut stored = match kubeconfig {
        Some(file) => asynchronously_read(file)?,
        None => Objects::default(),
    };
    let existing: Vec<Option<Arc<Value>>> = manifests.iter().map(|manifest| there(&stored, manifest)).collect();
    for manifest in &manifests {
        stored.put(manifest.object.clone());
    }
    if let Some(file) = config {
        stored.put(settings::read(file)?);
    }
    let no_object = |flaw| Finding {
        about: About::Flaw(flaw),
        path: String::new(),
        message: flaw.message.clone(),
        refused: true,
        by: By::Form,
    };
    let mut findings: Vec<Finding<'_>> = flaws.iter().map(no_object).collect();
    findings.extend(repeated(&manifests));
    let mut checked = 0;
    for (manifest, old) in manifests.iter().zip(&existing) {
        checked += usize::from(schemas.check(manifest, old.as_deref(), &stored, &mut findings));
    }
    if kubeconfig.is_none() {
        say_where_was_looked(&mut findings);
    }
    let counted = Counted { checked, others: manifests.len() - checked };
    report(&findings, &counted, kubeconfig.is_none(), format.asked())
}

/// Says of each object that was not found that it was looked for in the given files only.
fn say_where_was_looked(findings: &mut [Finding<'_>]) {
    for finding in findings.iter_mut().filter(|finding| finding.by == By::Reference) {
        finding.message += "; only the given files were looked at: add the file that has it with -f, or count the objects \
                            of a cluster too with --kubeconfig FILE";
    }
}

/// What a server would say to objects, a line each.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// Why it would refuse them.
    pub(super) refusals: Vec<String>,
    /// What it would warn of.
    pub(super) warnings: Vec<String>,
}

/// What a server that has some objects would say to others.
pub(super) fn verdict(mut manifests: Vec<Manifest>, there_now: &[Value]) -> Verdict {
    let mut schemas = Schemas::default();
    for manifest in &mut manifests {
        schemas.place(manifest);
    }
    let mut stored = Objects::default();
    for object in there_now {
        stored.put(object.clone());
    }
    let existing: Vec<Option<Arc<Value>>> = manifests.iter().map(|manifest| there(&stored, manifest)).collect();
    for manifest in &manifests {
        stored.put(manifest.object.clone());
    }
    let mut findings = Vec::new();
    for (manifest, old) in manifests.iter().zip(&existing) {
        schemas.check(manifest, old.as_deref(), &stored, &mut findings);
    }
    let lines = |refused: bool| {
        let findings = findings.iter().filter(|finding| finding.refused == refused);
        findings.map(|finding| finding.marked("")).collect()
    };
    Verdict { refusals: lines(true), warnings: lines(false) }
}

/// What is wrong with the form of an object, in our words: a server that refused it may only say that it does not fit.
pub(super) fn flaws(manifest: &Manifest) -> Vec<String> {
    let (mut schemas, mut manifest, mut findings) = (Schemas::default(), manifest.clone(), Vec::new());
    schemas.place(&mut manifest);
    schemas.check(&manifest, None, &Objects::default(), &mut findings);
    let form = findings.iter().filter(|finding| finding.refused && finding.by == By::Form);
    form.map(|finding| finding.marked("")).collect()
}

/// How many objects there were.
struct Counted {
    checked: usize,
    /// Objects of kinds that have no rules here.
    others: usize,
}

impl Counted {
    fn text(&self) -> String {
        let objects = |count: usize| format!("{count} object{}", if count == 1 { "" } else { "s" });
        match self {
            Self { checked, others: 0 } => format!("{} checked", objects(*checked)),
            Self { checked, others } => {
                format!("{} checked, {} of other kinds not checked", objects(*checked), objects(*others))
            }
        }
    }
}

fn report(findings: &[Finding<'_>], counted: &Counted, alone: bool, format: Option<Format>) -> Result<Exit, Failure> {
    let refused = findings.iter().filter(|finding| finding.refused).count();
    let values = || Value::Array(findings.iter().map(Finding::value).collect());
    let printed = match format {
        Some(Format::Json) => text::json(&values()),
        Some(Format::Yaml) => netloom_yaml::print(&values()),
        Some(Format::Table) | None => findings.iter().map(|finding| finding.line() + "\n").collect(),
    };
    output::data(&output::plain(&printed))?;
    let output = Output::new(format.is_some());
    let counted = counted.text();
    if refused == 0 {
        output.note(&format!("{counted}, nothing to refuse."));
        return Ok(Exit::Done);
    }
    let reasons = if refused == 1 { "1 reason".to_owned() } else { format!("{refused} reasons") };
    output.note(&format!("{counted}, {reasons} to refuse."));
    if alone && findings.iter().any(|finding| finding.refused && finding.by == By::Rule) {
        output.note(
            "Rules saw only the given files. Where one misses what the cluster has, such as its nodes or what they report, \
             add that with -f, or say --kubeconfig FILE.",
        );
    }
    Ok(Exit::Refused)
}

/// Objects that the files have more than once: only the last one would stay.
fn repeated(manifests: &[Manifest]) -> Vec<Finding<'_>> {
    let mut first: BTreeMap<[&str; 4], &Manifest> = BTreeMap::new();
    let mut findings = Vec::new();
    for manifest in manifests {
        let key = ["/apiVersion", "/kind", "/metadata/namespace", "/metadata/name"].map(|part| manifest.text(part));
        if let Some(known) = first.get(&key) {
            let message = format!("the same object is in {}:{} too; keep one of them", known.file, known.line);
            findings.push(Finding::refusal(manifest, "metadata.name", message));
        } else {
            first.insert(key, manifest);
        }
    }
    findings
}

/// The object of the cluster that a manifest would change.
fn there(stored: &Objects, manifest: &Manifest) -> Option<Arc<Value>> {
    let group = manifest.text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
    let namespace = Some(manifest.text("/metadata/namespace")).filter(|namespace| !namespace.is_empty());
    stored.get(GroupKind::new(group, manifest.text("/kind")), namespace, manifest.text("/metadata/name"))
}

/// The schemas that were needed so far, by group and kind.
#[derive(Default)]
struct Schemas(BTreeMap<(&'static str, &'static str), Result<Known, String>>);

/// What the definition of a kind says; making a definition is the slow part.
struct Known {
    schema: Schema,
    namespaced: bool,
}

impl Known {
    fn of(kind: &Kind) -> Result<Self, String> {
        let crd = kind.crd();
        let schema = crd.pointer("/spec/versions/0/schema/openAPIV3Schema").unwrap_or(&Value::Null);
        let schema = Schema::parse(schema, "").map_err(|errors| aggregate(&errors))?;
        let namespaced = crd.pointer("/spec/scope").is_some_and(|scope| scope == "Namespaced");
        Ok(Self { schema, namespaced })
    }
}

impl Schemas {
    /// What the definition of a kind says.
    fn known(&mut self, kind: &Kind) -> &Result<Known, String> {
        self.0.entry((kind.group, kind.kind)).or_insert_with(|| Known::of(kind))
    }

    /// Puts an object that names no namespace where a server would put it, so that it meets itself there.
    fn place(&mut self, manifest: &mut Manifest) {
        let group = manifest.text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
        let Some(kind) = registry::find(group, manifest.text("/kind")) else { return };
        let homeless = manifest.text("/metadata/namespace").is_empty();
        if homeless
            && let Ok(Known { namespaced: true, .. }) = self.known(kind)
            && let Some(metadata) = manifest.object.get_mut("metadata").and_then(Value::as_object_mut)
        {
            metadata.insert("namespace".to_owned(), json!("default"));
        }
    }

    /// Compares an object with its schema and the rules of its kind. Says whether the kind has any here.
    fn check<'a>(
        &mut self,
        manifest: &'a Manifest,
        old: Option<&Value>,
        view: &Objects,
        findings: &mut Vec<Finding<'a>>,
    ) -> bool {
        let mut refuse = |path: &str, message: String| findings.push(Finding::refusal(manifest, path, message));
        let (group, version) =
            manifest.text("/apiVersion").split_once('/').unwrap_or(("", manifest.text("/apiVersion")));
        for duplicate in &manifest.duplicates {
            refuse("", duplicate.clone());
        }
        let Some(kind) = registry::find(group, manifest.text("/kind")) else {
            let ours: Vec<&str> = kinds().iter().filter(|kind| kind.group == group).map(|kind| kind.kind).collect();
            if !ours.is_empty() {
                let name = manifest.text("/kind");
                refuse("kind", format!("{group} has no kind {name}{}", guess(name, ours.iter().copied())));
            }
            let looked_at = foreign::only_one(GroupKind::new(group, manifest.text("/kind")));
            let of_ours = looked_at == Some((manifest.text("/metadata/namespace"), manifest.text("/metadata/name")));
            if of_ours {
                judge(manifest, &manifest.object, old, view, findings);
            }
            return of_ours || !ours.is_empty();
        };
        if kind.version != version {
            refuse("apiVersion", format!("{group} has version {}, not {version}", kind.version));
            return true;
        }
        let Known { schema, namespaced } = match self.known(kind) {
            Ok(known) => known,
            Err(why) => {
                refuse("", format!("the schema of the kind cannot be read: {why}"));
                return true;
            }
        };
        let mut object = manifest.object.clone();
        apply_defaults(schema, &mut object);
        for unknown in prune(schema, &mut object) {
            let hint = meant(schema, &unknown);
            refuse(&unknown, format!("{unknown}: unknown field{hint}"));
        }
        let mut errors = metadata::check_create(&object["metadata"], *namespaced, NameRule::Subdomain);
        errors.extend(validate(schema, &object, old, &Cel::new()));
        let sound = errors.is_empty();
        // That rules were not tried because of what is wrong already is nothing wrong by itself.
        for error in errors.iter().filter(|error| error.path != WHOLE || error.value.as_deref() != Some("null")) {
            refuse(&error.path, error.to_string());
        }
        // The rules read the object in its type, which one that breaks its schema may not have.
        if sound {
            judge(manifest, &object, old, view, findings);
        }
        true
    }
}

/// The path of an object as a whole in the schema's errors.
const WHOLE: &str = "<nil>";

/// What somebody may have meant by a field that the schema does not have.
fn meant(schema: &Schema, path: &str) -> String {
    let mut at = schema;
    let mut steps = path.split('.').peekable();
    while let Some(step) = steps.next() {
        let name = step.split('[').next().unwrap_or(step);
        if steps.peek().is_none() {
            return guess(name, at.properties().keys().map(String::as_str));
        }
        let Some(mut below) = at.property(name) else { break };
        for _ in step.matches('[') {
            match below.items() {
                Some(items) => below = items,
                None => return String::new(),
            }
        }
        at = below;
    }
    String::new()
}

fn guess<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> String {
    nearest(word, known).map(|near| format!("; did you mean {near}?")).unwrap_or_default()
}

/// The rules of the kind.
fn judge<'a>(
    manifest: &'a Manifest,
    object: &Value,
    old: Option<&Value>,
    view: &Objects,
    findings: &mut Vec<Finding<'a>>,
) {
    let group = manifest.text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
    let namespace = Some(manifest.text("/metadata/namespace")).filter(|namespace| !namespace.is_empty());
    let verdict = netloom_admission::review(&Review {
        operation: if old.is_some() { Operation::Update } else { Operation::Create },
        kind: GroupKind::new(group, manifest.text("/kind")),
        namespace,
        name: manifest.text("/metadata/name"),
        subresource: None,
        object: Some(object),
        old,
        user: &User::new("netloom-validate", &["system:masters"]),
        dry_run: true,
        view,
    });
    let by = |error: &FieldError| if error.cause == Cause::NotFound { By::Reference } else { By::Rule };
    let refusals = verdict.errors.iter().map(|error| (error.path.clone(), error.to_string(), true, by(error)));
    let forbidden = verdict.forbidden.iter().map(|reason| (String::new(), reason.clone(), true, By::Rule));
    let warnings = verdict.warnings.iter().map(|warning| (String::new(), warning.clone(), false, By::Rule));
    let about = About::Object(manifest);
    findings.extend(refusals.chain(forbidden).chain(warnings).map(|(path, message, refused, by)| Finding {
        about,
        path,
        message,
        refused,
        by,
    }));
}

/// What the cluster has of every kind that rules look at.
fn asynchronously_read(kubeconfig: &std::path::Path) -> Result<Objects, Failure> {
    let mut objects = Objects::default();
    asynchronously(async {
        let cluster = Cluster::connect(Some(kubeconfig)).await?;
        let own = kinds().iter().map(|kind| (kind.api_version(), kind.kind));
        let (single, others): (Vec<_>, Vec<_>) =
            foreign::VIEWED.iter().copied().partition(|kind| foreign::only_one(*kind).is_some());
        let others = others.into_iter().map(|kind| (foreign_version(kind), kind.kind));
        for (api_version, kind) in own.chain(others) {
            for object in cluster.all(&api_version, kind).await? {
                objects.put(object);
            }
        }
        for kind in single {
            if let Some(object) = cluster.only(kind).await? {
                objects.put(object);
            }
        }
        Ok(Exit::Done)
    })?;
    Ok(objects)
}

/// The version in which foreign kinds are read.
fn foreign_version(kind: GroupKind<'_>) -> String {
    if kind.group.is_empty() { "v1".to_owned() } else { format!("{}/v1", kind.group) }
}
