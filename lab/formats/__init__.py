# SPDX-License-Identifier: BSD-2-Clause
"""Readers and writers of the files of the field's tools, ours and others', one module per format.

`registry` recognises a file and reads it as traces; `trace` is the structure that statistics and pictures
use.
"""
