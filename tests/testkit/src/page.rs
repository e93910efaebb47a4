//! Pages of the documentation whose examples are run.
//!
//! ````text
//! ```yaml
//! # site.yaml           a file of that name in the folder that commands run in
//! ```
//! ```console
//! $ netloom plan -f site.yaml
//! n1                    what the command prints
//! …                     any lines
//! Plan: … touched.      any text
//! $ echo $?
//! 3
//! ```
//! ````
//!
//! Commands run in their order, each in a shell of its own. One that fails must be followed by `echo $?`; one
//! below which nothing is shown may print anything. Commands that only look (`netloom get`, `ip`) are asked
//! again until they print what is shown: a cluster needs a moment. Blocks without `$` are not run.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::mpsc::channel,
    time::Duration,
};

use netloom_journal::{Clock as _, SystemClock};

/// How long something that is looked at may need to become what is shown.
const TIME_LIMIT: Duration = Duration::from_mins(2);
/// How long to leave everybody alone between two looks.
const PAUSE: Duration = Duration::from_millis(100);
/// Any text, or as a line of its own any lines.
const ANYTHING: &str = "…";

/// What a page has to be tried.
#[derive(Debug, PartialEq, Eq)]
pub enum Example {
    /// A file that later commands read.
    File {
        /// Its name, with no folder.
        name: String,
        /// What is in it.
        text: String,
    },
    /// A command and what it prints.
    Command {
        /// The line of the page.
        line: usize,
        /// What is typed.
        typed: String,
        /// What is shown below it.
        shown: Vec<String>,
    },
}

/// Where and how the commands of a page run.
#[derive(Debug)]
pub struct Workshop {
    /// The folder for files, in which commands run.
    pub folder: PathBuf,
    /// The folder of the program.
    pub program: PathBuf,
    /// Variables for all commands.
    pub variables: Vec<(String, String)>,
    /// Words of the page that are called otherwise here.
    pub otherwise: Vec<(String, String)>,
}

/// The examples of a page, in their order.
pub fn examples(page: &str) -> Vec<Example> {
    let mut examples = Vec::new();
    let mut lines = page.lines().zip(1..);
    while let Some((line, _)) = lines.next() {
        let Some(kind) = line.strip_prefix("```") else { continue };
        let block: Vec<(&str, usize)> = lines.by_ref().take_while(|(line, _)| !line.starts_with("```")).collect();
        match kind {
            "yaml" => examples.extend(file(&block)),
            "console" => examples.extend(commands(&block)),
            _ => {}
        }
    }
    examples
}

/// A block that begins with the name of a file is one.
fn file(block: &[(&str, usize)]) -> Option<Example> {
    let name = block.first()?.0.strip_prefix("# ")?;
    let is_name = Path::new(name).extension().is_some_and(|end| end == "yaml") && !name.contains(['/', ' ']);
    let text: String = block.iter().flat_map(|(line, _)| [line, "\n"]).collect();
    is_name.then(|| Example::File { name: name.to_owned(), text })
}

fn commands(block: &[(&str, usize)]) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    for (text, line) in block {
        if let Some(typed) = text.strip_prefix("$ ") {
            found.push(Example::Command { line: *line, typed: typed.to_owned(), shown: Vec::new() });
        } else if let Some(Example::Command { shown, .. }) = found.last_mut() {
            shown.push((*text).to_owned());
        }
    }
    found
}

impl Workshop {
    /// Tries every example of a page; gives how many commands ran. The error names the line and both texts.
    pub fn try_all(&self, page: &str) -> Result<usize, String> {
        let (mut ran, mut last, mut failed) = (0, 0, None);
        for example in examples(page) {
            match example {
                Example::File { name, text } => {
                    let path = self.folder.join(name);
                    fs::write(&path, self.here(&text)).map_err(|error| format!("{}: {error}", path.display()))?;
                }
                Example::Command { line, typed, shown } => {
                    let at = |why: String| format!("line {line}: $ {typed}\n{why}");
                    if let Some(why) = failed.take().filter(|_| typed != "echo $?") {
                        return Err(why);
                    }
                    let (status, printed) = self.ask(&typed, &shown, last).map_err(at)?;
                    failed = (status != 0).then(|| at(format!("ended with {status}: {printed}")));
                    last = status;
                    ran += 1;
                }
            }
        }
        match failed {
            Some(why) => Err(why),
            None => Ok(ran),
        }
    }

    /// The same text as it is called here.
    fn here(&self, text: &str) -> String {
        self.otherwise.iter().fold(text.to_owned(), |text, (page, here)| text.replace(page, here))
    }

    /// Runs a command, and again when it only looks and does not print yet what is shown.
    fn ask(&self, typed: &str, shown: &[String], last: i32) -> Result<(i32, String), String> {
        let looks = ["netloom get ", "ip "].iter().any(|start| typed.starts_with(start));
        let began = SystemClock.now();
        loop {
            let (status, printed) = self.run(typed, last)?;
            let is_shown = shown.is_empty() || fits(shown, &printed.lines().collect::<Vec<_>>());
            if is_shown && (status == 0 || !looks) {
                return Ok((status, printed));
            }
            if !looks || began.until(SystemClock.now()) > TIME_LIMIT {
                return Err(format!("printed\n{printed}\nand not\n{}\n", shown.join("\n")));
            }
            // What is waited for is elsewhere, in processes that do not tell.
            let (_sender, nothing) = channel::<()>();
            nothing.recv_timeout(PAUSE).ok();
        }
    }

    fn run(&self, typed: &str, last: i32) -> Result<(i32, String), String> {
        let path = std::env::var("PATH").unwrap_or_default();
        let done = Command::new("bash")
            .args(["-c", &format!("exec 2>&1; (exit {last}); {}", self.here(typed))])
            .current_dir(&self.folder)
            .env("PATH", format!("{}:{path}", self.program.display()))
            .envs(self.variables.iter().cloned())
            .output()
            .map_err(|error| format!("bash: {error}"))?;
        let printed = String::from_utf8_lossy(&done.stdout).into_owned();
        // The page calls things by its own names.
        let printed = self.otherwise.iter().fold(printed, |text, (page, here)| text.replace(here, page));
        Ok((done.status.code().unwrap_or(-1), printed))
    }
}

/// Whether the printed lines are the shown ones.
fn fits(shown: &[String], printed: &[&str]) -> bool {
    match (shown.split_first(), printed.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first.trim() == ANYTHING => {
            (0..=printed.len()).any(|from| fits(rest, &printed[from..]))
        }
        (Some((first, rest)), Some((line, others))) => is_like(first.trim_end(), line.trim_end()) && fits(rest, others),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// Whether a line is the shown one.
fn is_like(shown: &str, printed: &str) -> bool {
    match shown.split_once(ANYTHING) {
        None => shown == printed,
        Some((before, after)) => printed.strip_prefix(before).is_some_and(|rest| {
            let ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            ends.into_iter().any(|at| is_like(after, &rest[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "text\n```yaml\n# a.yaml\nx: 1\n```\n```yaml\ny: 2\n```\n```console\nnot run\n$ cat a.yaml\n\
                        # a.yaml\n…\n$ false\n$ echo $?\n1\n```\n```ini\n$ no\n```\n";

    fn workshop(name: &str) -> Workshop {
        let folder = std::env::temp_dir().join(format!("netloom-page-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the folder can be made");
        Workshop { program: folder.clone(), folder, variables: Vec::new(), otherwise: Vec::new() }
    }

    #[test]
    fn files_and_commands_are_found() {
        let command = |line, typed: &str, shown: &[&str]| Example::Command {
            line,
            typed: typed.to_owned(),
            shown: shown.iter().map(|&line| line.to_owned()).collect(),
        };
        let wanted = [
            Example::File { name: "a.yaml".to_owned(), text: "# a.yaml\nx: 1\n".to_owned() },
            command(11, "cat a.yaml", &["# a.yaml", "…"]),
            command(14, "false", &[]),
            command(15, "echo $?", &["1"]),
        ];
        assert_eq!(examples(PAGE), wanted);
    }

    #[test]
    fn a_page_is_true_or_it_is_reported_where_it_is_not() {
        let workshop = workshop("said");
        assert_eq!(workshop.try_all(PAGE), Ok(3));
        let wrong = |page: &str, words: &str| {
            let why = workshop.try_all(page).expect_err(page);
            assert!(why.contains(words), "{page}: {why}");
        };
        wrong(&PAGE.replace("\n1\n", "\n2\n"), "line 15: $ echo $?\nprinted\n1\n");
        wrong(&PAGE.replace("$ echo $?\n1\n", "$ true\n"), "line 14: $ false\nended with 1");
        wrong(&PAGE.replace("$ echo $?\n1\n", ""), "ended with 1");
        wrong(&PAGE.replace("\n…", ""), "printed\n# a.yaml\nx: 1");
        fs::remove_dir_all(&workshop.folder).expect("the folder can be removed");
    }

    #[test]
    fn names_of_the_page_are_replaced_on_the_way_in_and_out() {
        let otherwise = vec![("n1".to_owned(), "nl-7".to_owned())];
        let workshop = Workshop { otherwise, ..workshop("names") };
        let page = "```console\n$ echo n1 | tr 7 8\nnl-8\n$ echo n1 is here\nn1 is …\n```\n";
        assert_eq!(workshop.try_all(page), Ok(2));
        fs::remove_dir_all(&workshop.folder).expect("the folder can be removed");
    }
}
