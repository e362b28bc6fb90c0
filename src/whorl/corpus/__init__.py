"""Many documents at once: all pairs that are alike, and the clusters that they make."""
