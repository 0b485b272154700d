//! Tests of the surface: its input, and what it tells of each scene.

mod input;
mod streams;
