//! What admission asks of node network state: documents are read with the parser that the node uses.

mod document;
mod policy;
mod selection;
mod state;
