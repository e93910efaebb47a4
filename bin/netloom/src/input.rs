//! Reading documents: from a file or from standard input, never more than a document may have.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use crate::failure::Failure;

/// A document as it was given, not yet parsed.
#[derive(Debug)]
pub(crate) struct Input {
    /// The name by which messages and records know it.
    pub(crate) source: String,
    /// Its bytes.
    pub(crate) bytes: Vec<u8>,
}

/// The largest document that is read.
const MAX_BYTES: u64 = netloom_nmstate::MAX_BYTES as u64;

/// Reads a document; `-` stands for standard input.
pub(crate) fn load(file: &Path) -> Result<Input, Failure> {
    if file == Path::new("-") {
        return limited("standard input".to_owned(), &mut io::stdin().lock());
    }
    // The record of who asked for what outlives the folder in which the command was given.
    let source = std::path::absolute(file).unwrap_or_else(|_| file.to_owned()).display().to_string();
    let open = File::open(file).map_err(|error| {
        Failure::refused(format_args!("cannot read {source}: {error}; give a file, or - for standard input"))
    })?;
    limited(source, &mut &open)
}

fn limited(source: String, from: &mut dyn Read) -> Result<Input, Failure> {
    let mut bytes = Vec::new();
    // One byte more than the limit tells a document at the limit from one above it.
    from.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::refused(format_args!("cannot read {source}: {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        let limit = MAX_BYTES >> 20;
        return Err(Failure::refused(format_args!(
            "{source}: the document is larger than {limit} MiB; split it into several documents"
        )));
    }
    // What a failed command left behind `>`: taken for a document it would ask for nothing, and take everything back.
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Failure::refused(format_args!(
            "{source} is empty; to ask for nothing, write `interfaces: []` into it"
        )));
    }
    Ok(Input { source, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Exit;

    #[test]
    fn an_empty_file_is_no_document() {
        for empty in ["", " \n\t\n"] {
            let refused = limited("void.yaml".to_owned(), &mut empty.as_bytes()).unwrap_err();
            assert_eq!(refused.exit, Exit::Refused);
            assert!(refused.message.starts_with("void.yaml is empty; "), "{}", refused.message);
        }
    }

    #[test]
    fn an_endless_document_is_refused_without_reading_it_all() {
        let refused = limited("endless".to_owned(), &mut io::repeat(b'a')).unwrap_err();
        assert_eq!(refused.exit, Exit::Refused);
        assert!(refused.message.starts_with("endless: the document is larger than"), "{}", refused.message);
    }

    #[test]
    fn a_missing_file_is_named() {
        let refused = load(Path::new("/nonexistent/site.yaml")).unwrap_err();
        assert!(refused.message.contains("/nonexistent/site.yaml"), "{}", refused.message);
    }
}
