//! Containers by a daemon of this machine: Docker, and Podman behind the same interface.

#![expect(dead_code, unused_imports, reason = "the engine that uses the client is being built on it")]

#[cfg(test)]
mod acceptance;
mod api;
mod daemon;
mod image;
mod kind;
