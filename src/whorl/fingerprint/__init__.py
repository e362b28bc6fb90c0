"""Pure: text to words, shingles, hashes, signatures; thresholds to numbers."""
