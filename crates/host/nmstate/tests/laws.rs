//! Laws of documents, on random documents and a simulated host.

mod bench;
#[path = "bench/random.rs"]
mod random;

use netloom_kernel_sim::SimHost;
use netloom_model::{Alias, Attr, Host, HostState, Observed, Ownership};
use netloom_nmstate::{Document, ResolveOptions, diff, parse, revert};
use proptest::prelude::*;

/// Applies a desired state, unless the planner or the host refuse it.
fn carried_out(observed: &Observed, state: &HostState) -> Result<Observed, String> {
    let options = netloom_plan::Options::default();
    let planned = netloom_plan::plan(state, observed, &Ownership::default(), &options);
    let plan = planned.map_err(|error| error.to_string())?.plan;
    let mut sim = SimHost::from_observed(observed.clone());
    for planned in &plan.steps {
        sim.apply(&planned.step).map_err(|error| format!("{:?}: {error:?}", planned.step))?;
    }
    Ok(sim.into_observed())
}

/// The host without what says who asked: that differs between a document and its difference.
fn bare(observed: &Observed) -> Host {
    let mut host = observed.host.clone();
    for link in host.links.values_mut() {
        // These follow other links when nobody says them.
        link.attrs.remove(Attr::Mac);
        link.attrs.remove(Attr::Mtu);
        // What a bond of another mode had is still there, and has no effect.
        link.attrs.remove(Attr::BondLacpRate);
        link.alias = link.alias.as_ref().and_then(|a| a.description()).filter(|d| !d.is_empty()).map(Alias::raw);
    }
    host
}

/// Where two hosts differ, for people.
fn unequal(got: &Observed, wanted: &Observed) -> Option<String> {
    let (got, wanted) = (bare(got), bare(wanted));
    if got == wanted {
        return None;
    }
    let lines = |host: &Host| -> Vec<String> {
        let links = host.links.values().map(|link| format!("{link:?}"));
        let routes = host.routes.values().map(|route| format!("{route:?}"));
        let rules = host.rules.iter().map(|rule| format!("{rule:?}"));
        let files = format!("{:?}", host.settings);
        links.chain(routes).chain(rules).chain([files]).collect()
    };
    let (got, wanted) = (lines(&got), lines(&wanted));
    let only = |a: &[String], b: &[String], sign: &str| -> String {
        a.iter().filter(|line| !b.contains(line)).fold(String::new(), |text, line| text + sign + " " + line + "\n")
    };
    Some(format!("{}{}", only(&got, &wanted, "+"), only(&wanted, &got, "-")))
}

fn resolved(document: &Document, observed: &Observed) -> Option<HostState> {
    document.resolve(observed, &ResolveOptions::default()).ok().map(|resolved| resolved.state)
}

/// What is shown, printed and fed back asks for nothing.
fn check_show(observed: &Observed) {
    let shown = Document::show(observed, &[]);
    for text in [shown.to_yaml(), shown.to_json()] {
        let read = parse("show", text.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(read, shown, "{text}");
    }
    let options = ResolveOptions::default();
    let state = shown.resolve(observed, &options).unwrap_or_else(|e| panic!("{e}\n{}", shown.to_yaml())).state;
    let plan = netloom_plan::plan(&state, observed, &Ownership::default(), &netloom_plan::Options::default())
        .unwrap_or_else(|e| panic!("{e}\n{}", shown.to_yaml()));
    assert!(plan.plan.is_empty(), "{:?}\n{}", plan.plan.steps, shown.to_yaml());
    let difference = diff(&shown, observed, &options).expect("it was resolved before");
    assert!(difference.is_empty(), "{}\nof\n{}", difference.to_yaml(), shown.to_yaml());
}

/// Lays one document over a host, checks every law, and gives back the host afterwards.
fn check_change(before: &Observed, text: &str) -> Option<Observed> {
    let options = ResolveOptions::default();
    let document = parse("random.yaml", text.as_bytes()).ok()?;
    assert_eq!(parse("printed", document.to_yaml().as_bytes()).expect("what is printed"), document, "{text}");
    assert_eq!(parse("printed", document.to_json().as_bytes()).expect("what is printed"), document, "{text}");
    let state = resolved(&document, before)?;
    let after = carried_out(before, &state).ok()?;

    let again = diff(&document, &after, &options);
    let again = again.unwrap_or_else(|e| panic!("after it was carried out: {e}\n{text}"));
    assert!(again.is_empty(), "still to do:\n{}\nof\n{text}", again.to_yaml());

    let difference = diff(&document, before, &options).expect("it was resolved before");
    let printed = difference.to_yaml();
    assert_eq!(parse("diff", printed.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{printed}")), difference, "{printed}");
    let by_difference = difference.resolve(before, &options).unwrap_or_else(|e| panic!("{e}\n{printed}\nof\n{text}"));
    let by_difference = carried_out(before, &by_difference.state);
    let by_difference = by_difference.unwrap_or_else(|e| panic!("difference not taken: {e}\n{printed}\nof\n{text}"));
    if let Some(what) = unequal(&by_difference, &after) {
        panic!("{what}difference:\n{printed}\nof\n{text}");
    }

    let back = revert(&document, before, &options).expect("it was resolved before");
    let printed = back.to_yaml();
    assert_eq!(parse("revert", printed.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{printed}")), back, "{printed}");
    let state = back.resolve(&after, &options).unwrap_or_else(|e| panic!("{e}\nrevert:\n{printed}\nof\n{text}")).state;
    let undone = carried_out(&after, &state).unwrap_or_else(|e| panic!("revert not taken: {e}\n{printed}\nof\n{text}"));
    if let Some(what) = unequal(&undone, before) {
        panic!("{what}revert:\n{printed}\nof\n{text}");
    }
    Some(after)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn documents_keep_the_laws(texts in prop::collection::vec(random::text(), 1..6)) {
        let mut observed = bench::host().into_observed();
        for text in texts {
            if let Some(after) = check_change(&observed, &text) {
                observed = after;
                check_show(&observed);
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse("bytes", &bytes);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[a-z0-9:{}\\[\\],&*!|>'\"# \n\t-]{0,120}") {
        if let Ok(document) = parse("text", text.as_bytes()) {
            let _ = document.resolve(&bench::host().into_observed(), &ResolveOptions::default());
        }
    }

    #[test]
    fn a_document_with_a_slip_is_read_or_refused(
        text in random::text(), at in any::<prop::sample::Index>(), slip in "[ -~\n]{0,3}", cut in 0usize..4,
    ) {
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len());
        let end = (at + cut).min(bytes.len());
        bytes.splice(at..end, slip.into_bytes());
        let observed = bench::host().into_observed();
        if let Ok(document) = parse("slip", &bytes) {
            let options = ResolveOptions::default();
            let _ = document.resolve(&observed, &options);
            let _ = diff(&document, &observed, &options);
            let _ = revert(&document, &observed, &options);
            assert_eq!(parse("printed", document.to_yaml().as_bytes()).expect("what is printed"), document);
        }
    }
}
