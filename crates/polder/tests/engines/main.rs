//! The list of engines as a whole, on machines that are made up: the page that describes them, and what `accept` and
//! `require` do. No engine is named here.
#![forbid(unsafe_code)]

mod gaps;
mod machine;
mod page;
