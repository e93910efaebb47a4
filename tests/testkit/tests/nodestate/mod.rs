//! Stories about nodes of a cluster, in files and played with the real program.
//!
//! ```text
//! scenarios/nodestate/<name>/
//!   story.yaml   what it shows, its nodes, who runs from the beginning
//!   N-*.yaml     the steps, in order: what is done, and what must become true within a deadline
//! ```
//!
//! ```text
//! story   the files, read
//! wires   three hosts and a switch, each a network namespace
//! dhcp    a server that gives addresses
//! managers  other programs that manage links of a host
//! routers FRR on nodes, and birds in workloads
//! queries what is asked for on a link
//! cni     a runtime that attaches pods
//! relay   the API server at the end of a wire
//! site    an API server, a controller and agents: processes of the program
//! stage   what is done, and what is looked at
//! play    one story from its first step to its last
//! kills   a change in which the agent dies at every place
//! trace   what those places are
//! ```
//!
//! Stories about host networks are in `scenarios/hostnet`, those about the fabric in `scenarios/fabric`, those about networks of
//! pods in `scenarios/podnet`. They have the same form.
//! One whose head says `like: NAME` has the nodes, the needs and the server of its neighbour of that name, and adds its own.
//!
//! Both tiers play the same stories: each brings its own API server by a [`Ground`]. One server serves all
//! stories about policies, one after the other; whatever a story left there is deleted. After a failure the next
//! one gets a server of its own, and so does each about host networks. Nothing waits for a time: a step is over
//! when what it asks for is so.

mod birds;
mod cni;
mod dhcp;
mod kills;
mod managers;
mod play;
mod queries;
mod relay;
mod routers;
mod site;
mod stage;
mod story;
mod trace;
mod wires;

use std::{
    cell::RefCell,
    path::{Path, PathBuf},
};

use netloom_testkit::runner::{Outcome, Test};

pub(crate) use self::{site::Process, story::Server};
use self::{site::Site, story::Story};

/// What a tier brings: an API server, and credentials for the agents of nodes.
pub(crate) trait Ground {
    /// Which server that is.
    fn server(&self) -> Server;
    /// Starts a server in an empty folder and returns when it is ready, and `admin.kubeconfig` is in that folder.
    fn start(&self, folder: &Path) -> Result<Process, String>;
    /// A kubeconfig for the controller.
    fn controller(&self, folder: &Path) -> Result<PathBuf, String> {
        Ok(folder.join("admin.kubeconfig"))
    }
    /// A kubeconfig for the agent of a node.
    fn identity(&self, folder: &Path, node: &str) -> Result<PathBuf, String>;
}

/// Where all stories are played.
pub(crate) struct Theatre<'a> {
    netloom: PathBuf,
    folder: PathBuf,
    ground: &'a dyn Ground,
    /// What the story before left ready to use.
    site: RefCell<Option<Site>>,
}

impl<'a> Theatre<'a> {
    /// A theatre for one run of a tier; `netloom` is the program.
    pub(crate) fn new(netloom: PathBuf, folder: PathBuf, ground: &'a dyn Ground) -> Self {
        Self { netloom, folder, ground, site: RefCell::new(None) }
    }

    /// One test for each story.
    pub(crate) fn tests(&self) -> Vec<Test<'_>> {
        let areas: &[&str] = match self.ground.server() {
            Server::Embedded => &["nodestate", "hostnet", "fabric", "podnet"],
            Server::Real => &["nodestate"],
        };
        areas.iter().flat_map(|area| self.tests_of(area)).collect()
    }

    fn tests_of(&self, area: &str) -> Vec<Test<'_>> {
        let stories = match Story::load_all(&netloom_testkit::scenarios().join(area)) {
            Ok(stories) => stories,
            Err(why) => return vec![Test::new(format!("{area}/load"), move || Err(why.clone()))],
        };
        // What host networks and fabrics leave behind cannot be deleted by anybody at once: some is held until others are gone.
        let shared = area == "nodestate";
        let test = |story: Story| Test::new(format!("{area}/{}", story.name), move || self.play(&story, shared));
        let server = self.ground.server();
        let fits = |story: &Story| story.head.server.is_none_or(|only| only == server);
        stories.into_iter().filter(fits).map(test).collect()
    }

    fn play(&self, story: &Story, shared: bool) -> Outcome {
        let ready = self.site.borrow_mut().take();
        let mut site = match ready {
            Some(site) => site,
            None => Site::open(&self.netloom, &self.folder, self.ground)?,
        };
        let outcome = play::story(&mut site, self.ground, story)?;
        // A story that failed ends above, and its site with it.
        if shared {
            site.clear()?;
            *self.site.borrow_mut() = Some(site);
        }
        Ok(outcome)
    }
}

impl Drop for Theatre<'_> {
    fn drop(&mut self) {
        self.site.take();
        // Kept when a person wants to look into it.
        if std::env::var_os("NETLOOM_KEEP").is_none() {
            std::fs::remove_dir_all(&self.folder).ok();
        }
    }
}
