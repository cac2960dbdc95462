"""What the figures mean, in the words that every form of the report uses."""

from __future__ import annotations

from tpch.results import Mode

TITLES = {Mode.COLD: "Cold", Mode.HOT: "Hot", Mode.MEMORY: "In memory"}

MEANINGS = {
    Mode.COLD: "A new process with an open session; the first execution of the query in it.",
    Mode.HOT: "A session that has run the query before, over the same files. What an engine keeps of them by default it may use: "
    "qengine keeps decoded columns in shared memory.",
    Mode.MEMORY: "As hot, with the tables loaded into the engine’s own best form in memory before.",
}

NOT_AUDITED = (
    "Nothing here is an audited TPC result, and none of it can be compared with one. There are no refresh functions, "
    "so no QphH is claimed."
)

DEFINITIONS = (
    (
        "Time",
        "from handing over the text of a query to having all of its rows as an Arrow table, in seconds. Planning is part of it.",
    ),
    ("Median", "of all runs of a query. The small figures below it are the fastest and the slowest of them."),
    (
        "Cold",
        MEANINGS[Mode.COLD] + " The files are in the page cache for all engines alike, unless the command says --evict. "
        "Start-up is a column of its own.",
    ),
    ("Hot", MEANINGS[Mode.HOT]),
    ("In memory", MEANINGS[Mode.MEMORY] + " The time that this takes is the column “load”."),
    (
        "Total, mean",
        "sum and geometric mean of the medians. A query without a correct answer has no median: the sums of its "
        "engine say over how many queries they are, and are not ranked. Totals are compared over the queries that all "
        "engines answered, without engines that answered less than three quarters of what the best one did.",
    ),
    (
        "Ratio",
        "the time over that of the fastest peer of the same query: below 1 is faster than all of them. A variant of "
        "an engine, which is measured to tell what one of its settings does, is nobody’s peer. The "
        "ratio of an engine is the geometric mean of those of its queries.",
    ),
    ("CPU", "seconds of all processes of the engine together, in the system and in user code."),
    (
        "Planning, execution, delivery",
        "the parts of the time of a run, where the engine tells them: before anything ran, while it ran, and until the rows "
        "were Arrow. With a plan cache, a text that comes again is hardly planned.",
    ),
    (
        "Memory",
        "the peak of the anonymous resident memory of the engine’s process tree plus the shared files it maps, "
        "each counted once. Files that an engine writes for itself are not in it: chDB’s tables in memory are such files.",
    ),
    (
        "Throughput",
        "several streams at once, each running all queries in its own order of the specification. The time is that "
        "from the start of the first stream to the end of the last one; all queries of all streams over it are queries per hour.",
    ),
    (
        "Correct",
        "means that the answer of every run was compared with the expected one. Anything else is shown in words. All engines get "
        "the same text and the same files. chDB computes 0.06 + 0.01 of query 6 in floating point and so misses rows that belong "
        "to the answer; Daft does not read the type of text that the generator writes.",
    ),
)
