# SPDX-License-Identifier: BSD-2-Clause
"""What every other package uses: errors, paths, figures as text, the simulator. Uses none of them."""
