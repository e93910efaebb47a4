//! The page that tells host networks in ten stories, compared with the stories that are played: whatever it shows,
//! somebody does there.

use std::{collections::BTreeSet, fs, path::Path};

use netloom_testkit::{
    page::{Example, examples},
    scenarios,
};
use serde_json::Value;

/// A part of the page under a heading of its own.
struct Section<'a> {
    title: &'a str,
    text: &'a str,
}

impl<'a> Section<'a> {
    fn all(page: &'a str) -> Vec<Self> {
        let parts = page.split("\n## ").skip(1);
        parts.filter_map(|part| part.split_once('\n')).map(|(title, text)| Self { title, text }).collect()
    }

    /// The stories that it names.
    fn stories(&self) -> BTreeSet<&'a str> {
        self.text.split('`').filter_map(|word| word.strip_prefix("scenarios/hostnet/")).collect()
    }

    /// The objects that it shows.
    fn objects(&self) -> Vec<Value> {
        let blocks = self.text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
        blocks.flat_map(|block| block.split("---\n")).map(parsed).collect()
    }

    /// The commands that it shows, whether they wait or not.
    fn commands(&self) -> Vec<String> {
        let typed = |example| match example {
            Example::Command { typed, .. } => Some(typed),
            Example::File { .. } => None,
        };
        let commands = examples(self.text).into_iter().filter_map(typed);
        commands.map(|typed| typed.trim_end_matches(" --wait").to_owned()).collect()
    }
}

/// What is done in a story, step after step.
fn deeds(story: &str) -> Vec<Value> {
    let folder = scenarios().join("hostnet").join(story);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let steps = files.flatten().map(|file| file.path()).filter(|path| !path.ends_with("story.yaml"));
    steps.flat_map(|path| parsed(&read(&path))["do"].as_array().cloned().unwrap_or_default()).collect()
}

/// The objects that are written in these stories, and what is deleted, as one would type it.
fn done(stories: &BTreeSet<&str>) -> (Vec<Value>, Vec<String>) {
    let deeds: Vec<Value> = stories.iter().flat_map(|story| deeds(story)).collect();
    let written = deeds.iter().filter_map(|deed| deed["apply"].as_array()).flatten().cloned().collect();
    let delete = |deed: &Value| {
        let kind = deed.get("delete")?["kind"].as_str()?.to_lowercase();
        Some(format!("netloom delete {kind} {}", deed["delete"]["name"].as_str()?))
    };
    (written, deeds.iter().filter_map(delete).collect())
}

fn page() -> String {
    read(&scenarios().join("../docs/host-network-stories.md"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn parsed(text: &str) -> Value {
    netloom_testkit::yaml::read(text).unwrap_or_else(|error| panic!("{error} in:\n{text}"))
}

#[test]
fn what_the_page_shows_is_done_in_the_stories_that_it_names() {
    let page = page();
    let sections = Section::all(&page);
    assert_eq!(sections.len(), 10);
    for section in &sections {
        let (written, deleted) = done(&section.stories());
        for object in section.objects() {
            assert!(written.contains(&object), "{}: nobody writes {object}", section.title);
        }
        for command in section.commands() {
            assert!(deleted.contains(&command), "{}: nobody does `{command}`", section.title);
        }
    }
    let introduction = Section { title: "introduction", text: page.split("\n## ").next().unwrap() };
    let (written, _) = done(&sections[0].stories());
    for object in introduction.objects() {
        assert!(written.contains(&object), "nobody writes {object}");
    }
}

#[test]
fn every_story_is_on_the_page() {
    let page = page();
    let reported: BTreeSet<String> = Section::all(&page).iter().flat_map(Section::stories).map(str::to_owned).collect();
    let folders = fs::read_dir(scenarios().join("hostnet")).unwrap();
    let names = folders.map(|folder| folder.unwrap().file_name().into_string().unwrap());
    assert_eq!(reported, names.filter(|name| name.starts_with("story-")).collect());
}
