//! What an agent costs that has virtual machines: its memory with many of them, on a libvirtd in memory, and without the
//! part for them.

use std::{fs, path::Path, time::Duration};

use bench_client::Failure;
use bench_table::{Bound, Row, Series, Unit};
use http::Method;
use netloom_libvirt_fake::Daemon;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    ROUNDS,
    process::Memory,
    sight::Sight,
    site::{NODE, Programs, Site, ip},
};

const INSTANCES: usize = 200;
const PLACE: &str = "/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstances";
/// What the start leaves to be done is no part of what is measured.
const SETTLED: Duration = Duration::from_secs(5);

pub async fn rows(programs: Programs<'_>, folder: &str) -> Result<Vec<Row>, Failure> {
    ip("link set lo up").await?;
    let (mut with, mut more) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let mut site = Site::open(programs, folder).await?;
        for number in 0..INSTANCES {
            site.send(Method::POST, PLACE, &instance(number)).await?;
        }
        site.attend(&[]).await?;
        sleep(SETTLED).await;
        let without = Memory::of(site.agent()?)?;
        site.leave().await?;
        let all = with_machines(&mut site, folder, round).await?;
        site.close().await?;
        eprintln!("bench: machines: without {without:?}, with {all:?}");
        with.push(all.resident);
        more.push(all.resident - without.resident);
    }
    Ok(vec![Row {
        what: format!(
            "an agent with {INSTANCES} virtual machines of two NICs: resident memory more than without `--libvirt`"
        ),
        ours: Some((Series(with), Unit::Mebibytes)),
        peer: None,
        figure: (Series(more), Unit::Mebibytes),
        bound: Bound::AtMost(8.0),
    }])
}

/// The memory of an agent all of whose machines run.
async fn with_machines(site: &mut Site, folder: &str, round: u32) -> Result<Memory, Failure> {
    let own = Path::new(folder).join(format!("libvirt-{round}"));
    fs::create_dir_all(&own)?;
    let base = "<domain type='qemu'><memory unit='MiB'>64</memory><devices/></domain>";
    fs::write(own.join("default.xml"), base)?;
    let socket = own.join("sock");
    let daemon = Daemon::start(&socket)?;
    let (socket, own) = (socket.display().to_string(), own.display().to_string());
    site.attend(&["--libvirt", &socket, "--domains", &own]).await?;
    let runs = |instance: &Value| instance["status"]["phase"] == "Running";
    let mut sight = Sight::of(&site.access, &[PLACE]).await?;
    sight
        .until("all machines run", |sight| {
            (0..INSTANCES).all(|number| sight.get("VirtualMachineInstance", &name(number)).is_some_and(runs))
        })
        .await?;
    sleep(SETTLED).await;
    if daemon.running().len() != INSTANCES {
        return Err(format!("{} domains run", daemon.running().len()).into());
    }
    let memory = Memory::of(site.agent()?)?;
    site.leave().await?;
    Ok(memory)
}

fn name(number: usize) -> String {
    format!("vm-{number}")
}

/// An instance that the controller has given to the node.
fn instance(number: usize) -> Value {
    json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
        "metadata": {
            "name": name(number), "labels": {"kubevirt.io/nodeName": NODE}, "finalizers": ["netloom.dev/domain"],
        },
        "spec": {
            "domain": {"devices": {"interfaces": [
                {"name": "default", "masquerade": {}}, {"name": "blue", "bridge": {}, "state": "down"},
            ]}},
            "networks": [{"name": "default", "pod": {}}, {"name": "blue", "multus": {"networkName": "blue"}}],
        },
        "status": {"nodeName": NODE, "phase": "Scheduled"},
    })
}
