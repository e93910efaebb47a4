//! Sources as one line of text: the kernel keeps no more than that of a link.
//!
//! An object is `KIND.GROUP NAME` or `KIND.GROUP NAMESPACE/NAME`, a document is its name. Links and records of the first
//! versions have objects without their group, and the place in them behind it.

use super::{Origin, Source};

/// Between two that ask together.
pub(super) const AND: &str = " and ";
/// The kinds of those versions that asked for something on nodes.
const BEFORE_GROUPS: [(&str, &str); 5] = [
    ("network.harvesterhci.io", "VlanConfig"),
    ("network.harvesterhci.io", "HostNetworkConfig"),
    ("k8s.cni.cncf.io", "NetworkAttachmentDefinition"),
    ("nmstate.io", "NodeNetworkState"),
    ("nmstate.io", "NodeNetConfPolicy"),
];

/// The group and the kind, where only the kind was written.
pub(super) fn known(kind: &str) -> Option<(&'static str, &'static str)> {
    BEFORE_GROUPS.into_iter().find(|(_, known)| *known == kind)
}

/// Those who ask for something together.
pub(crate) fn spell<'a>(owners: impl IntoIterator<Item = &'a Source>) -> String {
    let spelled = owners.into_iter().map(|source| match source.as_object() {
        None => source.to_string(),
        Some(object) => {
            let place = if object.namespace.is_empty() { String::new() } else { format!("{}/", object.namespace) };
            format!("{}.{} {place}{}", object.kind, object.group, object.name)
        }
    });
    spelled.collect::<Vec<_>>().join(AND)
}

/// Those who ask for something together.
pub(crate) fn read(text: &str) -> Vec<Source> {
    text.split(AND).map(|one| place(one).source).collect()
}

/// One who asks, with the path behind it when there is one.
pub(super) fn place(text: &str) -> Origin {
    let object = |text: &str| -> Option<Source> {
        let (kind, key) = text.split_once(' ')?;
        let kind = match kind.split_once('.') {
            Some((kind, group)) if group.contains('.') => (group, kind),
            Some(_) => return None,
            None => known(kind)?,
        };
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        Some(Source::object(kind, namespace, name))
    };
    let (start, path) = text.strip_suffix(')').and_then(|text| text.split_once(" (")).unwrap_or((text, ""));
    object(start).map_or_else(|| Origin::new(text, "", 0), |source| Origin::new(source, path, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spelled_is_read() {
        let state = Source::object(("nmstate.io", "NodeNetworkState"), "default", "n1");
        let other = Source::object(("example.com", "NodeNetworkState"), "", "n1");
        for owners in [vec![state.clone()], vec![other, state.clone()], vec!["my site.yaml".into()]] {
            assert_eq!(read(&spell(&owners)), owners);
        }
        assert_eq!(spell([&state]), "NodeNetworkState.nmstate.io default/n1");
    }

    #[test]
    fn what_had_no_group_is_read_too() {
        let state = Source::object(("nmstate.io", "NodeNetworkState"), "default", "n1");
        let network = Source::object(("network.harvesterhci.io", "HostNetworkConfig"), "", "h");
        assert_eq!(read("HostNetworkConfig h (spec.vlanID) and NodeNetworkState default/n1"), [network, state]);
        assert_eq!(read("Other h"), ["Other h".into()], "nobody else had a name of two words but documents");
    }
}
