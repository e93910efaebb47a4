//! What is measured on the machine's own kernel, with the kinds of links that every kernel has.
//!
//! The lab kernel makes system calls dear, which is hard on programs that make many of them. These rows show what is left
//! of a ratio without that.

use bench_table::{Bound, Row, Series, Unit};

use crate::{
    documents,
    figures::{Figures, LINKS, ROUTES},
    raw,
    space::{self, Failure},
};

/// `own` is both of the others.
pub const NAMES: [&str; 3] = ["own", "own-bridges", "own-routes"];

impl Figures {
    /// The rows of a name.
    pub fn on_own_kernel(&self, name: &str) -> Result<Vec<Row>, Failure> {
        let mut rows = Vec::new();
        if name != "own-routes" {
            rows.extend(self.own_bridges()?);
        }
        if name != "own-bridges" {
            rows.extend(self.own_routes()?);
        }
        Ok(rows)
    }

    fn own_bridges(&self) -> Result<[Row; 2], Failure> {
        let document = self.input("bridges.yaml", &documents::bridges(LINKS))?;
        let batch = self.input("bridges.batch", &documents::bridges_batch(LINKS))?;
        let what = format!("{LINKS} bridges with address, from the file to verified");
        let (ours, nmstate) =
            self.in_turns("bridges", || self.set(&document), || space::time(&self.peer, &["apply", &document]))?;
        let beside_nmstate = Row {
            what: what.clone(),
            figure: (nmstate.over(&ours), Unit::Times),
            ours: Some((ours, Unit::Milliseconds)),
            peer: Some(("nmstate", nmstate, Unit::Milliseconds)),
            bound: Bound::AtLeast(15.0),
        };
        let (ours, ip) = self.in_turns("bridges", || self.set(&document), || space::time("ip", &["-batch", &batch]))?;
        let beside_ip = Row {
            what,
            figure: (ours.over(&ip), Unit::Times),
            ours: Some((ours, Unit::Milliseconds)),
            peer: Some(("`ip -batch`", ip, Unit::Milliseconds)),
            bound: Bound::AtMost(1.5),
        };
        Ok([beside_nmstate, beside_ip])
    }

    fn own_routes(&self) -> Result<[Row; 3], Failure> {
        let document = self.input("routes.yaml", &documents::routes(ROUTES))?;
        let batch = self.input("routes.batch", &documents::routes_batch(ROUTES))?;
        let ip = || space::time("ip", &["-batch", &batch]);
        let (whole, ip_whole) = self.in_turns("routes", || self.set(&document), ip)?;
        let (writes, ip_writes) = self.in_turns("writes of routes", || self.time_of_writes(&document), ip)?;
        let (raw, ip_raw) = self.in_turns("bare routes", || raw::routes(ROUTES), ip)?;
        let row = |what: String, ours: Series, ip: Series, least: f64| Row {
            what,
            figure: (ip.over(&ours), Unit::Times),
            ours: Some((ours, Unit::Milliseconds)),
            peer: Some(("`ip -batch`", ip, Unit::Milliseconds)),
            bound: Bound::AtLeast(least),
        };
        Ok([
            row(format!("{ROUTES} routes, from the file to verified"), whole, ip_whole, 2.5),
            row("the same: the writes alone, each acknowledged".to_owned(), writes, ip_writes, 4.0),
            // Not ours: what the kernel itself takes. It is never slower than `ip`, or the measurement is wrong.
            row("the same as bare messages, made before, without netloom".to_owned(), raw, ip_raw, 1.0),
        ])
    }

    /// The seconds that `--stats` gives for writing.
    fn time_of_writes(&self, document: &str) -> Result<f64, Failure> {
        let state = self.state();
        let output = space::run(&self.netloom, &["state", "set", document, "--state-dir", &state, "--stats"])?;
        let reported = String::from_utf8_lossy(&output.stderr);
        let (_, rest) = reported.split_once(", writing ").ok_or("no time of writing")?;
        let (milliseconds, _) = rest.split_once(',').ok_or("no time of writing")?;
        Ok(milliseconds.parse::<f64>()? / 1e3)
    }
}
