//! What is remembered about a private copy, beside it.

use super::capture::Captured;
use crate::relative::Wire;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const FILE: &str = "captured.json";

/// What later runs have to know about a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) objects: Vec<PathBuf>,
    pub(crate) digest: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    objects: Vec<Wire>,
    digest: String,
}

impl Record {
    pub(crate) fn of(captured: &Captured) -> Self {
        Self { objects: captured.objects.clone(), digest: captured.digest() }
    }
}

pub(crate) fn write(place: &Path, record: &Record) -> io::Result<()> {
    let Record { objects, digest } = record;
    let objects = objects.iter().map(|path| Wire::of(path.as_os_str())).collect();
    let form = Form { objects, digest: digest.clone() };
    fs::write(place.join(FILE), serde_json::to_string(&form)?)
}

pub(crate) fn read(place: &Path) -> io::Result<Record> {
    let form: Form = serde_json::from_str(&fs::read_to_string(place.join(FILE))?)?;
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "an object directory is no path");
    let objects = form.objects.into_iter().map(|wire| wire.read().map(PathBuf::from).ok_or_else(wrong));
    Ok(Record { objects: objects.collect::<io::Result<_>>()?, digest: form.digest })
}
