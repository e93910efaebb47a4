//! An embedded API server for tests of commands: the program itself, as a child of the test.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// The program.
pub(crate) const NETLOOM: &str = env!("CARGO_BIN_EXE_netloom");

/// A server that ends with this value.
pub(crate) struct Server {
    /// Its process.
    pub(crate) process: Child,
    /// Where its data, its log and its administrator's kubeconfig are.
    pub(crate) folder: PathBuf,
}

impl Server {
    /// Starts a server in an empty folder and returns when it is ready.
    pub(crate) fn start(name: &str) -> Self {
        Self::start_on(empty_folder(name))
    }

    /// The same in a folder as it is.
    pub(crate) fn start_on(folder: PathBuf) -> Self {
        let mut process = Command::new(NETLOOM)
            .args(["server", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(folder.join("data"))
            .arg("--kubeconfig-out")
            .arg(folder.join("kubeconfig"))
            .stdout(Stdio::piped())
            .stderr(fs::File::create(folder.join("log")).unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("ready https://127.0.0.1:"), "{line}");
        Self { process, folder }
    }

    /// Runs a verb; gives its status and what it printed, data first.
    pub(crate) fn run(&self, words: &[&str]) -> (i32, String) {
        let mut command = Command::new(NETLOOM);
        command.args(words).env("KUBECONFIG", self.folder.join("kubeconfig"));
        ended(&mut command)
    }

    /// Writes a file beside the data.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// A folder for one test, without what an earlier run left there.
pub(crate) fn empty_folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::remove_dir_all(&folder).ok();
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs a command to its end; gives its status and what it printed, data first.
pub(crate) fn ended(command: &mut Command) -> (i32, String) {
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    (output.status.code().unwrap_or(-1), text)
}
