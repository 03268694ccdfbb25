# SPDX-License-Identifier: BSD-2-Clause
"""The command `tools/lab`: the dispatcher, and the subcommands that read measured files."""
