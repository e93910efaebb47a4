//! The CNI plugin. It holds no credentials and decides nothing: what a runtime asks goes to the agent of the node over
//! a unix socket, in one message each way, and the answer is printed. What it answers itself: which versions there
//! are, what cannot be read at all, that the agent is away, and `fakeipam`, under which name delegates call it.

mod away;
mod fake_ipam;

use std::{
    fs,
    io::{self, Read as _, Write as _},
    os::unix::{fs::MetadataExt as _, net::UnixStream},
    path::Path,
    process::ExitCode,
    time::Duration,
};

use netloom_cnispec::{Answer, Call, Code, Config, Failure, MAX_CONFIG, Request, Variables, Version, versions};

/// No answer within this means that there will be none: an agent answers within the time that it has for interfaces, and
/// kubelets wait for four minutes.
const LONGEST: Duration = Duration::from_secs(200);

fn main() -> ExitCode {
    let variables = Variables::of(std::env::vars_os().filter_map(|(name, value)| {
        // What is not UTF-8 is none of the values that are possible, so it counts as missing.
        Some((name.into_string().ok()?, value.into_string().ok()?))
    }));
    let called = std::env::args_os().next().unwrap_or_default();
    let called = Path::new(&called).file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let answer = match input() {
        Ok(input) => answer(&called, variables, &input),
        Err(failure) => refused(&failure, Version::LATEST),
    };
    // A runtime that does not read its answer has ended.
    let printed = answer.output.is_empty() || writeln!(io::stdout(), "{}", answer.output).is_ok();
    if answer.ok && printed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn input() -> Result<Vec<u8>, Failure> {
    let mut input = Vec::new();
    let most = u64::try_from(MAX_CONFIG).unwrap_or(u64::MAX);
    let failed = |why: io::Error| Failure::new(Code::Io, "cannot read standard input").with(why.to_string());
    io::stdin().take(most + 1).read_to_end(&mut input).map_err(failed)?;
    if input.len() > MAX_CONFIG {
        let msg = format!("the network configuration is longer than {MAX_CONFIG} bytes");
        return Err(Failure::new(Code::Decode, msg));
    }
    Ok(input)
}

fn answer(called: &str, variables: Variables, input: &[u8]) -> Answer {
    if variables.get("CNI_COMMAND") == Some("VERSION") {
        return Answer { ok: true, output: versions(input).to_string() };
    }
    let version = Config::version_of(input);
    if called == "fakeipam" {
        return fake_ipam::answer(&variables, input, version);
    }
    match served(variables, input) {
        Ok(answer) => answer,
        Err(failure) => refused(&failure, version),
    }
}

fn refused(failure: &Failure, version: Version) -> Answer {
    Answer { ok: false, output: failure.to_json(version).to_string() }
}

/// Asks the agent.
fn served(variables: Variables, input: &[u8]) -> Result<Answer, Failure> {
    let request = Request::read(&variables, input)?;
    if let Some(netns) = request.attachment.as_ref().and_then(|attachment| attachment.netns.as_deref())
        && !request.own_netns_allowed
        && is_own(netns)
    {
        let msg = format!("CNI_NETNS {netns} is the network namespace of the plugin itself, which is the node's");
        return Err(Failure::new(Code::Namespace, msg));
    }
    // It was read as JSON just now.
    let config = String::from_utf8_lossy(input).into_owned();
    let socket = request.config.socket.clone();
    match ask(&socket, &Call { variables, config }) {
        Ok(answer) => Ok(answer),
        Err(why) => away::answer(&request, Path::new(&socket), &why),
    }
}

fn ask(socket: &str, call: &Call) -> io::Result<Answer> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(LONGEST))?;
    stream.set_write_timeout(Some(LONGEST))?;
    call.send(&mut stream)?;
    Answer::receive(&mut stream)
}

/// Whether a path is the network namespace of this process.
fn is_own(netns: &str) -> bool {
    let of = |path: &str| fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
    of(netns).is_some_and(|there| of("/proc/self/ns/net") == Some(there))
}
