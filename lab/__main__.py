# SPDX-License-Identifier: BSD-2-Clause
"""`python3 -m lab`, which is what tools/lab calls."""

import sys

try:
    from lab.cli.dispatch import main

    sys.exit(main())
except KeyboardInterrupt:  # before the command had begun
    sys.exit(130)
