# SPDX-License-Identifier: BSD-2-Clause
"""The error of a run that cannot begin."""


class RunnerError(Exception):
    """The run cannot begin; the text says why in one line."""
