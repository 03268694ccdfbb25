# SPDX-License-Identifier: BSD-2-Clause
"""Failures that the user can do something about: one line that says what is wrong and what would be right."""

from __future__ import annotations


class DataError(ValueError):
    """Data that is not what its reader expects; the message names file and line."""


class LabError(Exception):
    """A failure that the user should read, without a traceback."""
