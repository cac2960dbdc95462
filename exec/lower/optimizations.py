"""Which of Polars' own optimizations run below ours.

Measured on TPC-H SF 1 (Polars 2.1, streaming, one thread):

    join_order          off   our join order is decided with statistics that Polars does not have
    row_estimate        off   serves join_order only
    comm_subplan_elim   off   our planner shares subplans; looking for more costs time in every task
    pre_partition_hive  off   nothing is partitioned that way
    predicate_pushdown  on    a filter reaches the Parquet reader, which then decodes less: Q6 70 ms against 89 ms. Predicates
                              that can raise are kept in their place by a barrier (`exec.lower.plan`)
    the others          on    they only drop columns, merge projections or share expressions
"""

from __future__ import annotations

import polars as pl

OPTIMIZATIONS = pl.QueryOptFlags(
    predicate_pushdown=True,
    projection_pushdown=True,
    simplify_expression=True,
    slice_pushdown=True,
    comm_subplan_elim=False,
    comm_subexpr_elim=True,
    cluster_with_columns=True,
    check_order_observe=True,
    fast_projection=True,
    sort_collapse=True,
    pre_partition_hive=False,
    join_order=False,
    row_estimate=False,
)
