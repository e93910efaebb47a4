//! Names of interfaces.

use std::{collections::BTreeSet, str::FromStr};

use netloom_types::IfName;

/// What interfaces are called whose network does not say it.
const PREFIX: &str = "eth";

/// The names of the interfaces of a pod, by the prefixes of their networks. The first is called as the runtime says; the
/// others by prefix and number, or by prefix alone in the legacy scheme. The place of one that cannot be so is returned
/// with the reason.
pub(super) fn names(first: &str, prefixes: &[Option<&str>], legacy: bool) -> Result<Vec<String>, (usize, String)> {
    let mut taken = BTreeSet::new();
    let mut names = Vec::new();
    for (place, prefix) in prefixes.iter().enumerate() {
        let name = match prefix {
            _ if place == 0 => first.to_owned(),
            Some(prefix) if legacy => (*prefix).to_owned(),
            prefix => format!("{}{place}", prefix.unwrap_or(PREFIX)),
        };
        if let Err(why) = IfName::from_str(&name) {
            return Err((place, format!("the interface would be called {name:?}: {}", why.why)));
        }
        if !taken.insert(name.clone()) {
            return Err((place, format!("another interface of the pod is called {name:?} already")));
        }
        names.push(name);
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_are_called_by_prefix_and_number() {
        let prefixes = [Some("net"), None, Some("net"), Some("mgmt")];
        assert_eq!(names("eth0", &prefixes, false), Ok(["eth0", "eth1", "net2", "mgmt3"].map(str::to_owned).to_vec()));
        let legacy = [Some("net"), None, Some("data")];
        assert_eq!(names("eth0", &legacy, true), Ok(["eth0", "eth1", "data"].map(str::to_owned).to_vec()));
        assert_eq!(names("eth0", &[None, Some("a"), Some("a")], true).unwrap_err().0, 2);
        assert_eq!(names("eth0", &[None, Some("fifteen-letters")], false).unwrap_err().0, 1);
        assert!(names("eth0", &[None, Some("fourteen-chars")], false).is_ok());
    }
}
