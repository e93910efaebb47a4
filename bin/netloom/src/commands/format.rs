//! `netloom state format`

use crate::{
    args::FormatArgs,
    commands::printed,
    desired_document::document,
    failure::{Exit, Failure},
    output,
};

pub(crate) fn run(args: &FormatArgs) -> Result<Exit, Failure> {
    let FormatArgs { file, format } = args;
    let (_, document) = document(file)?;
    output::data(&printed(&document, format.or_yaml()))?;
    Ok(Exit::Done)
}
