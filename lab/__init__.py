# SPDX-License-Identifier: BSD-2-Clause
"""The noise lab: measured noise as figures, pictures and an answer (docs/lab/README.md). `tools/lab help`
lists its commands.

A package uses only those before it: common, formats, schedules, flight_log, statistics, pictures, report,
bench, reproduce, cli.
"""

import importlib.util
import sys

# While `python3 -m lab…` looks for its module, argv[0] is "-m". Without this, Python prints a traceback.
if sys.argv[:1] == ["-m"]:
    _names = [word for word in sys.orig_argv if word.startswith("lab.")]
    _words = " ".join(["tools/lab", *(_names[0].split(".")[-1:] if _names else ["COMMAND"])])
    for _module in ("numpy", "matplotlib"):
        if importlib.util.find_spec(_module) is None:
            sys.exit(f"lab: {sys.executable} has no {_module}; type {_words}, which uses Debian's Python")
    if _names and importlib.util.find_spec(_names[0]) is None:
        sys.exit(f"lab: {_names[0]} is not a module; type {_words}")
