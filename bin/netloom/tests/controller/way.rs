//! A way to a server that can be cut, and mended.

use std::net::SocketAddr;

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// Passes connections on to a server while it is not cut.
pub(crate) struct Way {
    /// Where it begins.
    pub(crate) address: SocketAddr,
    cut: watch::Sender<bool>,
    /// How many connections were refused.
    refused: watch::Receiver<u32>,
}

impl Way {
    pub(crate) async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (cut, is_cut) = watch::channel(false);
        let (refuse, refused) = watch::channel(0);
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let mut is_cut = is_cut.clone();
                if *is_cut.borrow() {
                    refuse.send_modify(|times| *times += 1);
                    continue;
                }
                tokio::spawn(async move {
                    let mut far = TcpStream::connect(server).await.unwrap();
                    tokio::select! {
                        _ = copy_bidirectional(&mut near, &mut far) => {}
                        _ = is_cut.wait_for(|cut| *cut) => {}
                    }
                });
            }
        });
        Self { address, cut, refused }
    }

    /// Ends every connection, and takes no further one.
    pub(crate) fn cut(&self) {
        self.cut.send_replace(true);
    }

    /// Returns when somebody tried it after it was cut.
    pub(crate) async fn tried(&self) {
        self.refused.clone().wait_for(|times| *times > 0).await.unwrap();
    }

    pub(crate) fn mend(&self) {
        self.cut.send_replace(false);
    }
}
