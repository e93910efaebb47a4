//! Short words for tests.
