//! What a `LinkMonitor` must keep: patterns that can be read.

use netloom_api::hostnet::LinkMonitor;

use crate::{Admitted, Findings, Write, selector};

impl Admitted for LinkMonitor {
    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let Some(new) = &write.new else { return };
        selector::check_labels("spec.nodeSelector", &new.spec.node_selector, findings);
        let rule = &new.spec.target_link_rule;
        for (name, pattern) in [("typeRule", &rule.type_rule), ("nameRule", &rule.name_rule)] {
            if let Err(error) = regex::Regex::new(pattern) {
                let why = error.to_string();
                let last = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
                findings.invalid(
                    format!("spec.targetLinkRule.{name}"),
                    pattern.as_str(),
                    format!("must be a regular expression: {last}"),
                );
            }
        }
    }
}
