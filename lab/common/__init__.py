# SPDX-License-Identifier: BSD-2-Clause
"""Used by every other package: errors, paths, figures as text, the simulator. Uses none of them."""
