# SPDX-License-Identifier: BSD-2-Clause
"""The subcommands of `lab`: lab/__main__.py lists them."""
