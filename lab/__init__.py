# SPDX-License-Identifier: BSD-2-Clause
"""The researcher's desk: statistics, pictures and comparisons of what the benchmarks of `apps/` measure."""
