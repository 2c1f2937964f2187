"""`python -m priorband` does the same as `priorband`."""

import sys

from priorband.cli import main

if __name__ == "__main__":
    sys.exit(main())
