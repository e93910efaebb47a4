//! Golden files: what came out last time, to be compared with what comes out now.

use std::{fs, io, path::Path};

/// The variable that has golden files written instead of compared.
pub const BLESS: &str = "NETLOOM_BLESS";

/// Whether golden files are to be written.
pub fn blessing() -> bool {
    std::env::var_os(BLESS).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Compares a text with the golden file, or writes the file. A file that says nothing is not kept.
pub fn check(path: &Path, text: &str, bless: bool) -> Result<(), String> {
    let cannot = |error: io::Error| format!("{}: {error}", path.display());
    let there = match fs::read_to_string(path) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(cannot(error)),
    };
    if there == text {
        return Ok(());
    }
    if bless {
        return if text.is_empty() {
            fs::remove_file(path).map_err(cannot)
        } else {
            fs::write(path, text).map_err(cannot)
        };
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Err(format!("{name} differs; {BLESS}=1 writes it again\n{}", difference(&there, text)))
}

/// The lines in which two texts differ, with `-` for those that are gone and `+` for new ones.
pub fn difference(before: &str, now: &str) -> String {
    let (before, now): (Vec<&str>, Vec<&str>) = (before.lines().collect(), now.lines().collect());
    let common = longest_common(&before, &now);
    let (mut i, mut j, mut out) = (0, 0, String::new());
    let mut line = |sign: char, text: &str| {
        out.push(sign);
        out.push_str(text);
        out.push('\n');
    };
    for (a, b) in common.into_iter().chain([(before.len(), now.len())]) {
        before[i..a].iter().for_each(|text| line('-', text));
        now[j..b].iter().for_each(|text| line('+', text));
        if let Some(text) = before.get(a) {
            line(' ', text);
        }
        (i, j) = (a + 1, b + 1);
    }
    out
}

/// The pairs of positions of a longest common sequence of lines.
fn longest_common(left: &[&str], right: &[&str]) -> Vec<(usize, usize)> {
    let mut length = vec![vec![0_usize; right.len() + 1]; left.len() + 1];
    for i in (0..left.len()).rev() {
        for j in (0..right.len()).rev() {
            length[i][j] =
                if left[i] == right[j] { length[i + 1][j + 1] + 1 } else { length[i + 1][j].max(length[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while i < left.len() && j < right.len() {
        if left[i] == right[j] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if length[i + 1][j] >= length[i][j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_shows_what_went_and_what_came() {
        assert_eq!(difference("a\nb\nc\n", "a\nx\nc\nd\n"), " a\n-b\n+x\n c\n+d\n");
        assert_eq!(difference("", "a\n"), "+a\n");
    }

    #[test]
    fn a_golden_file_is_written_only_when_reported() {
        let path = std::env::temp_dir().join(format!("netloom-golden-{}", std::process::id()));
        assert!(check(&path, "one\n", false).unwrap_err().contains("+one"));
        check(&path, "one\n", true).unwrap();
        check(&path, "one\n", false).unwrap();
        check(&path, "", true).unwrap();
        assert!(!path.exists());
    }
}
