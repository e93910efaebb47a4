//! Structural schemas of Kubernetes kinds: strict decoding, pruning, defaulting and validation.
