"""The one error of this package."""


class TpchError(Exception):
    """What went wrong and how to mend it, in one line; the command line prints it and exits with status 1."""
