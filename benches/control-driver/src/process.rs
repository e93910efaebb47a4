//! What a process has and does, by what the kernel says of it.

use std::fs;

use bench_client::Failure;

/// Resident memory in MiB, all of it, and the part that no file is behind.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    pub resident: f64,
    pub anonymous: f64,
    /// The most that was ever resident.
    pub most: f64,
}

impl Memory {
    pub fn of(pid: u32) -> Result<Self, Failure> {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let mebibytes = |name: &str| in_mebibytes(&status, name);
        Ok(Self { resident: mebibytes("VmRSS:")?, anonymous: mebibytes("RssAnon:")?, most: mebibytes("VmHWM:")? })
    }
}

/// The memory of a process in MiB, each page divided by the number of processes that have it.
pub fn share(pid: u32) -> Result<f64, Failure> {
    in_mebibytes(&fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?, "Pss:")
}

/// What all threads of a process have done so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Done {
    /// How often one of them waited for something; after each time something woke it.
    pub waits: f64,
    /// Processor time in seconds.
    pub busy: f64,
}

impl Done {
    /// Threads that have ended are not counted, so this is for a process that has all it needs.
    pub fn by(pid: u32) -> Result<Self, Failure> {
        let mut done = Self::default();
        for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
            let thread = thread?.path();
            let status = fs::read_to_string(thread.join("status"))?;
            let waits = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            done.waits += waits.ok_or("no voluntary_ctxt_switches")?.trim().parse::<f64>()?;
            let times = fs::read_to_string(thread.join("schedstat"))?;
            done.busy += times.split(' ').next().unwrap_or_default().parse::<f64>()? / 1e9;
        }
        Ok(done)
    }
}

fn in_mebibytes(status: &str, name: &str) -> Result<f64, Failure> {
    let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or_else(|| format!("no {name}"))?;
    Ok(line.trim().trim_end_matches(" kB").trim().parse::<f64>()? / 1024.0)
}
