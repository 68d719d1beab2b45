"""``python -m hitl_widgets``: the command line."""

import sys

from .cli import main

sys.exit(main())
