"""`/api/v1`: the catalog as JSON, described by `/api/v1/openapi.json`."""
