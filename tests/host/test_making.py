# SPDX-License-Identifier: BSD-2-Clause
"""What tests/making.py makes for tests, what it does not look at again, and that nothing of it is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import making, waiting


def test_a_failed_build_is_called_one() -> None:
    with pytest.raises(AssertionError, match=r"build failed: make no-such-goal: make: \*\*\* No rule"):
        making.made("no-such-goal")


def test_what_the_stage_build_has_made_is_not_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "build/test-built").mkdir(parents=True)
    (tmp_path / "build/test-built/ppc64").write_text("kernel\nbuild/ppc64/apps/ftq\n")
    monkeypatch.setattr(making, "ROOT", tmp_path)
    making.listed.cache_clear()
    try:
        assert making.in_lists(("kernel", "build/ppc64/apps/ftq", "ARCH=ppc64"))
        assert not making.in_lists(("kernel",))  # of x86_64
        assert not making.in_lists(("kernel", "ARCH=ppc64", "LOCKCHECK=1"))
        assert not making.in_lists(("kernel", "sim", "ARCH=ppc64"))
    finally:
        making.listed.cache_clear()


def alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_children_of_a_build_end_with_the_test_s_process(how: signal.Signals) -> None:
    """Its group is that of the guard, which says its number."""
    command = ["sh", "-c", "ps -o pgid= -p $$; sh -c 'sleep 1000; true' & wait"]
    script = f"import sys; sys.path.insert(0, '.'); from tests import making; making.run({command}, 999)"
    environment = {k: v for k, v in os.environ.items() if k != "TACET_SHOWN"}
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=making.ROOT, stderr=subprocess.PIPE, text=True, env=environment
    )
    assert process.stderr
    group = int(process.stderr.readline())
    assert alive(group)
    process.send_signal(how)
    process.wait()
    waiting.until(lambda: not alive(group), "the end of the build's children")
