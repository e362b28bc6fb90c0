"""HTTP in front of a store."""
