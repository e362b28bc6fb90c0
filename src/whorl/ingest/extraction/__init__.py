"""Text out of documents in other formats, in a process of its own that a hostile file can neither hang nor take along.

`reader` is what others use: it hands a file's bytes to `worker`, a process with limits, and gives back the text or the
reason why there is none. `formats` tells what a file is; `pdf`, `office`, `mail` and `html` run in the worker alone.
"""
