# SPDX-License-Identifier: BSD-2-Clause
"""Schedules for the simulator, made from traces of programs."""
