//! ifupdown: `/run/network/ifstate.LINK`, and one file for all links with lines `LINK=STANZA`.
//!
//! Both are emptied when the link is taken down.

use netloom_types::IfName;

use crate::Manager;

/// Whether it has set the link up.
pub(crate) fn manages(link: IfName, of_link: Option<&str>, all: &[String]) -> Option<(Manager, Option<String>)> {
    let alone = of_link.is_some_and(|text| !text.trim().is_empty());
    let listed = all
        .iter()
        .flat_map(|text| text.lines())
        .any(|line| line.split_once('=').is_some_and(|(name, _)| name.trim().parse() == Ok(link)));
    (alone || listed).then_some((Manager::Ifupdown, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_managed_while_it_is_set_up() {
        let eth0 = "eth0".parse().unwrap();
        let managed = Some((Manager::Ifupdown, None));
        assert_eq!(manages(eth0, Some("eth0\n"), &[]), managed);
        assert_eq!(manages(eth0, Some(""), &[]), None);
        assert_eq!(manages(eth0, None, &["lo=lo\neth0=home\n".to_owned()]), managed);
        assert_eq!(manages(eth0, None, &["lo=lo 1\neth0=eth0 2\n".to_owned()]), managed, "ifupdown-ng counts");
        assert_eq!(manages(eth0, None, &["lo=lo\neth0.5=eth0.5\n".to_owned(), String::new()]), None);
    }
}
