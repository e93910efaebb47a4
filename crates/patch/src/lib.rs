//! Patches of Kubernetes objects, and who manages which of their fields.
