//! `libvirt-fake SOCKET`: a libvirtd in memory at a socket, until its standard input ends. It says `ready` when it listens.

use std::{
    env,
    io::{self, Read as _, Write as _},
    path::Path,
};

use netloom_libvirt_fake::Daemon;

fn main() -> io::Result<()> {
    let socket = env::args_os().nth(1).ok_or_else(|| io::Error::other("usage: libvirt-fake SOCKET"))?;
    let _daemon = Daemon::start(Path::new(&socket))?;
    writeln!(io::stdout(), "ready")?;
    io::stdin().read_to_end(&mut Vec::new()).map(drop)
}
