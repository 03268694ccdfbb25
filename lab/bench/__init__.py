# SPDX-License-Identifier: BSD-2-Clause
"""Measurements in QEMU: Tacet compared with Linux, an hour of silence, the simulator's speed, lines of
code."""
