"""Where attempts run: `processes` on this machine, `inline` in the driver itself.

A backend starts, feeds, watches and kills workers; what runs where is the scheduler's business.
"""
