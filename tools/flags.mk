# SPDX-License-Identifier: BSD-2-Clause
#
# flags.mk: NAME.flags below build/ holds the flags, or the list of files, that something was made with. It
# changes only when they do, so that what names it as a prerequisite is made again then, as after another
# checkout. That warnings are errors (CI=1) changes nothing in what is made. A user gives it a line
# `build/…/NAME.flags: FLAGS = …`. Included by the top-level Makefile and by tests/host/host.mk.

FLAGS_RULE := yes
FLAGS_TEXT = '$(subst ','\'',$(filter-out -Werror,$(FLAGS)))'

.PHONY: always
always:

build/%.flags: always
	@mkdir -p $(@D)
	@printf '%s\n' $(FLAGS_TEXT) | cmp -s - $@ || printf '%s\n' $(FLAGS_TEXT) > $@
