"""What is on disk: column files, parts, manifests, versions."""
