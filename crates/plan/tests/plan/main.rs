//! Plans: what becomes of each rule, how they read, and what holds for all of them.
#![forbid(unsafe_code)]

mod allowance;
mod caches;
mod laws;
mod sample;
mod standing;
mod text;
mod view;
