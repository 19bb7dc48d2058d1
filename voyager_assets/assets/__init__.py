"""The assets: nouns of what exists, each a thin wrapper around one function of `voyager_core`."""
