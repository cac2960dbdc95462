"""Physical planning: how an optimized logical plan runs, and where it is cut into stages.

    context      options of one planning, and the planned form of an input
    plan         strategies bottom-up (`plan_physical`)
    strategies   one file per family of logical operators
    properties   required distributions, offered partitionings, and whether one satisfies the other
    enforce      the only place that inserts exchanges
    clustering   scans cut by ranges of a key at boundaries that a whole group of scans shares
    cost         what alternatives are compared by
    nodes        the operators
    encodings    the physical form of each column on an edge
    prune_row_groups, inline   what a scan may leave out; whether a plan may run inside of the driver
    stage_outputs     what finished stages have written, as leaves of a new plan (`planner.adaptive`)
    runtime_filters   scans that drop rows which find no match in a join above
    value_numbers, widen, reuse_exchanges   which plans give the same rows; inputs of exchanges that are computed once for all
    cut_stages   the stage graph (`cut_stages`)
    explain, explain_placement   plans and stages as text; why there is an exchange or is none

Decided: one bucket count per query, so that any two hash exchanges by the same keys match without a second shuffle.
Decided: NULL-safe equalities become pairs of ordinary keys here, so that no kernel needs a second kind of equality.
Decided: the boundaries of a sorted result are rows drawn from sorted runs, found by a stage of one small task and read by every
task that merges a range; so they are data, and recovery by lineage holds for them as for any other.
Rejected: a stage that splits the runs at the boundaries, since it would write every row once more; merging tasks cut the mapped
runs by binary search.
Rejected: strategies that place exchanges themselves; each of them would need its own list of cases where none is needed.
"""
