"""`python -m voyager_core.cli`, the same as the `voyager` command."""

import sys

from voyager_core.cli import main

sys.exit(main())
