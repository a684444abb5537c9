"""The history: the figures of earlier sessions, one Parquet file for each."""
