//! `CNI_ARGS`: which pod a container belongs to.

use crate::{Code, Failure};

/// What a kubelet's runtime passes in `CNI_ARGS`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodArguments {
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub name: String,
    /// UID of the pod, where the runtime knows it.
    pub uid: Option<String>,
}

impl PodArguments {
    /// Reads `KEY=VALUE;KEY=VALUE`. A key that is not known is an error unless `IgnoreUnknown` is 1 or true.
    pub fn read(text: &str) -> Result<Self, Failure> {
        let wrong = |msg: String| Failure::new(Code::Environment, msg);
        let mut args = Self::default();
        let mut ignore = false;
        let mut unknown = Vec::new();
        for pair in text.split(';').filter(|pair| !pair.is_empty()) {
            let (key, value) =
                pair.split_once('=').ok_or_else(|| wrong(format!("CNI_ARGS: {pair:?} is not KEY=VALUE")))?;
            match key {
                "IgnoreUnknown" => ignore = matches!(value, "1" | "true" | "True" | "TRUE" | "t" | "T"),
                "K8S_POD_NAMESPACE" => value.clone_into(&mut args.namespace),
                "K8S_POD_NAME" => value.clone_into(&mut args.name),
                "K8S_POD_UID" => args.uid = Some(value.to_owned()).filter(|uid| !uid.is_empty()),
                "K8S_POD_INFRA_CONTAINER_ID" => {}
                _ => unknown.push(key),
            }
        }
        if !ignore && !unknown.is_empty() {
            let keys = unknown.join(", ");
            return Err(wrong(format!("CNI_ARGS: unknown keys {keys}; add IgnoreUnknown=1 to have them ignored")));
        }
        let missing: Vec<&str> = [("K8S_POD_NAMESPACE", &args.namespace), ("K8S_POD_NAME", &args.name)]
            .into_iter()
            .filter(|(_, value)| value.is_empty())
            .map(|(key, _)| key)
            .collect();
        if !missing.is_empty() {
            return Err(wrong(format!("CNI_ARGS: {} missing, so the pod is not known", missing.join(" and "))));
        }
        Ok(args)
    }
}
