"""HTTP service over a store."""
