"""What is done to tables that are there: changing, rewriting, checking, cleaning, copying; each a commit."""
