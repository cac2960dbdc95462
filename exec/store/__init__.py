"""Where bytes are kept.

folder        the engine's folders: shared memory where there is room, and disk
files         output files of tasks, which move to disk when shared memory ends
columns       the names of what the column store keeps: columns of files, in segments
segments      those segments as files: their stored form, written once and mapped by every worker
column_store  which columns are kept and which have to go (the driver's side)

Shared memory is a folder like any other, only faster, and what there is of it differs widely (24 GB, 64 MB, none). So there is
one way to write a file.
"""
