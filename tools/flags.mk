# SPDX-License-Identifier: BSD-2-Clause
#
# flags.mk: build/…/NAME.flags holds the flags, or the list of files, with which a target was built. The file
# changes only if they change, for example after another checkout; a target that has it as a prerequisite is
# then built again. -Werror (CI=1) does not count, since it does not change the result. To use it, write a
# line `build/…/NAME.flags: FLAGS = …`. Included by the top-level Makefile and by tests/host/host.mk.

FLAGS_RULE := yes
FLAGS_TEXT = '$(subst ','\'',$(filter-out -Werror,$(FLAGS)))'

.PHONY: always
always:

build/%.flags: always
	@mkdir -p $(@D)
	@printf '%s\n' $(FLAGS_TEXT) | cmp -s - $@ || printf '%s\n' $(FLAGS_TEXT) > $@
