//! The plugin for addresses that delegates get: it gives those that stand in its configuration, and keeps no record.

use netloom_cnispec::{Answer, Code, Failure, Variables, Version, fake_ipam};

use crate::refused;

pub(crate) fn answer(variables: &Variables, input: &[u8], version: Version) -> Answer {
    let nothing = Answer { ok: true, output: String::new() };
    match variables.get("CNI_COMMAND") {
        Some("ADD") => match serde_json::from_slice(input) {
            Ok(config) => match fake_ipam(&config) {
                Some(result) => Answer { ok: true, output: result.to_json(version).to_string() },
                None => refused(
                    &Failure::new(Code::Config, "ipam.ips has no addresses, or one that cannot be read"),
                    version,
                ),
            },
            Err(why) => {
                let failure = Failure::new(Code::Decode, "the network configuration is not JSON");
                refused(&failure.with(why.to_string()), version)
            }
        },
        Some("DEL" | "CHECK" | "STATUS" | "GC") => nothing,
        other => {
            let msg = format!(
                "CNI_COMMAND {:?} is none of ADD, DEL, CHECK, STATUS, GC and VERSION",
                other.unwrap_or_default()
            );
            refused(&Failure::new(Code::Environment, msg), version)
        }
    }
}
