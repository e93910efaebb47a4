//! What `netloom gen` makes for clusters: manifests, identities and the pages of all kinds.

use std::{fs, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use netloom_generate::Reached;

use super::write_all;
use crate::{
    args::cluster::{GenVerb, WebhookArgs},
    commands::kubeconfig,
    failure::{Exit, Failure},
    output,
};

pub(super) fn run(what: &GenVerb) -> Result<Exit, Failure> {
    match what {
        GenVerb::Kubeconfig(args) => return kubeconfig::run(args),
        GenVerb::Crds { vms, dir } => {
            let folder = if *vms { "deploy/vms/" } else { "deploy/crds/" };
            let mut files = below(folder, &netloom_generate::manifests());
            // Rights lie beside definitions, which are called after group and kind.
            files.retain(|(name, _)| name.contains('_'));
            manifests(dir.as_deref(), &files)?;
        }
        GenVerb::Rbac { agent_taint: _, vms: true, dir } => {
            let restriction = netloom_generate::node_restriction_on_request();
            let files = [("rbac.yaml", netloom_generate::rbac_on_request()), ("node-restriction.yaml", restriction)];
            manifests(dir.as_deref(), &files.map(|(name, text)| (name.to_owned(), text)))?;
        }
        GenVerb::Rbac { agent_taint, vms: false, dir } => {
            let restriction = netloom_generate::node_restriction(agent_taint);
            let files = [("rbac.yaml", netloom_generate::rbac()), ("node-restriction.yaml", restriction)];
            manifests(dir.as_deref(), &files.map(|(name, text)| (name.to_owned(), text)))?;
        }
        GenVerb::Webhook(WebhookArgs { ca, url, vms, dir }) => {
            let authority = ca.as_deref().map(authority).transpose()?;
            let reached =
                Reached { address: url.as_deref().map(address).transpose()?, authority: authority.as_deref() };
            let made = if *vms { netloom_generate::webhook_on_request } else { netloom_generate::webhook };
            manifests(dir.as_deref(), &[("webhook.yaml".to_owned(), made(reached))])?;
        }
        GenVerb::Workloads { image, agent_image, dir } => {
            let files = [
                ("controller.yaml", netloom_generate::controller_workload(image)),
                ("agent.yaml", netloom_generate::agent_workload(agent_image.as_ref().unwrap_or(image))),
            ];
            manifests(dir.as_deref(), &files.map(|(name, text)| (name.to_owned(), text)))?;
        }
    }
    Ok(Exit::Done)
}

/// The pages of all kinds, by file name.
pub(super) fn kind_pages() -> Vec<(String, String)> {
    below("docs/reference/kinds/", &netloom_generate::reference())
}

/// Prints manifests as one stream, or writes them to `dir`.
fn manifests(dir: Option<&Path>, files: &[(String, String)]) -> Result<(), Failure> {
    if let Some(dir) = dir {
        return write_all(dir, files);
    }
    let texts: Vec<&str> = files.iter().map(|(_, text)| text.as_str()).collect();
    Ok(output::data(&texts.join("---\n"))?)
}

/// The authority of a file, in the form that manifests have. A wrong file would show only when the
/// API server refuses everything, so it is looked into here.
fn authority(file: &Path) -> Result<String, Failure> {
    let text =
        fs::read(file).map_err(|error| Failure::usage(format_args!("cannot read {}: {error}", file.display())))?;
    if !String::from_utf8_lossy(&text).contains("-----BEGIN CERTIFICATE-----") {
        return Err(Failure::usage(format_args!("{} holds no certificate in PEM", file.display())));
    }
    Ok(STANDARD.encode(text))
}

/// An API server takes no other addresses.
fn address(url: &str) -> Result<&str, Failure> {
    let path = url.strip_prefix("https://").map(|rest| rest.trim_end_matches('/'));
    match path {
        Some(host) if !host.is_empty() && !host.contains(['/', '?', '#', '@']) => Ok(url),
        Some(_) | None => Err(Failure::usage(format_args!("{url:?} is not https://HOST:PORT"))),
    }
}

/// The files right below a folder, by their names.
fn below(folder: &str, files: &[netloom_generate::File]) -> Vec<(String, String)> {
    let name = |path: &str| path.strip_prefix(folder).filter(|name| !name.contains('/')).map(str::to_owned);
    files.iter().filter_map(|file| Some((name(&file.path)?, file.content.clone()))).collect()
}

#[cfg(test)]
mod tests {
    use netloom_netlink::sysctl::SETTINGS_OF_HOST;

    #[test]
    fn the_pod_of_the_agent_has_settings_where_the_agent_looks_for_them() {
        let mounted = format!("mountPath: {SETTINGS_OF_HOST}\n");
        assert!(netloom_generate::agent_workload("i").contains(&mounted));
    }
}
