"""The Rust core of Voyager, as Python sees it."""
