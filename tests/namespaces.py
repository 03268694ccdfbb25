# SPDX-License-Identifier: BSD-2-Clause
"""Network namespaces of ordinary users, which some machines forbid."""

from __future__ import annotations

import subprocess

import pytest


def namespace_needed() -> None:
    """Skip the test where a user without root cannot have a network namespace."""
    if subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode:
        pytest.skip("no network namespace without root here (unshare -rn)")
