# SPDX-License-Identifier: BSD-2-Clause
"""What all figures have in common: the error of an argument that has no figure."""

from __future__ import annotations

from lab.common.errors import DataError


class StatisticsError(DataError):
    """A figure of data that cannot have it."""
