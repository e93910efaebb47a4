//! Controllers as processes, with everything that can happen to one.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, ChildStdout, Command, Stdio},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::{
    cluster::Cluster,
    embedded::{NETLOOM, Server},
};

/// The cluster of a server, with so many nodes.
pub(crate) async fn cluster(server: &Server, nodes: usize) -> Cluster {
    Cluster::of(&server.folder.join("kubeconfig")).await.with_nodes(nodes).await
}

/// A controller that ends with this value.
pub(crate) struct Controller {
    process: Child,
    output: BufReader<ChildStdout>,
    status: String,
}

impl Controller {
    /// Starts one; it may not be ready yet. Its log is appended to that of earlier lives of the same name.
    pub(crate) fn spawn(server: &Server, name: &str) -> Self {
        let identity = server.folder.join("controller.kubeconfig");
        if !identity.exists() {
            let out = identity.display().to_string();
            assert_eq!(server.run(&["gen", "kubeconfig", "--controller", "--out", &out]), (0, String::new()));
        }
        let log = fs::OpenOptions::new().create(true).append(true).open(server.folder.join(name)).unwrap();
        let mut process = Command::new(NETLOOM)
            .args(["controller", "--status-listen", "127.0.0.1:0", "--lease-seconds", "3", "--kubeconfig"])
            .arg(identity)
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let status = line.trim().strip_prefix("status http://").expect("where it tells how it is").to_owned();
        Self { process, output, status }
    }

    /// The same, and waits until it is ready.
    pub(crate) fn start(server: &Server, name: &str) -> Self {
        let mut controller = Self::spawn(server, name);
        let mut line = String::new();
        controller.output.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        controller
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.process.id().try_into().unwrap()), signal).unwrap();
    }

    /// Waits for its end; gives its exit status, none after a signal.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        self.process.wait().unwrap().code()
    }

    /// What it answers on its address: the first line, and the rest.
    pub(crate) fn get(&self, path: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.status).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.lines().next().unwrap().to_owned(), body.to_owned())
    }

    /// The sum of a metric over all of its labels.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let (_, text) = self.get("/metrics");
        let lines = text.lines().filter(|line| line.split(['{', ' ']).next() == Some(name));
        lines.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
