"""The corpus and the catalog in DuckDB: Parquet files, views, and what is asked of them."""
