//! The admission webhook of `netloom controller`, asked by a real API server.
//!
//! A real server with a client certificate for webhooks, a controller beside it that makes its own
//! certificate and tells the server to believe it, and the manifests that `netloom gen webhook` prints.
//! What it refuses, warns of and fills in must be what the embedded
//! server does with the same requests: the rules are the same functions, and this is where it shows.

use std::{
    fs::File,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use netloom_testkit::runner::Outcome;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use rcgen::ExtendedKeyUsagePurpose;
use serde_json::Value;

use crate::{
    Stage, judge,
    keys::{self, Authority},
    manifests::{kubectl, root},
    perform::Performer,
    script::{self, Step},
    servers::{Server, Side},
};

const NAME: &str = "admission";

/// What a real server puts before the words of a webhook that refuses.
const REFUSED: [&str; 4] = [
    "admission webhook \"validate.netloom.dev\" denied the request: ",
    "admission webhook \"attachments.netloom.dev\" denied the request: ",
    "admission webhook \"settings.netloom.dev\" denied the request: ",
    "admission webhook \"machines.netloom.dev\" denied the request: ",
];

/// Plays the script of rules to both servers.
pub(crate) fn rules(stage: &Stage) -> Outcome {
    let folder = stage.folder.join("webhook");
    let keys = Keys::write(&folder)?;
    let flag = format!("--admission-control-config-file={}", keys.admission.display());
    let real = Server::start_with(Side::Real, &stage.programs, &folder.join("real"), &["--", &flag])?;
    let ours = Server::start(Side::Ours, &stage.programs, &folder.join("ours"))?;
    let attachments = netloom_testkit::scenarios().join("admission/attachments.yaml");
    let machines = somebody_elses(&root().join("deploy/vms/kubevirt.io_virtualmachines.yaml"), &folder)?;
    let instances = root().join("deploy/vms/kubevirt.io_virtualmachineinstances.yaml");
    apply(stage, &real, &root().join("deploy/vms/rbac.yaml"))?;
    // Ours has machines by itself.
    for (server, definitions) in [(&real, vec![&attachments, &machines, &instances]), (&ours, vec![&attachments])] {
        apply(stage, server, &root().join("deploy/rbac.yaml"))?;
        for file in definitions {
            apply(stage, server, file)?;
            let file = file.to_string_lossy();
            kubectl(stage, server, &["wait", "--for=condition=Established", "--timeout=60s", "-f", &file])?;
        }
    }
    let authority = keys.authority.to_string_lossy();
    let mut words = vec!["--webhook-listen", "127.0.0.1:0", "--webhook-name", "127.0.0.1"];
    words.extend(["--webhook-client-ca", &authority, "--vms"]);
    let version = ["get", "crd", "virtualmachines.kubevirt.io", "-o", "jsonpath={.metadata.resourceVersion}"];
    let before = kubectl(stage, &real, &version)?;
    let controller = Controller::start(stage, &real, &words, &folder)?;
    let beforehand = netloom_testkit::scenarios().join("admission/beforehand.yaml");
    for server in [&real, &ours] {
        apply(stage, server, &beforehand)?;
    }
    for more in [&[][..], &["--vms"]] {
        let manifest = folder.join(format!("webhook{}.yaml", more.len()));
        let words = [&["gen", "webhook", "--url", controller.address("webhook")?][..], more].concat();
        std::fs::write(&manifest, netloom(stage, &words)?).map_err(|error| error.to_string())?;
        apply(stage, &real, &manifest)?;
    }
    // The manifests name no authority: the controller fills it in, in every webhook.
    for (kind, count) in [
        ("mutatingwebhookconfiguration/netloom", 1),
        ("validatingwebhookconfiguration/netloom", 3),
        ("validatingwebhookconfiguration/netloom-vms", 1),
    ] {
        for place in 0..count {
            let filled = format!("--for=jsonpath={{.webhooks[{place}].clientConfig.caBundle}}");
            kubectl(stage, &real, &["wait", &filled, "--timeout=60s", kind])?;
        }
    }

    let text = std::fs::read_to_string(netloom_testkit::scenarios().join("admission/rules.http"));
    let steps = script::parse(&text.map_err(|error| error.to_string())?)?;
    let play = async |server: &Server| Performer::new(&server.wire, [].into()).run(&steps).await;
    // One after the other: what the webhook has not heard of yet is asked again, and only by one.
    let mut asked = stage.runtime.block_on(play(&real));
    let own = stage.runtime.block_on(play(&ours));
    let mut reports = judged(&steps, &mut asked, &own);
    reports.extend(judge::report(NAME, &steps, &asked, &own, &stage.allowed));
    drop(controller);
    if kubectl(stage, &real, &version)? != before {
        reports.push("the controller has touched a definition of kubevirt.io that somebody else made".to_owned());
    }
    reports.extend(stage.runtime.block_on(without_a_controller(&real)).err());
    judge::outcome(&stage.differences(), NAME, steps.len(), &reports)
}

/// Compares each title with what happened, and takes the real server's own words off the refusals.
fn judged(steps: &[Step], asked: &mut [Value], own: &[Value]) -> Vec<String> {
    let mut wrong = Vec::new();
    for ((step, asked), own) in steps.iter().zip(asked).zip(own) {
        let refused = own["code"].as_u64().is_none_or(|code| code >= 400);
        if step.title.starts_with("taken") == refused || own["code"] != asked["code"] {
            wrong.push(format!("{}: {} and {}", step.title, asked, own["code"]));
        }
        let message = asked["body"]["message"].as_str().unwrap_or_default();
        let rest = REFUSED.iter().find_map(|prefix| message.strip_prefix(prefix)).map(str::to_owned);
        if step.title.starts_with("refused") != rest.is_some() {
            wrong.push(format!("{}: whether the webhook refused it is not as its title says: {asked}", step.title));
        }
        if let Some(rest) = rest {
            asked["body"]["message"] = Value::String(rest);
        }
        if let Some(object) = asked.get_mut("body") {
            without_controller(object);
        }
    }
    wrong
}

/// Takes off an object what the controller beside the real server says of it: the embedded one has none here.
fn without_controller(object: &mut Value) {
    let Some(managers) = object.pointer_mut("/metadata/managedFields").and_then(Value::as_array_mut) else { return };
    let before = managers.len();
    managers.retain(|entry| entry["manager"] != "netloom-controller");
    if managers.len() < before
        && let Some(object) = object.as_object_mut()
    {
        object.remove("status");
    }
}

/// Without a controller nothing of ours is written: an object that breaks a rule would stay.
async fn without_a_controller(real: &Server) -> Result<(), String> {
    let step = "### nobody answers\nPOST /apis/network.harvesterhci.io/v1beta1/clusternetworks?dryRun=All\n\n\
                {apiVersion: network.harvesterhci.io/v1beta1, kind: ClusterNetwork, metadata: {name: late}}\n";
    let answers = Performer::new(&real.wire, [].into()).run(&script::parse(step)?).await;
    let message = answers[0]["body"]["message"].as_str().unwrap_or_default();
    if answers[0]["code"] == 500 && message.contains("failed calling webhook \"complete.netloom.dev\"") {
        return Ok(());
    }
    Err(format!("without a controller a write was answered {}", answers[0]))
}

/// A definition as somebody else could have made it: in other words, and without our mark.
fn somebody_elses(definition: &Path, folder: &Path) -> Result<PathBuf, String> {
    let text = std::fs::read_to_string(definition).map_err(|error| error.to_string())?;
    let other = text.replace("    netloom.dev/installed: \"true\"\n", "    somebody: else\n");
    let other = other.replacen("description: A virtual machine.", "description: Another machine.", 1);
    let path = folder.join("machines.yaml");
    std::fs::write(&path, other).map_err(|error| error.to_string())?;
    Ok(path)
}

fn apply(stage: &Stage, server: &Server, file: &Path) -> Result<(), String> {
    let words = ["apply", "--server-side", "--force-conflicts", "-f", &file.to_string_lossy()];
    kubectl(stage, server, &words).map(drop)
}

fn netloom(stage: &Stage, words: &[&str]) -> Result<String, String> {
    let output = Command::new(&stage.programs.netloom).args(words).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("netloom {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr)))
}

/// The authority of the API server's certificate, and the files that tell it to show that.
struct Keys {
    authority: PathBuf,
    admission: PathBuf,
}

impl Keys {
    fn write(folder: &Path) -> Result<Self, String> {
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let write = |name: &str, text: &str| -> Result<PathBuf, String> {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
            Ok(path)
        };
        let authority = Authority::new()?;
        let caller = authority.sign("kube-apiserver", ExtendedKeyUsagePurpose::ClientAuth)?;
        // The users of this file are named after the hosts of webhooks; a star is all of them.
        let config = keys::kubeconfig("https://127.0.0.1", &authority.certificate(), &caller).replace("\"u\"", "\"*\"");
        let config = write("admission.kubeconfig", &config)?;
        let plugin = |name: &str| {
            format!(
                "- name: {name}\n  configuration:\n    apiVersion: apiserver.config.k8s.io/v1\n    \
                 kind: WebhookAdmissionConfiguration\n    kubeConfigFile: {}\n",
                config.display()
            )
        };
        let plugins = [plugin("ValidatingAdmissionWebhook"), plugin("MutatingAdmissionWebhook")].concat();
        let head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n";
        Ok(Self {
            authority: write("authority.crt", &authority.certificate())?,
            admission: write("admission.yaml", &format!("{head}{plugins}"))?,
        })
    }
}

/// A controller that ends with this value.
pub(crate) struct Controller {
    child: Child,
    printed: String,
}

impl Controller {
    /// Starts one that installs the definitions, and returns when it has listed everything.
    pub(crate) fn start(stage: &Stage, server: &Server, words: &[&str], folder: &Path) -> Result<Self, String> {
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut child = Command::new(&stage.programs.netloom)
            .args(["controller", "--install-crds", "--lease-seconds", "5", "--kubeconfig"])
            .arg(&server.kubeconfig)
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(folder.join("controller.log")).map_err(|error| error.to_string())?)
            .spawn()
            .map_err(|error| format!("netloom controller: {error}"))?;
        let mut reader = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        let mut controller = Self { child, printed: String::new() };
        while !controller.printed.ends_with("ready\n") {
            if reader.read_line(&mut controller.printed).map_err(|error| error.to_string())? == 0 {
                return Err(format!("the controller ended, see {}: {}", folder.display(), controller.printed));
            }
        }
        Ok(controller)
    }

    /// Where it listens for what.
    pub(crate) fn address(&self, what: &str) -> Result<&str, String> {
        let found = self.printed.lines().find_map(|line| line.strip_prefix(what)).map(str::trim);
        found.ok_or_else(|| format!("the controller does not say where its {what} is: {}", self.printed))
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        let pid = i32::try_from(self.child.id()).map(Pid::from_raw);
        if pid.is_ok_and(|pid| kill(pid, Signal::SIGTERM).is_ok()) {
            self.child.wait().ok();
        }
    }
}
