"""A tick database that you import."""
