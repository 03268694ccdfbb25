# SPDX-License-Identifier: BSD-2-Clause
"""What the flight log of a Tacet node says: names, causes and times, as tables and as a Chrome trace."""
