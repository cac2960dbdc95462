"""Where bytes are kept: the engine's folders (`folder`) and the files in them (`files`).

Shared memory is a folder like any other, only faster, and what there is of it differs widely (24 GB, 64 MB, none). So there is
one way to write a file, and it moves to disk when shared memory ends.
"""
