"""What became faster or slower between two results, beyond noise: what every change of speed is judged with.

    noise       how much two samples of times differ, how sure that is, and what may be said of many of them at once
    comparable  whether two results are of the same thing at all
    pair        one engine in one mode in two results: its samples
    drift       what the machine became slower or faster by, and how sure that is
    resources   memory and throughput of one engine in one mode in two results
    changes     two results to a `Comparison`: per engine, mode and query, in total and in geometric mean
    text        a Comparison as plain text, on a terminal in colours, and as Markdown
    command     `python -m tpch compare A.json B.json`

The rule, applied per engine to all queries of all its modes and variants together:

1. Times are compared as logarithms, since noise multiplies. Of one query's runs, those are left out that took far longer than
   the fastest one of the same result: interruptions only ever make a run slower (Chen and Revels, "Robust benchmarking in noisy
   environments", 2016), and one of them is no change of the program.
2. The change is the difference of the means of what is left. Its error comes from the spread of these runs, moderated
   by the typical spread over all queries (Smyth, "Linear models and empirical Bayes methods", 2004), since three or five runs
   alone say little about their own spread; and from a spread between results, since each result has its own processes with
   their own placement in memory (Kalibera and Jones, "Rigorous benchmarking in reasonable time", 2013).
3. Where other engines of the same version were measured in both results, what they all became slower or faster by is the drift of
   the machine, and is taken out; how unsure that is (`drift` says from what) is added to the error of every change. Without such
   peers a slower machine looks like a slower engine, and the text says so.
4. A change is found if it is significant after Holm's correction (1979) for all queries of the engine, or for all its totals and
   geometric means, and is at least the threshold (relative), and at least `FLOOR` seconds (absolute).
5. The peak of memory grew if in every run of all queries it was above that of every such run before, by a tenth and by 64 MiB at
   least: one process has one history of allocations, so that its runs say little about another's. Throughput is one figure
   per result and has no spread: it changed if it did by a quarter, and by more than the noise of the geometric mean of the
   queries, with the drift of the peers' throughput taken out.
6. A query that was correct before and is not any more is a regression whatever its time.

tests/unit/tpch/test_compare.py holds the rates of errors of this rule, by simulation: false alarms of a whole comparison, and
what is found of true changes.

Decisions: no rank or permutation test, because with three runs against three no order of them has a probability below 1 in 20,
so that after correction for 22 queries even a tenfold slowdown would pass. No comparison of the queries of throughput streams:
the time of a query there depends on what happens to run beside it.
"""
