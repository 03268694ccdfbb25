# SPDX-License-Identifier: BSD-2-Clause
"""A host test that must notice a wrong source: it is linked with a copy of that source in which one piece is
replaced, and must fail. What is the same for all such changes is compiled once."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class ChangedSource:
    """`test` is the host test's source and `folder` that of the sources it is about, from the root on; `gcc`
    compiles and links, `includes` are where it looks for headers."""

    test: str
    folder: str
    gcc: tuple[str, ...]
    includes: tuple[str, ...]

    def compiled(self, source: Path, into: Path) -> Path:
        made = into / f"{source.stem}.o"
        includes = [word for name in (self.folder, *self.includes) for word in ("-iquote", name)]
        words = [*self.gcc, *includes, "-c", "-o", made, source]
        subprocess.run(words, cwd=ROOT, check=True, timeout=120)
        return made

    def objects(self, names: tuple[str, ...], into: Path) -> dict[str, Path]:
        """The objects of the test and of the sources as they are, by the source's name."""
        sources = [Path(self.test), *(Path(self.folder, name) for name in names)]
        return {source.name: self.compiled(source, into) for source in sources}

    def fails(self, objects: dict[str, Path], name: str, before: str, after: str, into: Path) -> bool:
        """Whether the test fails once `before`, which stands once in a source, is `after`."""
        text = (ROOT / self.folder / name).read_text(encoding="utf-8")
        assert text.count(before) == 1, f"{name} has {text.count(before)} times: {before}"
        (into / name).write_text(text.replace(before, after), encoding="utf-8")
        linked = objects | {name: self.compiled(into / name, into)}
        words = [*self.gcc, "-o", into / "test", *linked.values(), "-lm"]
        subprocess.run(words, check=True, timeout=120)
        return subprocess.run([into / "test"], capture_output=True, timeout=120).returncode != 0
