# SPDX-License-Identifier: BSD-2-Clause
"""The error of files as a whole."""

from __future__ import annotations

from lab.common.errors import DataError


class FormatError(DataError):
    """A file whose format no reader knows."""
