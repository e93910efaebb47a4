//! `netloom state diff`

use netloom_model::Observed;
use netloom_plan::Planned;

use crate::{
    args::{DiffArgs, Format},
    commands::printed,
    failure::{Exit, Failure},
    output,
    preview::Preview,
    session::Session,
    wish::{Resolved, Wish},
};

pub(crate) fn run(args: DiffArgs, session: &Session) -> Result<Exit, Failure> {
    let DiffArgs { wish, format } = args;
    let wish = Wish::load(wish, session)?;
    session.mention_open();
    let (observed, planned) = planned(&wish, session)?;
    let text = match format.or(Format::Table) {
        Format::Table => Preview::of(&planned.plan, &observed).text(session.output, true),
        format @ (Format::Yaml | Format::Json) => {
            let part = netloom_nmyaml::diff(&wish.document, &observed, &wish.resolve).map_err(Failure::refused)?;
            printed(&part, format)
        }
    };
    output::data(&text)?;
    Ok(if planned.plan.is_empty() { Exit::Done } else { Exit::Refused })
}

/// What a wish means on the host, with nothing touched.
pub(crate) fn planned(wish: &Wish, session: &Session) -> Result<(Observed, Planned), Failure> {
    let Resolved { observed, state, scope: _ } = wish.on(&mut session.host()?, session)?;
    let owned = session.ownership()?;
    let planned = netloom_plan::plan(&state, &observed, &owned, &wish.options).map_err(Failure::refused)?;
    planned.notes.iter().for_each(|note| session.output.warn(note));
    Ok((observed, planned))
}
