"""``python -m benchmarks``: see :mod:`benchmarks.runner`."""

import sys

from benchmarks.runner import main

if __name__ == "__main__":
    main(sys.argv[1:])
