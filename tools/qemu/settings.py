# SPDX-License-Identifier: BSD-2-Clause
"""Sorts the keywords of a run into the records to which they belong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any


def split(settings: Mapping[str, Any], *kinds: type) -> list[Any]:
    """One record of each kind, made from the settings that are its fields. A setting of None keeps the
    default.

    TypeError for a setting that is no field of any kind. No two kinds may share a field's name.
    """
    names = {kind: {field.name for field in fields(kind)} for kind in kinds}
    if unknown := settings.keys() - set().union(*names.values()):
        raise TypeError(f"no such setting of a run: {', '.join(sorted(unknown))}")
    given = {name: value for name, value in settings.items() if value is not None}
    return [kind(**{name: value for name, value in given.items() if name in names[kind]}) for kind in kinds]
