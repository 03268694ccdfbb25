# SPDX-License-Identifier: BSD-2-Clause
"""`lab reproduce NAME`: the papers' experiments, repeated with their parameters, the published values beside
ours (docs/lab/reproduce.md)."""
