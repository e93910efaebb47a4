//! What an interface of a pod must keep. Agents write interfaces of their own node alone, as for every kind.

use netloom_api::podnet::{DanmEp, NetworkKind};

use super::{BY_NETWORK, networks::network_of};
use crate::{Admitted, Findings, Index, Write};

impl Admitted for DanmEp {
    const INDEXES: &'static [Index] = &[Index { name: BY_NETWORK, keys: network_of }];

    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let Some(new) = &write.new else { return };
        let kind = new.spec.api_type.as_str();
        if !kind.is_empty() && NetworkKind::named(kind).is_none() {
            findings.not_supported("spec.apiType", kind, &NetworkKind::ALL.map(NetworkKind::name));
        }
    }
}
