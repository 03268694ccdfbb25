# SPDX-License-Identifier: BSD-2-Clause
"""`lab reproduce NAME`: repeats the papers' experiments with their parameters, and compares the published
values with ours (docs/lab/reproduce.md)."""
