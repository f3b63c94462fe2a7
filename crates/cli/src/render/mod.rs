//! What people and programs read.

pub(crate) mod json;
pub(crate) mod matrix;
pub(crate) mod missing;
pub(crate) mod pager;
pub(crate) mod paint;
pub(crate) mod progress;
pub(crate) mod text;
