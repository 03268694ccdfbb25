# SPDX-License-Identifier: BSD-2-Clause
#
# flags.mk: NAME.flags below build/ holds the flags, or the list of files, that something was made with. It
# changes only when they do, so that what names it as a prerequisite is made again then: after another
# checkout, or with CI=1. A user gives it a line `build/…/NAME.flags: FLAGS = …`. Included by the top-level
# Makefile and by tests/host/host.mk.

FLAGS_RULE := yes

.PHONY: always
always:

build/%.flags: always
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(FLAGS))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(FLAGS))' > $@
