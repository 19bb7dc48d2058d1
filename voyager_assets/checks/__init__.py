"""Checks of the whole catalog; those of a single pass are reported by the pass itself."""
