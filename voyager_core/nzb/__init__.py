"""NZB documents: writing them from a release's chunks. No SQL and no network."""
