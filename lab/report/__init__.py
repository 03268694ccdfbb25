# SPDX-License-Identifier: BSD-2-Clause
"""Makes the pages of `lab report`.

A page on nodes: nodes.py collects the measurements, answer.py judges them, tables.py, figures.py and
markup.py make the parts, page.py the page.

A page on many hosts that tacet-noise (kit/) has measured: hosts.py reads the folders, activity.py the
counters before and after; outliers.py finds the hosts that stand out, comb.py the clock tick, advice.py what
to tune first; hosts_page.py makes the page."""
