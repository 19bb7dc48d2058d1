//! The Voyager engine: pure functions over header bytes.
