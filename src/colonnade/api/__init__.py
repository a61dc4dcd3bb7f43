"""What users hold: databases, tables, queries. Thin: the work is in `query`, `ingest` and `store`."""
