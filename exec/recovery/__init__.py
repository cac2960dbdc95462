"""What has to happen after a loss. `lineage` computes what runs again and what is rolled back (law 1 of `planner.dir`).

Checkpoints are known to the scheduler (commands Checkpoint and Restore); no backend keeps them yet, so the engine refuses
graphs that ask for them.
"""
