# SPDX-License-Identifier: BSD-2-Clause
"""`lab report FOLDER`: makes one HTML page on the hosts that tacet-noise (kit/) has measured.
lab/cli/report.py calls it when a folder is given."""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from pathlib import Path

from lab.common.errors import DataError
from lab.common.text import time_option
from lab.report.hosts import hosts_read
from lab.report.hosts_page import HostsOptions, hosts_compared, hosts_page, hosts_sentence, judge

TITLE = "What do these hosts lose, and what to tune first?"


def run(options: argparse.Namespace, title: str) -> int:
    """Writes the page, prints the answer, and returns 0. `title` is the user's, or empty."""
    if options.node or options.runs:
        raise DataError(
            f"{options.folder}: a folder of hosts cannot be combined with --node or --runs; give one or the "
            "other"
        )
    judged = judge(hosts_read(options.folder))
    for name, reason in judged.found.left_out:
        print(f"lab report: {name}: left out: {reason}", file=sys.stderr)
    for host in judged.found.hosts:
        for remark in host.remarks:
            print(f"lab report: {host.name}: {remark}", file=sys.stderr)
    words = ["tools/lab", "report", str(options.folder), "--grain", time_option(options.grain)]
    words += ["--tolerance", f"{options.tolerance:g}", "-o", str(options.out)]
    chosen = HostsOptions(
        options.grain, options.tolerance / 100, title or TITLE, shlex.join(words), options.note
    )
    with tempfile.TemporaryDirectory() as folder:
        page = hosts_page(judged, chosen, Path(folder))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(page, encoding="utf-8", errors="replace")
    print("\n".join(filter(None, [hosts_sentence(judged), hosts_compared(judged)])) + f"\n\n{options.out}")
    return 0
