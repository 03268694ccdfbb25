# SPDX-License-Identifier: BSD-2-Clause
"""How fast this machine's CPUs are, against the one for which time limits and budgets were chosen."""

from __future__ import annotations

import time

#: CPU seconds that the work of `slowness` took on the reference.
REFERENCE_S = 0.03


def slowness() -> float:
    """Measures how many times slower than the reference this machine's CPUs are, at least 1, by the CPU time
    of a fixed piece of work. Other processes change it little: CPU time does not pass while they run."""
    begun = time.process_time()
    sum(i * i for i in range(500_000))
    return max(1.0, (time.process_time() - begun) / REFERENCE_S)
