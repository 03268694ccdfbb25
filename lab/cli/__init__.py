# SPDX-License-Identifier: BSD-2-Clause
"""The command `tools/lab`: the dispatcher, and those subcommands that are not experiments of lab/bench/."""
