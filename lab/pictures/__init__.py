# SPDX-License-Identifier: BSD-2-Clause
"""The field's pictures, one file per kind. `lab plot KIND` draws them, `lab report` puts them on its page;
style.py has what they share."""
