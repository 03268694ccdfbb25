# SPDX-License-Identifier: BSD-2-Clause
"""Readers and writers of the files that the field's tools write, ours and others': one module for each
format.

`registry` recognises a file and reads it as traces; `trace` is the one structure that statistics and pictures
know.
"""
