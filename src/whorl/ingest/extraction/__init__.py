"""Extracts text from PDF, Office files, e-mail and HTML in a separate process with limits on time and memory.

`detection` detects a file's format. `reader` sends the file to `worker`, a child process with limits, and returns the
text, or raises an error with the reason. So a hostile file can neither hang nor crash the calling process. `extractors`
reads the formats, in the worker only.
"""
