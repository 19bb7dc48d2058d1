"""The catalog: every SQL statement of Voyager, as plain functions over a psycopg connection.

Functions take the connection first and return frozen dataclasses. Keys of 64 bits are
unsigned in Python and the same bits as `bigint` in Postgres. Only `spans` and `fragments`
load polars, so that the API does not.
"""
