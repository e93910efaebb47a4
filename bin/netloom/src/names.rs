//! Names of links as a person gives them: exact, a further name, or a pattern with `*` and `?`.

use netloom_model::Link;

/// Some names; without any, every link is meant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names<'a>(&'a [String]);

impl<'a> Names<'a> {
    /// Names from the command line.
    pub(crate) fn new(names: &'a [String]) -> Self {
        Self(names)
    }

    /// Whether the link is meant.
    pub(crate) fn fit(self, link: &Link) -> bool {
        self.0.is_empty() || self.0.iter().any(|pattern| fits(pattern, link))
    }

    /// A name that fits no link.
    pub(crate) fn unmatched<'l>(self, links: &(impl Iterator<Item = &'l Link> + Clone)) -> Option<&'a str> {
        self.0.iter().find(|pattern| !links.clone().any(|link| fits(pattern, link))).map(String::as_str)
    }
}

fn fits(pattern: &str, link: &Link) -> bool {
    glob(pattern.as_bytes(), link.name.as_str().as_bytes())
        || link.alt_names.iter().any(|name| glob(pattern.as_bytes(), name.as_str().as_bytes()))
}

/// Whether a pattern covers a whole name. Goes back only to the last star, so it takes at most the
/// product of the two lengths.
pub(crate) fn glob(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut seen, mut star) = (0, 0, None);
    while seen < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, seen));
                at += 1;
            }
            Some(&byte) if byte == b'?' || byte == name[seen] => {
                at += 1;
                seen += 1;
            }
            Some(_) | None => {
                let Some((back, from)) = star else { return false };
                star = Some((back, from + 1));
                at = back + 1;
                seen = from + 1;
            }
        }
    }
    pattern[at..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn patterns_cover_whole_names() {
        for (pattern, name) in [("eth0", "eth0"), ("eth*", "eth"), ("*", ""), ("e?h*.5", "eth0.5"), ("**a*", "bab")] {
            assert!(glob(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
        }
        for (pattern, name) in [("eth0", "eth01"), ("eth?", "eth"), ("", "a"), ("*.5", "eth0.50"), ("a*b", "ac")] {
            assert!(!glob(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
        }
    }
}
