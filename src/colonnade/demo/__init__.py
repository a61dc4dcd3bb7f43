"""The tour: a synthetic TAQ day, the queries asked of it, and the same queries in Polars."""
