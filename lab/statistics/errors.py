# SPDX-License-Identifier: BSD-2-Clause
"""The error that all figures share."""

from __future__ import annotations

from lab.common.errors import DataError


class StatisticsError(DataError):
    """A figure that these arguments or data do not have."""
