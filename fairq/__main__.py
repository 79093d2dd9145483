"""``python -m fairq`` is the command ``fairq``."""

from __future__ import annotations

import sys

from fairq.cli import main

if __name__ == "__main__":
    sys.exit(main())
