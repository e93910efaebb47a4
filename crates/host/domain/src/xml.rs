//! XML as a tree: what a reader of domains needs of it, and no more.
//!
//! Read are elements, attributes and text. Comments and instructions are passed over. A document type is refused, and
//! so is every entity but those that XML itself has: nothing is ever expanded. Size and depth are bounded, so a text that
//! somebody else wrote takes neither memory nor stack without end.

use quick_xml::{
    Reader, XmlVersion,
    events::{BytesStart, Event},
};

/// How deep elements may be within each other. Domains have about eight levels.
const DEPTH: usize = 64;
/// How large a text may be. Domains have some kilobytes; a hundred NICs make fifty.
pub const MOST: usize = 4 << 20;

/// Why a text is no XML that is read here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum XmlError {
    /// It is too large.
    #[error("{0} bytes are more than the {MOST} that a domain may have")]
    Large(usize),
    /// Its elements are too deep within each other.
    #[error("elements are more than {DEPTH} deep within each other")]
    Deep,
    /// It declares a document type.
    #[error("a document type is declared, which no domain needs")]
    DocumentType,
    /// It uses an entity that XML does not have by itself.
    #[error("the entity &{0}; is not known")]
    Entity(String),
    /// It is no XML.
    #[error("not XML: {0}")]
    Syntax(String),
    /// It ends in the middle, or has nothing or more than one element.
    #[error("not one element: {0}")]
    Shape(&'static str),
}

fn syntax(error: impl std::fmt::Display) -> XmlError {
    XmlError::Syntax(error.to_string())
}

/// An element.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Element {
    /// Its name, with the prefix where it has one.
    pub name: String,
    /// Its attributes, in their order.
    pub attributes: Vec<(String, String)>,
    /// What is in it.
    pub children: Vec<Node>,
}

/// What can be in an element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// An element.
    Element(Element),
    /// Text; of blanks alone nothing is kept.
    Text(String),
}

impl Element {
    /// One of that name.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// The same with an attribute.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.attributes.push((name.to_owned(), value.into()));
        self
    }

    /// The same with an element in it.
    #[must_use]
    pub fn and(mut self, child: Self) -> Self {
        self.push(child);
        self
    }

    /// The same with text in it.
    #[must_use]
    pub fn saying(mut self, text: impl Into<String>) -> Self {
        self.children.push(Node::Text(text.into()));
        self
    }

    /// Puts an element at its end.
    pub fn push(&mut self, child: Self) {
        self.children.push(Node::Element(child));
    }

    /// The value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The elements in it.
    pub fn elements(&self) -> impl Iterator<Item = &Self> {
        self.children.iter().filter_map(|child| match child {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    /// The first element of that name in it.
    pub fn child(&self, name: &str) -> Option<&Self> {
        self.elements().find(|element| element.name == name)
    }

    /// The same to be changed; it is made where there is none.
    pub fn child_mut(&mut self, name: &str) -> &mut Self {
        let is = |node: &Node| matches!(node, Node::Element(element) if element.name == name);
        let at = self.children.iter().position(is).unwrap_or_else(|| {
            self.push(Self::new(name));
            self.children.len() - 1
        });
        match &mut self.children[at] {
            Node::Element(element) => element,
            Node::Text(_) => unreachable!("the position is that of an element"),
        }
    }

    /// Takes out all elements of that name.
    pub fn remove(&mut self, name: &str) {
        self.children.retain(|node| !matches!(node, Node::Element(element) if element.name == name));
    }

    /// The text in it.
    pub fn text(&self) -> String {
        let texts = self.children.iter().filter_map(|child| match child {
            Node::Text(text) => Some(text.as_str()),
            Node::Element(_) => None,
        });
        texts.collect::<String>().trim().to_owned()
    }

    /// The element as text, one line for each element.
    pub fn print(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, 0);
        out
    }

    fn write(&self, out: &mut String, depth: usize) {
        let indent = "  ".repeat(depth);
        out.push_str(&indent);
        out.push('<');
        out.push_str(&self.name);
        for (name, value) in &self.attributes {
            out.push(' ');
            out.push_str(name);
            out.push_str("='");
            escape(value, out);
            out.push('\'');
        }
        if self.children.is_empty() {
            out.push_str("/>\n");
            return;
        }
        out.push('>');
        let texts = self.children.iter().any(|child| matches!(child, Node::Text(_)));
        if !texts {
            out.push('\n');
        }
        for child in &self.children {
            match child {
                Node::Text(text) => escape(text, out),
                Node::Element(element) if texts => out.push_str(element.print().trim()),
                Node::Element(element) => element.write(out, depth + 1),
            }
        }
        if !texts {
            out.push_str(&indent);
        }
        out.push_str("</");
        out.push_str(&self.name);
        out.push_str(">\n");
    }
}

/// Writes text so that nothing in it is markup. What XML has no way to say is left out.
fn escape(text: &str, out: &mut String) {
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\t' => out.push_str("&#9;"),
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {}
            letter => out.push(letter),
        }
    }
}

/// Reads a text that is one element.
pub fn parse(text: &str) -> Result<Element, XmlError> {
    if text.len() > MOST {
        return Err(XmlError::Large(text.len()));
    }
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = false;
    let mut open: Vec<Element> = Vec::new();
    let mut root = None;
    loop {
        match reader.read_event().map_err(syntax)? {
            Event::Start(start) => {
                if open.len() >= DEPTH {
                    return Err(XmlError::Deep);
                }
                open.push(begun(&start)?);
            }
            Event::Empty(start) => close(begun(&start)?, &mut open, &mut root)?,
            Event::End(_) => {
                let element = open.pop().ok_or(XmlError::Shape("an element ends that did not begin"))?;
                close(tidy(element), &mut open, &mut root)?;
            }
            Event::Text(text) => say(&text.xml10_content(), &mut open)?,
            Event::CData(text) => say(&text.xml10_content(), &mut open)?,
            Event::GeneralRef(reference) => {
                let resolved = reference.resolve_char_ref().map_err(syntax)?.map(String::from);
                let name = reference.xml10_content();
                let known = resolved.or_else(|| quick_xml::escape::resolve_xml_entity(&name).map(str::to_owned));
                say(&known.ok_or_else(|| XmlError::Entity(name.into_owned()))?, &mut open)?;
            }
            Event::DocType(_) => return Err(XmlError::DocumentType),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            Event::Eof => break,
        }
    }
    if open.is_empty() { root.ok_or(XmlError::Shape("there is none")) } else { Err(XmlError::Shape("it does not end")) }
}

fn begun(start: &BytesStart<'_>) -> Result<Element, XmlError> {
    let mut element = Element::new(start.name().0);
    for attribute in start.attributes() {
        let attribute = attribute.map_err(syntax)?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(syntax)?;
        element.attributes.push((attribute.key.0.to_owned(), value.into_owned()));
    }
    Ok(element)
}

fn close(element: Element, open: &mut [Element], root: &mut Option<Element>) -> Result<(), XmlError> {
    match (open.last_mut(), &root) {
        (Some(parent), _) => parent.push(element),
        (None, None) => *root = Some(element),
        (None, Some(_)) => return Err(XmlError::Shape("there are several")),
    }
    Ok(())
}

fn say(text: &str, open: &mut [Element]) -> Result<(), XmlError> {
    match open.last_mut() {
        Some(Element { children, .. }) => {
            if let Some(Node::Text(before)) = children.last_mut() {
                before.push_str(text);
            } else {
                children.push(Node::Text(text.to_owned()));
            }
            Ok(())
        }
        None if text.trim().is_empty() => Ok(()),
        None => Err(XmlError::Shape("there is text beside it")),
    }
}

/// Blanks between elements are how people lay a text out.
fn tidy(mut element: Element) -> Element {
    element.children.retain(|child| !matches!(child, Node::Text(text) if text.trim().is_empty()));
    element
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_as_the_same() {
        let nasty = "a'b\"c<d>e&f\n]]>\t&amp;";
        let element = Element::new("a").with("x", nasty).and(Element::new("b").saying(nasty)).and(Element::new("c"));
        assert_eq!(parse(&element.print()), Ok(element));
    }

    #[test]
    fn what_domains_do_not_need_is_refused_with_the_reason() {
        let deep = "<a>".repeat(10_000);
        for (text, wanted) in [
            (deep.as_str(), "more than 64 deep"),
            ("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "document type"),
            ("<a>&b;</a>", "&b;"),
            ("<a x='&b;'/>", "not XML"),
            ("<a>", "does not end"),
            ("<a></b>", "not XML"),
            ("</a>", "not XML"),
            ("", "there is none"),
            ("<a/><b/>", "several"),
            ("<a/>b", "text beside"),
            ("<a x='1' x='2'/>", "not XML"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(wanted), "{text:.40}: {error}");
        }
        assert_eq!(parse(&" ".repeat(MOST + 1)), Err(XmlError::Large(MOST + 1)));
        assert_eq!(parse("<?xml version='1.0'?><!-- c --><a>x&lt;&#65;<![CDATA[<]]></a>").unwrap().text(), "x<A<");
    }
}
