"""``python -m unsaddle``: the command line."""

import sys

from unsaddle.cli import main

sys.exit(main())
