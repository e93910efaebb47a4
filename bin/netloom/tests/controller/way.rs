//! A way to a server that can be cut, with a word or without, and fixed.

use std::net::SocketAddr;

use tokio::{
    io::{copy, copy_bidirectional, sink},
    net::{TcpListener, TcpStream},
    sync::watch::{self, Receiver, Sender},
    time::timeout,
};

use crate::cluster::TIME_LIMIT;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// Every connection ends.
    Cut,
    /// Connections stay, and nothing that is sent arrives.
    Lossy,
}

/// Passes connections on to a server while it is open.
pub(crate) struct Way {
    /// Where it begins.
    pub(crate) address: SocketAddr,
    state: Sender<State>,
    /// How many connections were begun while it was not open.
    in_vain: Receiver<u32>,
}

impl Way {
    pub(crate) async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (state, seen) = watch::channel(State::Open);
        let (tried, in_vain) = watch::channel(0);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                if *seen.borrow() != State::Open {
                    tried.send_modify(|times| *times += 1);
                }
                tokio::spawn(pass(near, server, seen.clone()));
            }
        });
        Self { address, state, in_vain }
    }

    /// Ends every connection, and takes no further one.
    pub(crate) fn cut(&self) {
        self.state.send_replace(State::Cut);
    }

    /// Loses whatever is sent, and lets connections stay.
    pub(crate) fn lose(&self) {
        self.state.send_replace(State::Lossy);
    }

    /// Returns when somebody tried it while it was not open.
    pub(crate) async fn tried(&self) {
        let mut in_vain = self.in_vain.clone();
        timeout(TIME_LIMIT, in_vain.wait_for(|times| *times > 0)).await.expect("somebody tries it").unwrap();
    }

    /// Passes new connections on; what was lost stays lost.
    pub(crate) fn fix(&self) {
        self.state.send_replace(State::Open);
    }
}

/// Passes one connection on while the way is open; one that something was lost of goes on as little as one that ended.
async fn pass(mut near: TcpStream, server: SocketAddr, mut state: Receiver<State>) {
    if *state.borrow() == State::Open {
        let mut far = TcpStream::connect(server).await.unwrap();
        tokio::select! {
            _ = copy_bidirectional(&mut near, &mut far) => return,
            _ = state.wait_for(|state| *state != State::Open) => {}
        }
    }
    if *state.borrow() == State::Lossy {
        // Held until whoever is at the other end gives it up.
        copy(&mut near, &mut sink()).await.ok();
    }
}
