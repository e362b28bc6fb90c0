"""Finds near-duplicates in Spark data frames, for collections that are too large for one machine.

`run` implements the command: it reads the input with `read_files`, and calls `duplicates`, which calls the stages.
`sketch_documents` computes sketches, `prefix_filter` finds candidate pairs, `compare_sketches` verifies them, and
`clusters` groups the pairs. `incremental_state` saves the documents and pairs for the next run. `contamination` finds
reference texts inside documents.
"""
