"""Join order: which relations of an inner-join region are joined first. Used by the rule `order_joins`.

    graph     the region as relations and conjuncts, and the tree that it had
    greedy    repeatedly join the pair with the smallest result (greedy operator ordering, Fegaras, DEXA 1998)

Decision: an order is replaced only by one that is estimated to be cheaper, so equal costs keep what was written, and running
the rule again changes nothing. The cost is the sum of the sizes of all intermediate results.
"""
