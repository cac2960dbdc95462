"""`python -m qengine` is the `qengine` command."""

import sys

from qengine.cli import main

sys.exit(main())
