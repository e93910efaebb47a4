//! Patterns for link names: `*` any text, `?` any character, everything else itself.

/// Whether the whole text fits the pattern.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // Where to go on when the text after the last star does not fit: one character further.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || *c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((at, from)) = star else { return false };
                star = Some((at, from + 1));
                p = at + 1;
                t = from + 1;
            }
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_and_question_marks() {
        assert!(matches("eth*", "eth0"));
        assert!(matches("*", ""));
        assert!(matches("bond?.1*0", "bond0.1200"));
        assert!(matches("*a*b*", "xxaxxbxx"));
        assert!(!matches("eth?", "eth10"));
        assert!(!matches("eth", "eth0"));
        assert!(matches("eth0", "eth0"));
    }
}
