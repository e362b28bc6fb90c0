"""Extracts text from PDF, Office files, e-mail and HTML in a separate process with limits on time and memory.

`detect_format` detects a file's format. `reader_pool` sends the file to a child process (`worker`), which extracts the
text with `extract_text`. So a hostile file can neither hang nor crash the calling process.
"""
