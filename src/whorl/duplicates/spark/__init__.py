"""Finds near-duplicates in Spark data frames, for collections that are too large for one machine.

`run` implements the command, and `duplicates` calls the stages: `documents` reads the input, `load_and_sketch` computes
sketches, `frequencies_and_prefixes` and `prefix_filter` find candidate pairs, `verify` compares them, and `clusters`
groups the pairs. `incremental_state` saves the documents and pairs for the next run.
"""
