# SPDX-License-Identifier: BSD-2-Clause
"""The report: nodes.py collects what was measured, answer.py judges it, tables.py, figures.py and markup.py
make its parts, page.py writes it down. `lab report` calls them.

Of many hosts that tacet-noise (kit/) has measured, hosts.py reads the folders and activity.py the counters of
before and after; outliers.py says who stands out, comb.py finds the tick, advice.py what to tune first, and
hosts_page.py writes it down."""
