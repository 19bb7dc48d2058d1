"""What Voyager knows about Usenet: no Dagster and no web framework below this point."""
