//! Laws that hold for every configuration: text and value are the same thing, and commands lead where they shall.
//!
//! The commands are carried out by [`vty::Vty`], which knows what FRR 8.4.4 was seen to do with each line and nothing of
//! how commands are planned.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod generated;
mod vty;

use netloom_routing::{Command, RoutingConfig, commands, differences};
use proptest::prelude::*;

use crate::{generated::config, vty::Vty};

/// Carries out commands, each of which must be taken.
fn carry_out(
    now: &RoutingConfig,
    wanted: &RoutingConfig,
    commands: &[Command],
) -> Result<RoutingConfig, TestCaseError> {
    let mut vty = Vty::new(now);
    for (at, command) in commands.iter().enumerate() {
        let done = vty.run(command).and_then(|()| vty.passes_no_more_than(now, wanted));
        done.map_err(|why| TestCaseError::fail(format!("command {at}, {command}: {why}\n{commands:#?}")))?;
    }
    Ok(vty.running_config())
}

/// Blocks and lines with any characters, most of which no daemon would take.
fn any_line() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9 ./:]{1,12}",
        "\\PC{0,8}",
        Just("vrf blue".to_owned()),
        Just("router bgp 1 vrf blue".to_owned())
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn commands_lead_from_any_configuration_to_any_other_and_back(now in config(), wanted in config()) {
        let there = commands(&now, &wanted);
        let reached = carry_out(&now, &wanted, &there)?;
        prop_assert_eq!(differences(&reached, &wanted), [], "{:#?}", there);
        let back = commands(&wanted, &now);
        prop_assert_eq!(differences(&carry_out(&wanted, &now, &back)?, &now), [], "{:#?}", back);
    }

    #[test]
    fn nothing_is_sent_when_nothing_differs(config in config()) {
        prop_assert!(commands(&config, &config).is_empty());
        prop_assert!(differences(&config, &config).is_empty());
    }

    #[test]
    fn blocks_that_are_gone_already_leave_the_way_open(now in config(), wanted in config()) {
        let between = now.without_blocks_of(&wanted);
        let reached = carry_out(&now, &between, &commands(&now, &between))?;
        prop_assert_eq!(differences(&reached, &between), []);
        let reached = carry_out(&between, &wanted, &commands(&between, &wanted))?;
        prop_assert_eq!(differences(&reached, &wanted), []);
    }

    #[test]
    fn generated_text_is_read_as_what_was_printed(config in config()) {
        prop_assert_eq!(RoutingConfig::parse(&config.to_string()).unwrap(), config);
    }

    #[test]
    fn any_text_is_read_as_what_was_printed(lines in prop::collection::vec((prop::collection::vec(any_line(), 0..3), any_line()), 0..12)) {
        let mut config = RoutingConfig::default();
        for (context, line) in &lines {
            let context: Vec<&str> = context.iter().map(String::as_str).collect();
            // Whether it was taken is not what this is about.
            let _ = config.add(&context, line);
        }
        prop_assert_eq!(&RoutingConfig::parse(&config.to_string()).unwrap(), &config);
        let json = serde_json::to_string(&config).unwrap();
        prop_assert_eq!(&serde_json::from_str::<RoutingConfig>(&json).unwrap(), &config);
        // Nothing that is not understood makes the planner fail or run on.
        prop_assert!(commands(&config, &config).is_empty());
        drop(commands(&config, &RoutingConfig::default()));
        drop(commands(&RoutingConfig::default(), &config));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        drop(RoutingConfig::parse(&String::from_utf8_lossy(&bytes)));
    }

    #[test]
    fn any_indentation_is_read_or_refused(text in "[a-z!%\n ]{0,80}") {
        if let Ok(config) = RoutingConfig::parse(&text) {
            prop_assert_eq!(&RoutingConfig::parse(&config.to_string()).unwrap(), &config);
        }
    }

    #[test]
    fn sets_of_lines_obey_the_laws_of_sets(one in config(), other in config()) {
        prop_assert_eq!(&one.minus(&other).union(&one.within(&other)), &one);
        prop_assert!(one.minus(&other).within(&other).is_empty());
        prop_assert_eq!(one.union(&other), other.union(&one));
        prop_assert_eq!(one.within(&other), other.within(&one));
    }
}
