//! What a host's network has in files: the resolver and the host name at boot.
//!
//! In a named namespace the resolver file is the one that `ip netns exec` puts over `/etc`. A host
//! name belongs to the host, not to a network namespace: setting it from one is refused.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::{MetadataExt as _, fchown},
    path::{Path, PathBuf},
};

use netloom_model::{EngineError, Medium, Observed, Part, Resolver, ResolverFile, Scope, Setting, Step, StepError};
use netloom_netlink::Namespace;

/// Where the files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Files {
    /// The resolver file; none in a namespace without a name.
    resolver: Option<PathBuf>,
    /// The host name file; none outside the host's own namespace.
    hostname: Option<PathBuf>,
}

impl Files {
    /// The files of a namespace, below `root` (`/` but in tests).
    pub(crate) fn of(namespace: &Namespace, root: &Path) -> Self {
        let etc = root.join("etc");
        match namespace {
            Namespace::Host => Self { resolver: Some(etc.join("resolv.conf")), hostname: Some(etc.join("hostname")) },
            Namespace::Named(_) | Namespace::Path(_) => Self {
                resolver: namespace.name().map(|name| etc.join("netns").join(name).join("resolv.conf")),
                hostname: None,
            },
        }
    }

    /// The resolver as it is configured, and the file it is in; empty when there is no file.
    pub(crate) fn resolver(&self) -> io::Result<Resolver> {
        let Some(path) = &self.resolver else { return Ok(Resolver::default()) };
        match fs::read(path) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                // What is not UTF-8 cannot be put back to the letter from a text.
                let file = std::str::from_utf8(&bytes).ok().map(|text| ResolverFile::Text(text.into()));
                Ok(Resolver { file, ..parse_resolver(&text) })
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                Ok(Resolver { file: Some(ResolverFile::Absent), ..Resolver::default() })
            }
            Err(e) => Err(e),
        }
    }

    /// Writes the resolver file: to the letter as it was read, when it still says the same, else with
    /// the lines kept that are not understood (such as `sortlist`).
    pub(crate) fn set_resolver(&self, resolver: &Resolver) -> Result<(), StepError> {
        let path =
            self.resolver.as_deref().ok_or_else(|| refused("a namespace without a name has no resolver file"))?;
        let done = match &resolver.file {
            Some(ResolverFile::Absent) if resolver.is_empty() => remove(&target(path)),
            Some(ResolverFile::Text(text)) if parse_resolver(text) == *resolver => replace(path, text),
            Some(_) | None => rewrite(path, resolver),
        };
        done.map_err(|e| failed(&e, path))
    }

    /// The host name that is set at boot; empty when there is none.
    pub(crate) fn hostname_config(&self) -> io::Result<String> {
        let Some(path) = &self.hostname else { return Ok(String::new()) };
        let text = read(path)?;
        let name = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
        Ok(name.unwrap_or_default().to_owned())
    }

    /// Writes the host name file; an empty name removes it.
    pub(crate) fn set_hostname_config(&self, name: &str) -> Result<(), StepError> {
        let none = || refused("a network namespace has no host name of its own");
        let path = self.hostname.as_deref().ok_or_else(none)?;
        let done = if name.is_empty() { remove(path) } else { replace(path, &format!("{name}\n")) };
        done.map_err(|e| failed(&e, path))
    }
}

impl Part for Files {
    fn medium(&self) -> Medium {
        Medium::File
    }

    fn read(&mut self, _: Scope, observed: &mut Observed) -> Result<(), EngineError> {
        let failed = |what: &str| {
            let doing = format!("read the {what}");
            move |e: io::Error| EngineError { doing, why: e.to_string() }
        };
        let settings = &mut observed.host.settings;
        settings.set(Setting::Resolver(self.resolver().map_err(failed("resolver file"))?));
        settings.set(Setting::HostnameConfig(self.hostname_config().map_err(failed("host name file"))?));
        Ok(())
    }

    fn apply(&mut self, steps: &[Step]) -> Result<Vec<Result<(), StepError>>, EngineError> {
        let one = |step: &Step| match step {
            Step::Set(Setting::Resolver(resolver)) => self.set_resolver(resolver),
            Step::Set(Setting::HostnameConfig(name)) => self.set_hostname_config(name),
            _ => Err(refused("there is no such file")),
        };
        Ok(steps.iter().map(one).collect())
    }
}

fn refused(text: &str) -> StepError {
    StepError::with(StepError::EOPNOTSUPP, text)
}

fn failed(error: &io::Error, path: &Path) -> StepError {
    StepError::with(error.raw_os_error().unwrap_or(5), &format!("{}: {error}", path.display()))
}

/// The text of a file; empty when there is none. Bytes that are not UTF-8 are replaced.
fn read(path: &Path) -> io::Result<String> {
    match fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(e) => Err(e),
    }
}

fn rewrite(path: &Path, resolver: &Resolver) -> io::Result<()> {
    let before = read(path)?;
    if resolver.is_empty() && before.is_empty() {
        return Ok(());
    }
    replace(path, &print_resolver(resolver, &before))
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Puts `text` into a file such that a reader, or a power cut, sees the old text or the new one.
///
/// A symbolic link stays and its target is replaced, so that `/etc/resolv.conf` can live elsewhere.
/// A file that is a mount of its own, as containers have, cannot be replaced; it is overwritten.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = target(path);
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    let file_name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{file_name}.netloom-{}", std::process::id()));
    let written = write_new(&temporary, text, &path).and_then(|()| fs::rename(&temporary, &path));
    match written {
        Ok(()) => File::open(folder)?.sync_all(),
        Err(e) => {
            drop(fs::remove_file(&temporary));
            if e.kind() == io::ErrorKind::ResourceBusy { overwrite(&path, text) } else { Err(e) }
        }
    }
}

/// The file behind a symbolic link, or where a dangling one points to.
fn target(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| {
        fs::read_link(path).map_or_else(|_| path.to_owned(), |to| path.parent().unwrap_or(path).join(to))
    })
}

fn write_new(temporary: &Path, text: &str, like: &Path) -> io::Result<()> {
    let mut file = File::create(temporary)?;
    if let Ok(before) = fs::metadata(like) {
        let new = file.metadata()?;
        if (new.uid(), new.gid()) != (before.uid(), before.gid()) {
            fchown(&file, Some(before.uid()), Some(before.gid()))?;
        }
        file.set_permissions(before.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn overwrite(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::options().write(true).truncate(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Reads a resolver file. As the resolver library does, the last `search` or `domain` line counts.
fn parse_resolver(text: &str) -> Resolver {
    let mut resolver = Resolver::default();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("nameserver") => resolver.servers.extend(words.next().map(str::to_owned)),
            Some("search") => resolver.search = words.map(str::to_owned).collect(),
            Some("domain") => resolver.search = words.take(1).map(str::to_owned).collect(),
            Some("options") => resolver.options.extend(words.map(str::to_owned)),
            _ => {}
        }
    }
    resolver
}

/// Writes a resolver file with the comments and unknown lines of `before` in front.
fn print_resolver(resolver: &Resolver, before: &str) -> String {
    let mut text = String::new();
    for line in before.lines() {
        let word = line.split_whitespace().next();
        if !matches!(word, Some("nameserver" | "search" | "domain" | "options")) {
            text.push_str(line);
            text.push('\n');
        }
    }
    let server = |server: &String| ("nameserver", server.clone());
    let lines = [("search", resolver.search.join(" "))]
        .into_iter()
        .chain(resolver.servers.iter().map(server))
        .chain([("options", resolver.options.join(" "))]);
    for (word, value) in lines.filter(|(_, value)| !value.is_empty()) {
        text.extend([word, " ", &value, "\n"]);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// A folder that goes when the test ends.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("netloom-files-{name}-{}", std::process::id()));
            fs::create_dir_all(path.join("etc")).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    fn words(list: &[&str]) -> Vec<String> {
        list.iter().map(|w| (*w).to_owned()).collect()
    }

    fn resolver() -> Resolver {
        Resolver {
            servers: words(&["192.0.2.53", "fe80::1%eth0"]),
            search: words(&["example.com", "example.net"]),
            options: words(&["rotate", "ndots:2"]),
            file: None,
        }
    }

    #[test]
    fn a_resolver_file_is_read_as_the_library_reads_it() {
        let text = "# manually\ndomain old.example\nsearch example.com example.net\nnameserver 192.0.2.53 # main\n\
                    sortlist 10.0.0.0\nnameserver fe80::1%eth0\noptions rotate\noptions ndots:2\n";
        assert_eq!(parse_resolver(text), resolver());
    }

    #[test]
    fn what_is_written_is_read_back_and_unknown_lines_stay() {
        let folder = Folder::new("round");
        let files = Files::of(&Namespace::Host, &folder.0);
        assert_eq!(files.resolver().unwrap(), Resolver::default());
        let path = folder.0.join("etc/resolv.conf");
        fs::write(&path, "# kept\nsortlist 10.0.0.0\nnameserver 1.1.1.1\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        files.set_resolver(&resolver()).unwrap();
        assert_eq!(files.resolver().unwrap(), resolver());
        assert!(fs::read_to_string(&path).unwrap().starts_with("# kept\nsortlist 10.0.0.0\nsearch "));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(folder.0.join("etc")).unwrap().count(), 1);
    }

    #[test]
    fn a_file_is_put_back_to_the_letter() {
        let folder = Folder::new("letter");
        let files = Files::of(&Namespace::Named("blue".to_owned()), &folder.0);
        let path = folder.0.join("etc/netns/blue/resolv.conf");
        let none = files.resolver().unwrap();
        files.set_resolver(&resolver()).unwrap();
        files.set_resolver(&none).unwrap();
        assert!(!path.exists());
        files.set_resolver(&none).unwrap();

        let text = "domain  old.example\n; a comment\nnameserver\t192.0.2.1";
        fs::write(&path, text).unwrap();
        let before = files.resolver().unwrap();
        files.set_resolver(&resolver()).unwrap();
        files.set_resolver(&before).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        // Taken from what was read and then changed, it is a desired value like any other.
        files.set_resolver(&Resolver { servers: words(&["192.0.2.2"]), ..before }).unwrap();
        assert_eq!(files.resolver().unwrap().servers, ["192.0.2.2"]);
    }

    #[test]
    fn a_dangling_link_dangles_again() {
        let folder = Folder::new("dangling");
        let path = folder.0.join("etc/resolv.conf");
        symlink("../run/resolv.conf", &path).unwrap();
        let files = Files::of(&Namespace::Host, &folder.0);
        let before = files.resolver().unwrap();
        files.set_resolver(&resolver()).unwrap();
        files.set_resolver(&before).unwrap();
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink() && !path.exists());
    }

    #[test]
    fn a_symbolic_link_stays_one() {
        let folder = Folder::new("link");
        let path = folder.0.join("etc/resolv.conf");
        symlink("../run/resolv.conf", &path).unwrap();
        let files = Files::of(&Namespace::Host, &folder.0);
        files.set_resolver(&resolver()).unwrap();
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
        assert_eq!(files.resolver().unwrap(), resolver());
        files.set_resolver(&Resolver::default()).unwrap();
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
        assert_eq!(files.resolver().unwrap(), Resolver::default());
    }

    #[test]
    fn a_namespace_has_a_resolver_file_of_its_own_and_no_host_name() {
        let folder = Folder::new("ns");
        let files = Files::of(&Namespace::Named("blue".to_owned()), &folder.0);
        files.set_resolver(&resolver()).unwrap();
        assert!(folder.0.join("etc/netns/blue/resolv.conf").exists());
        assert_eq!(files.set_hostname_config("x").unwrap_err().errno, StepError::EOPNOTSUPP);
        let nameless = Files::of(&Namespace::Path("/proc/1/ns/net".into()), &folder.0);
        assert_eq!(nameless.set_resolver(&resolver()).unwrap_err().errno, StepError::EOPNOTSUPP);
    }

    #[test]
    fn the_host_name_file_comes_and_goes() {
        let folder = Folder::new("name");
        let files = Files::of(&Namespace::Host, &folder.0);
        assert_eq!(files.hostname_config().unwrap(), "");
        files.set_hostname_config("node-1").unwrap();
        assert_eq!(files.hostname_config().unwrap(), "node-1");
        files.set_hostname_config("").unwrap();
        files.set_hostname_config("").unwrap();
        assert!(!folder.0.join("etc/hostname").exists());
    }
}
