"""The Newznab protocol as types: requests in, documents out.

Nothing here knows a database or a web framework. Rules are cited as NZ-n; docs/newznab.md lists
them with what each client does when one is broken.
"""
