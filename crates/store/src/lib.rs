//! The durable store of the embedded API server: one file, one revision for everything.
