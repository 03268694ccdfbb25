# SPDX-License-Identifier: BSD-2-Clause
"""The noise lab: measured noise as figures, pictures and an answer (docs/lab/README.md). `tools/lab help`
lists its commands.

A package uses only those before it: common, formats, flight_log, statistics, pictures, report, reproduce,
bench, cli.
"""
