# SPDX-License-Identifier: BSD-2-Clause
"""`python3 -m lab`, which is what tools/lab calls."""

import sys

from lab.cli.dispatch import main

sys.exit(main())
