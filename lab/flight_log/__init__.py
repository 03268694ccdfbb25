# SPDX-License-Identifier: BSD-2-Clause
"""Shows the flight log of a Tacet node: names, causes and times, as tables and as a Chrome trace."""
