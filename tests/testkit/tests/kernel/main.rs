//! The kernel tier: everything again on a real kernel, and what only a real kernel can show.
//!
//! `./x test kernel` runs it in a kernel that has every device kind; words in the arguments pick
//! tests by name. Every test has network namespaces of its own. The program also starts itself as a
//! child, to be killed in the middle of a transaction.

mod bystanders;
mod crashes;
mod embedded;
mod entries;
mod events;
mod foreign;
mod frr;
mod hostname;
mod leases;
mod needs;
mod neighbours;
#[path = "../nodestate/mod.rs"]
mod nodestate;
mod old;
mod power;
mod probes;
mod properties;
mod stories;
mod transactions;
mod up;
mod vlans;

use std::{
    io::{Write as _, stdout},
    process::ExitCode,
};

use netloom_testkit::{
    crash::{BATCHED, Order, PLANS},
    runner::{self, Arguments, Ended, Test},
    scenario::Scenario,
};

use crate::{embedded::Embedded, nodestate::Theatre};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(order) = Order::parse(&words) {
        return as_a_child(order.and_then(|order| crashes::obey(&order)));
    }
    if let Some(name) = hostname::order(&words) {
        return as_a_child(hostname::obey(&name));
    }
    let scenarios = needs::met().and_then(|()| Scenario::load_all(&netloom_testkit::scenarios()));
    match scenarios {
        Ok(scenarios) => run(&scenarios, words),
        Err(why) => {
            say(&format!("the kernel tier cannot run here: {why}"));
            ExitCode::from(2)
        }
    }
}

/// Runs everything: what one host shows, and stories about nodes of a cluster.
fn run(scenarios: &[Scenario], words: Vec<String>) -> ExitCode {
    let embedded = Embedded::find();
    let folder = std::env::temp_dir().join(format!("netloom-stories-{}", std::process::id()));
    let theatre = embedded.as_ref().map(|embedded| Theatre::new(embedded.netloom.clone(), folder, embedded));
    let mut tests = tests(scenarios);
    match &theatre {
        Ok(theatre) => tests.extend(theatre.tests()),
        Err(why) => tests.push(Test::new("nodestate", || Ok(Ended::NotRun((*why).clone())))),
    }
    runner::run(tests, &Arguments::parse(words.into_iter()), &mut stdout())
}

fn tests(scenarios: &[Scenario]) -> Vec<Test<'_>> {
    let mut tests: Vec<Test<'_>> = Vec::new();
    for scenario in scenarios {
        tests.push(Test::new(scenario.name.clone(), || stories::play(scenario)));
    }
    for (name, round) in PLANS {
        tests.push(Test::new(format!("crash/{name}/{round}"), || {
            crashes::killed_after_every_step(scenarios, name, *round)
        }));
        tests.push(Test::new(format!("crash-in-undo/{name}/{round}"), || {
            crashes::killed_in_undo(scenarios, name, *round)
        }));
    }
    for (name, round) in BATCHED {
        let body = || crashes::killed_after_every_batch(scenarios, name, *round);
        tests.push(Test::new(format!("crash-in-batches/{name}"), body));
    }
    tests.push(Test::new("power/files-and-links", || power::cut_everywhere(scenarios)));
    tests.push(Test::new("old/unknown-property-is-taken-back", || old::unknown_property_is_taken_back(scenarios)));
    tests.push(Test::new("probe/broken-is-rolled-back", probes::broken_is_rolled_back));
    tests.push(Test::new("probe/failed-before-does-not-count", probes::failed_before_does_not_count));
    tests.push(Test::new("events/overrun", events::overrun));
    tests.push(Test::new("events/settled", events::settled));
    tests.push(Test::new("neighbours/are-heard", neighbours::are_heard));
    tests.push(Test::new("leases/are-kept", leases::are_kept));
    tests.push(Test::new("leases/are-refused-after-a-move", leases::are_refused_after_a_move));
    tests.push(Test::new("leases/are-declined-when-in-use", leases::are_declined_when_in_use));
    tests.push(Test::new("leases/are-each-links-own", leases::are_each_links_own));
    tests.push(Test::new("leases/wake-nobody-for-other-frames", leases::wake_nobody_for_other_frames));
    tests.extend(frr::tests());
    tests.push(Test::new("properties/of-every-kind", properties::of_every_kind));
    tests.push(Test::new("properties/of-ports-and-families", properties::of_ports_and_families));
    tests.push(Test::new("entries/forwarding", entries::of_forwarding));
    tests.push(Test::new("entries/mirrors", entries::of_mirrors));
    tests.push(Test::new("foreign/name-was-taken", foreign::name_was_taken));
    tests.push(Test::new("foreign/address-comes-back", foreign::address_comes_back));
    tests.push(Test::new("foreign/filters-stay", foreign::filters_stay));
    tests.push(Test::new("bystanders/routes-of-leases", bystanders::routes_of_leases));
    tests.push(Test::new("bystanders/features", bystanders::features));
    tests.push(Test::new("vlans/all-in-few-messages", vlans::all_in_few_messages));
    tests.push(Test::new("turns/second-is-refused", transactions::second_is_refused));
    tests.push(Test::new("turns/namespaces-are-apart", transactions::namespaces_are_apart));
    tests.push(Test::new("turns/deadline", transactions::deadline));
    tests.push(Test::new("up/comes-and-goes", up::comes_and_goes));
    tests
}

fn as_a_child(done: Result<(), String>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            say(&why);
            ExitCode::FAILURE
        }
    }
}

fn say(text: &str) {
    // Nobody to tell is nobody to tell.
    writeln!(stdout(), "{text}").ok();
}
