//! Medians, ratios and spreads, as a Markdown table. The drivers beside this measure; this judges.

/// What was measured, one value for each round.
#[derive(Debug, Clone, Default)]
pub struct Series(pub Vec<f64>);

impl Series {
    /// Adds the value of one more round.
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// The value in the middle.
    pub fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }

    fn spread(&self) -> (f64, f64) {
        self.0.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &value| (low.min(value), high.max(value)))
    }

    /// The ratios to another series, round by round: what disturbs a round disturbs both.
    pub fn over(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(one, other)| one / other).collect())
    }

    fn text(&self, unit: Unit) -> String {
        let (low, high) = self.spread();
        let show = |value: f64| unit.text(value);
        if self.0.len() < 2 || show(low) == show(high) {
            return format!("{}{}", show(self.median()), unit.suffix());
        }
        format!("{}{} ({}..{})", show(self.median()), unit.suffix(), show(low), show(high))
    }
}

/// What a value counts.
#[derive(Debug, Clone, Copy)]
pub enum Unit {
    /// Seconds, shown in milliseconds.
    Milliseconds,
    /// Seconds, shown in microseconds.
    Microseconds,
    /// A ratio.
    Times,
    /// Memory.
    Mebibytes,
    /// A number of things.
    Pieces,
    /// A number of things in every second.
    PerSecond,
}

impl Unit {
    fn text(self, value: f64) -> String {
        match self {
            Self::Milliseconds => format!("{:.0}", value * 1e3),
            Self::Microseconds => format!("{:.0}", value * 1e6),
            Self::Times if value < 0.1 => format!("{value:.4}"),
            Self::Times => format!("{value:.2}"),
            Self::Mebibytes => format!("{value:.1}"),
            Self::Pieces | Self::PerSecond => format!("{value:.0}"),
        }
    }

    /// A bound as it was set, in the unit's own measure.
    fn bound(self, value: f64) -> String {
        match self {
            Self::Milliseconds => format!("{}", value * 1e3),
            Self::Microseconds => format!("{}", value * 1e6),
            Self::Times | Self::Mebibytes | Self::Pieces | Self::PerSecond => format!("{value}"),
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            Self::Milliseconds => " ms",
            Self::Microseconds => " µs",
            Self::Times | Self::Pieces => "",
            Self::Mebibytes => " MiB",
            Self::PerSecond => "/s",
        }
    }
}

/// How a figure is judged.
#[derive(Debug, Clone, Copy)]
pub enum Bound {
    /// It may not be more.
    AtMost(f64),
    /// It may not be less.
    AtLeast(f64),
}

/// One figure.
#[derive(Debug)]
pub struct Row {
    /// What was measured.
    pub what: String,
    /// Our part of a ratio.
    pub ours: Option<(Series, Unit)>,
    /// The other part, or what stands beside the figure.
    pub peer: Option<(&'static str, Series, Unit)>,
    /// What is judged.
    pub figure: (Series, Unit),
    /// By what.
    pub bound: Bound,
}

impl Row {
    fn holds(&self) -> bool {
        let median = self.figure.0.median();
        match self.bound {
            Bound::AtMost(most) => median <= most,
            Bound::AtLeast(least) => median >= least,
        }
    }

    fn line(&self) -> String {
        let ours = self.ours.as_ref().map_or_else(String::new, |(series, unit)| series.text(*unit));
        let peer = self
            .peer
            .as_ref()
            .map_or_else(String::new, |(name, series, unit)| format!("{name}: {}", series.text(*unit)));
        let (figure, unit) = &self.figure;
        let bound = match self.bound {
            Bound::AtMost(most) => format!("≤ {}", unit.bound(most)),
            Bound::AtLeast(least) => format!("≥ {}", unit.bound(least)),
        };
        let word = if self.holds() { "yes" } else { "**no**" };
        format!("| {} | {ours} | {peer} | {} | {bound}{} | {word} |", self.what, figure.text(*unit), unit.suffix())
    }
}

/// Prints the table; whether every figure holds.
pub fn print(rows: &[Row]) -> bool {
    println!("| what | netloom | peer | figure | bound | holds |");
    println!("|---|---|---|---|---|---|");
    for row in rows {
        println!("{}", row.line());
    }
    rows.iter().all(Row::holds)
}
