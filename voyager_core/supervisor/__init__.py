"""`voyager up`: Postgres, Dagster and the API as one installation of child processes.

Core imports neither Dagster nor the web framework; it starts their programs.
"""
