# SPDX-License-Identifier: BSD-2-Clause
"""Errors that the user can correct: one line that says what is wrong and what is right."""

from __future__ import annotations


class DataError(ValueError):
    """Data that its reader does not accept; the message names file and line."""


class LabError(Exception):
    """A failure that is shown to the user without a traceback."""
