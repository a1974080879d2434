"""Program for spark-submit: runs ``clientscope stream`` with the flags that follow it.

docs/cluster.md copies this file beside the zip of the packages, since spark-submit can't run a module out of one.
"""

from __future__ import annotations

import sys

from clientscope.cli import main

if __name__ == "__main__":
    sys.exit(main(["stream", *sys.argv[1:]]))
