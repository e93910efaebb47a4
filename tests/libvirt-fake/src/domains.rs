//! The domains of a daemon, and what it answers about them.

use std::collections::BTreeMap;

use netloom_domain::xml::{self, Element, Node};
use netloom_libvirt::{
    Handle, code,
    frame::{Frame, Kind, Malformed, Reader, Writer},
    procedure,
};

#[derive(Debug)]
struct Domain {
    uuid: [u8; 16],
    /// Its number while it runs.
    id: Option<i32>,
    root: Element,
}

#[derive(Debug, Default)]
pub(crate) struct Domains {
    all: BTreeMap<String, Domain>,
    /// How many were defined or started.
    count: i32,
}

/// What is answered instead, with libvirt's number for it.
struct Refusal(i32, &'static str);

impl From<Malformed> for Refusal {
    fn from(_: Malformed) -> Self {
        Self(38, "a call that cannot be read")
    }
}

/// The domain that a call is about; empty where it is about none.
pub(crate) fn named(call: &Frame) -> String {
    match call.procedure {
        procedure::AUTH_LIST
        | procedure::CONNECT_OPEN
        | procedure::CONNECT_CLOSE
        | procedure::CONNECT_LIST_ALL_DOMAINS
        | procedure::CONNECT_DOMAIN_EVENT_CALLBACK_REGISTER_ANY => String::new(),
        procedure::DOMAIN_DEFINE_XML => Reader::new(&call.body)
            .text()
            .ok()
            .and_then(|text| xml::parse(&text).ok())
            .map(|root| name(&root))
            .unwrap_or_default(),
        _ => Reader::new(&call.body).text().unwrap_or_default(),
    }
}

fn name(root: &Element) -> String {
    root.child("name").map(Element::text).unwrap_or_default()
}

fn alias(device: &Element) -> Option<&str> {
    device.child("alias")?.attribute("name")
}

impl Domains {
    pub(crate) fn text(&self, domain: &str) -> Option<String> {
        self.all.get(domain).map(|domain| domain.root.print())
    }

    pub(crate) fn running(&self) -> Vec<String> {
        self.all.iter().filter(|(_, domain)| domain.id.is_some()).map(|(name, _)| name.clone()).collect()
    }

    pub(crate) fn change(&mut self, domain: &str, change: impl FnOnce(String) -> String) {
        if let Some(domain) = self.all.get_mut(domain)
            && let Ok(root) = xml::parse(&change(domain.root.print()))
        {
            domain.root = root;
        }
    }

    pub(crate) fn handle(&self, name: &str) -> Option<Handle> {
        let domain = self.all.get(name)?;
        Some(Handle { name: name.to_owned(), uuid: domain.uuid, id: domain.id.unwrap_or(-1) })
    }

    /// The answer to a call.
    pub(crate) fn answer(&mut self, call: &Frame) -> Frame {
        let reply = |failed, body| Frame { kind: Kind::Reply, failed, body, ..call.clone() };
        match self.done(call) {
            Ok(answer) => reply(false, answer.done()),
            Err(Refusal(code, why)) => {
                let body = Writer::default().number(code.cast_unsigned()).number(10).optional(Some(why));
                reply(true, body.done())
            }
        }
    }

    fn done(&mut self, call: &Frame) -> Result<Writer, Refusal> {
        let (mut reader, empty) = (Reader::new(&call.body), Writer::default());
        match call.procedure {
            procedure::AUTH_LIST => return Ok(empty.number(1).number(0)),
            procedure::CONNECT_OPEN => return Ok(empty),
            procedure::CONNECT_DOMAIN_EVENT_CALLBACK_REGISTER_ANY => return Ok(empty.number(0)),
            procedure::CONNECT_LIST_ALL_DOMAINS => {
                let count = u32::try_from(self.all.len()).unwrap_or_default();
                let all = self.all.keys().filter_map(|name| self.handle(name));
                return Ok(all.fold(empty.number(count), |written, handle| handle.write(written)).number(count));
            }
            procedure::DOMAIN_DEFINE_XML => return self.define(&reader.text()?),
            _ => {}
        }
        let of = reader.text()?;
        let handle = self.handle(&of).ok_or(Refusal(code::NO_DOMAIN, "Domain not found"))?;
        if call.procedure == procedure::DOMAIN_LOOKUP_BY_NAME {
            return Ok(handle.write(empty));
        }
        reader.fixed(16)?;
        reader.signed()?;
        match call.procedure {
            procedure::DOMAIN_GET_XML_DESC => return Ok(empty.text(&self.text(&of).unwrap_or_default())),
            procedure::DOMAIN_GET_STATE => return Ok(empty.number(if handle.is_active() { 1 } else { 5 }).number(1)),
            procedure::DOMAIN_GET_JOB_INFO => return Ok(empty.number(0)),
            procedure::DOMAIN_UNDEFINE => drop(self.all.remove(&of)),
            procedure::DOMAIN_RESUME => {}
            procedure::DOMAIN_CREATE => self.set_running(&of, true),
            procedure::DOMAIN_DESTROY if handle.is_active() => self.set_running(&of, false),
            procedure::DOMAIN_DESTROY => return Err(Refusal(code::OPERATION_INVALID, "domain is not running")),
            procedure::DOMAIN_ATTACH_DEVICE_FLAGS
            | procedure::DOMAIN_DETACH_DEVICE_FLAGS
            | procedure::DOMAIN_UPDATE_DEVICE_FLAGS => self.device(call.procedure, &of, &reader.text()?)?,
            _ => return Err(Refusal(3, "this function is not supported by the connection driver")),
        }
        Ok(empty)
    }

    fn define(&mut self, text: &str) -> Result<Writer, Refusal> {
        let root = xml::parse(text).map_err(|_| Refusal(27, "XML error"))?;
        let name = name(&root);
        self.count += 1;
        let mut uuid = [0; 16];
        uuid[..4].copy_from_slice(&self.count.to_be_bytes());
        let domain = self.all.entry(name.clone()).or_insert(Domain { uuid, id: None, root: Element::new("domain") });
        domain.root = root;
        let handle = self.handle(&name).ok_or(Refusal(1, "internal error"))?;
        Ok(handle.write(Writer::default()))
    }

    fn set_running(&mut self, name: &str, runs: bool) {
        self.count += 1;
        if let Some(domain) = self.all.get_mut(name) {
            domain.id = runs.then_some(self.count);
        }
    }

    /// Puts a device in, in the place of the one with its alias, or takes that out.
    fn device(&mut self, procedure: u32, of: &str, text: &str) -> Result<(), Refusal> {
        let given = xml::parse(text).map_err(|_| Refusal(27, "XML error"))?;
        let Some(domain) = self.all.get_mut(of) else { return Ok(()) };
        let all = &mut domain.root.child_mut("devices").children;
        let known = all.iter().position(|child| match child {
            Node::Element(element) => alias(element).is_some() && alias(element) == alias(&given),
            Node::Text(_) => false,
        });
        match (procedure, known) {
            (procedure::DOMAIN_ATTACH_DEVICE_FLAGS, None) => all.push(Node::Element(given)),
            (procedure::DOMAIN_ATTACH_DEVICE_FLAGS, Some(_)) => return Err(Refusal(55, "target already exists")),
            (_, None) => return Err(Refusal(code::DEVICE_MISSING, "device not found")),
            (procedure::DOMAIN_UPDATE_DEVICE_FLAGS, Some(at)) => all[at] = Node::Element(given),
            (_, Some(at)) => drop(all.remove(at)),
        }
        Ok(())
    }
}
