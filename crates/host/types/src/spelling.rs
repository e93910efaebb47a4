//! What somebody most likely meant by a word that nobody knows. For messages only: a guess is reported, never taken.

/// Shorter words are too close to everything.
const SHORTEST: usize = 3;

/// The known word that somebody most likely meant. Case, hyphens and underscores do not count; beyond them
/// one slip of the pen is forgiven.
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let fold = |text: &str| text.to_ascii_lowercase().replace(['-', '_'], "");
    let wanted = fold(word);
    let mut close = None;
    for word in known {
        let folded = fold(word);
        if folded == wanted {
            return Some(word);
        }
        if close.is_none() && wanted.len() >= SHORTEST && is_slip(&folded, &wanted) {
            close = Some(word);
        }
    }
    close
}

/// Whether one letter more, one less, another one, or two that changed places turn one text into the other.
fn is_slip(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > 1 {
        return false;
    }
    let head = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let tail = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    let swapped = a.len() == b.len()
        && head + tail + 2 == a.len()
        && (a.get(head), a.get(head + 1)) == (b.get(head + 1), b.get(head));
    head + tail + 1 >= a.len().max(b.len()) || swapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_is_guessed() {
        for (word, known, meant) in [
            ("base-ifce", &["id", "base-iface"][..], Some("base-iface")),
            ("baseIface", &["base-iface"], Some("base-iface")),
            ("zzz", &["id", "base-iface"], None),
            ("prefix-lenght", &["ip", "prefix-length"], Some("prefix-length")),
            ("mut", &["mtu"], Some("mtu")),
            ("ip4", &["ipv4", "ipv6"], Some("ipv4")),
            ("vlanId", &["vlanIDs", "vlanID"], Some("vlanID")),
            ("stat", &["state", "st-at"], Some("st-at")),
            ("abdc", &["cbda"], None),
            ("id", &["ip"], None),
        ] {
            assert_eq!(nearest(word, known.iter().copied()), meant, "{word}");
        }
    }
}
