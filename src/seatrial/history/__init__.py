"""What earlier sessions measured: one Parquet file a session."""
