//! A Kubernetes-compatible API server in one process, on one file.
