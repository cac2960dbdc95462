"""Statistics of the rows of tables, for the planner's costs: samples, distributions of columns, distinct counts.

places            which rows make the sample of a table: a few runs, spread evenly over its files; the parts of a whole table
draw              a worker's part: read these rows, describe the columns
distributions     frequent values, equi-depth histogram and distinct count of a column, from a sample
distinct_sketch   distinct counts of all rows: HyperLogLog
table_sample      the driver's part: predicates counted on the rows of a sample
statistics_store  which tables have statistics, and when they are taken

Rows are read by workers alone, since a broken file can crash or hang whoever reads it. Only the driver keeps samples, since only
planning uses them; they are small (about 20,000 rows), and limited in number by their bytes.

Decision: runs of rows, not single rows, because a reader has to decode whole pages: 8 runs of 2,500 rows cost 30 to 50 ms of one
worker for the tables of TPC-H at SF 1 as at SF 10, 64 runs of 312 rows cost 300 ms. What runs say wrongly of columns whose values
ascend through the table is mended where it is known (`distributions`).
"""
