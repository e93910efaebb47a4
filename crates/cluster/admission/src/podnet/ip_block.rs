//! What the addresses of a node must keep: whose they are does not change.

use netloom_api::podnet::{IPBlock, NetworkKind, Ranges};
use netloom_ipam::Numbers;

use crate::{Admitted, Findings, Write};

impl Admitted for IPBlock {
    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let Some(new) = &write.new else { return };
        let kind = new.spec.network.kind.as_str();
        if NetworkKind::named(kind).is_none() {
            findings.not_supported("spec.network.kind", kind, &NetworkKind::ALL.map(NetworkKind::name));
        }
        ranges(["spec.asked.ipv4", "spec.asked.ipv6"], &new.spec.asked, findings);
        ranges(["spec.returned.ipv4", "spec.returned.ipv6"], &new.spec.returned, findings);
        if let Some(old) = &write.old {
            if old.spec.node != new.spec.node {
                findings.forbidden("spec.node", "addresses of a node stay with it until it returns them");
            }
            if old.spec.network != new.spec.network {
                findings.forbidden("spec.network", "addresses stay those of the network that they are of");
            }
        }
    }
}

fn ranges([v4, v6]: [&'static str; 2], ranges: &Ranges, findings: &mut Findings) {
    for (path, texts, v4) in [(v4, &ranges.ipv4, true), (v6, &ranges.ipv6, false)] {
        for text in texts {
            if let Err(why) = Numbers::of_addresses([text.as_str()]) {
                findings.invalid(path, text.as_str(), why.to_string());
            } else if text.contains(':') == v4 {
                findings.invalid(path, text.as_str(), "is of the other family");
            }
        }
    }
}
