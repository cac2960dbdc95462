"""Join order: which relations of a region of joins are joined first. Used by the rule `order_joins`.

    graph      the region: relations, and the tree of operators that was written
    conflicts  the query hypergraph: which joins may change places (CD-C), equalities that follow from others
    sizes      one estimated size per set of relations
    dphyp      enumeration of connected pairs of sets (DPhyp)
    greedy     greedy operator ordering, where there are too many pairs
    search     the cost of a tree and the search for the cheapest one
    build      the plan of a tree

Decision: an order is replaced only by one that is estimated to be cheaper, so equal costs keep what was written, and running
the rule again changes nothing.

Decision: that a pair of inputs needs no exchange, since both are clustered by the join's key, is not part of the cost here. It
lowers the cost of a join that is there in every good order of TPC-H anyway, and physical planning decides it.
"""
