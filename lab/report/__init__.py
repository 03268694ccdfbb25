# SPDX-License-Identifier: BSD-2-Clause
"""The report: nodes.py collects what was measured, answer.py judges it, tables.py, figures.py and markup.py
make its parts, page.py writes it down. `lab report` calls them."""
