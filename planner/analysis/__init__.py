"""Facts about plans and expressions. Nodes hold semantics only; everything that can be derived from them is derived here.

Each module answers one question and changes nothing: intervals and bounds (which values, how many rows at most), can_raise,
nullability, keys (what is unique), cardinality (how many rows probably), free_columns (what is used and produced),
determinism and ordering (what a second run gives, and in which order).

Cardinality stands on estimates (what is known of a plan and its columns), table_columns (the columns of a table),
column_shares (how many rows have a value or one of a range), computed_columns (how many values an expression has),
selectivity (predicates, term by term), filtered_scan (a filter of a table, on a sample of its rows if need be) and join_size.
Decision: whatever comes from a sample is ESTIMATED and says so; it never prunes, and never decides about arithmetic, order or
uniqueness.
"""
