"""Strategies: one logical operator to one or several physical ones, given its planned inputs.

    scan            Scan and Filter over Scan: row groups to tasks, claims, pruning
    join            co-partitioned, broadcast or single, by cost
    aggregate       one or two phases; splits avg and the exact sums
    sort_and_limit  local part, gather, final part

A strategy says what it *requires* through `PhysicalContext.enforce` and never builds an exchange itself.
"""
