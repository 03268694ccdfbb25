# SPDX-License-Identifier: BSD-2-Clause
"""The report: nodes.py collects what was measured, answer.py judges it, page.py writes it down. `lab report`
calls them."""
