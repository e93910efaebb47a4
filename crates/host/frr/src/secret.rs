//! Lines without the passwords in them, for messages and logs.
//!
//! A password is the rest of its line. FRR repeats a line that it does not know, so its words are masked by the same secret.

/// Words whose rest of the line is nobody's to read.
const BEFORE: [&str; 3] = ["password", "key-string", "authentication-key"];
const MASK: &str = "***";
/// A secret of so few letters is part of too many other words to be looked for by itself.
const SHORT: usize = 4;

/// The line with its password replaced.
pub fn masked(line: &str) -> String {
    match secret(line) {
        Some(place) => format!("{}{MASK}", &line[..place]),
        None => line.to_owned(),
    }
}

/// What FRR answered to a line, with the password of that line replaced.
pub(crate) fn masked_in(line: &str, text: &str) -> String {
    let Some(place) = secret(line) else { return text.to_owned() };
    let text = text.replace(line, &masked(line));
    let alone = line[place..].trim();
    if alone.len() < SHORT { text } else { text.replace(alone, MASK) }
}

/// Where the password of a line begins.
fn secret(line: &str) -> Option<usize> {
    let mut place = 0;
    let mut secret_follows = false;
    loop {
        place += line[place..].len() - line[place..].trim_start().len();
        let word = line[place..].split(char::is_whitespace).next().filter(|word| !word.is_empty())?;
        if secret_follows {
            return Some(place);
        }
        secret_follows = BEFORE.contains(&word);
        place += word.len();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn passwords_are_masked() {
        assert_eq!(masked("neighbor 192.0.2.1 password s3cret"), "neighbor 192.0.2.1 password ***");
        assert_eq!(masked("neighbor 192.0.2.1  password two  words "), "neighbor 192.0.2.1  password ***");
        assert_eq!(masked("neighbor 192.0.2.1 password a"), "neighbor 192.0.2.1 password ***");
        assert_eq!(masked("  key-string s3cret"), "  key-string ***");
    }

    #[test]
    fn other_lines_stay() {
        for line in ["", "neighbor 192.0.2.1 remote-as 65001", "no neighbor 192.0.2.1 password", "password "] {
            assert_eq!(masked(line), line);
        }
    }

    #[test]
    fn what_frr_repeats_is_masked() {
        let line = "neighbour 192.0.2.1 password s3cret";
        let words = masked_in(line, "% [BGP] Unknown command: neighbour 192.0.2.1 password s3cret\n% s3cret\n");
        assert_eq!(words, "% [BGP] Unknown command: neighbour 192.0.2.1 password ***\n% ***\n");
        let words = masked_in("x password a", "% [BGP] Unknown command: x password a\n");
        assert_eq!(words, "% [BGP] Unknown command: x password ***\n");
    }

    proptest! {
        #[test]
        fn no_password_is_left(before in "[a-z0-9. ]{0,20}", secret in "[A-Z]{4,20}", after: String) {
            let line = format!("{before} password {secret} {after}");
            prop_assert!(!masked(&line).contains(&secret));
            let printed = format!("% {line}");
            prop_assert!(!masked_in(&line, &printed).contains(&secret));
        }

        #[test]
        fn any_line_can_be_masked(line: String, text: String) {
            masked_in(&line, &text);
        }
    }
}
