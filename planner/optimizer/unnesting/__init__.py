"""How dependent joins are removed; used by the rule `eliminate_dependent_join`, cheapest way first.

    scalar_aggregate   an aggregate without keys, correlated by equalities: group by those, left join, count is 0 where no row was
    pull_correlation   predicates that use outer columns move up into the join condition; no domain is needed
    push_domain        anything else: the distinct outer values (the domain) are joined to the leaves of the right input
                       and carried up through every operator (Neumann and Kemper, "Unnesting Arbitrary Queries", BTW 2015)

The first two are used only where no expression that can raise would see rows which no outer row asks for; the domain is always
exact, because it holds precisely the values that the outer rows have.
"""
