"""Strategies: one logical operator to one or several physical ones, given its planned inputs.

    scan            Scan and Filter over Scan: row groups to tasks, claims, pruning
    join            co-partitioned, broadcast or single, by cost
    aggregate       splits avg and the exact sums; aggregate_phases: where rows of a group meet, in one or two phases;
                    distinct_phases: where equal values meet first
    sort_and_limit  local part, gather, final part

A strategy says what it *requires* through `PhysicalContext.enforce` and never builds an exchange itself.
"""
