"""What clients talk to: the Newznab API, NZB downloads, and the web page.

Rooms, from top to bottom; each knows only those below it:

- `server`: the process (uvicorn), `app`: the FastAPI application put together
- `routes`: one module per group of addresses; a route parses, calls one core function, renders
- `web`: templates and styles of the pages
- `deps`, `schemas`: what routes are given (connections, the caller's key, the base address)
- `errors`: how every failure becomes an answer
- `responses`, `access_log`, `transport`: HTTP below the protocol (gzip, ETag, header case,
  redaction, bodies, deadlines)
- `paging`, `throttle`, `metrics`: what one process remembers between requests
- `newznab`: the protocol as types; it knows no database and no web framework

All SQL is in `voyager_core.catalog`.
"""
