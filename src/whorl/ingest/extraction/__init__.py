"""Extracts text from PDF, Office files, e-mail and HTML in a separate process with limits on time and memory.

Other packages use `reader`: it sends a file's bytes to `worker`, a process with limits, and returns the text or the
reason for its absence. A hostile file can neither hang nor crash the calling process. `formats` detects a file's
format; `texts` reads it, in the worker only.
"""
