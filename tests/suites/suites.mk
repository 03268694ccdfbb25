# SPDX-License-Identifier: BSD-2-Clause
#
# suites.mk: the tests of other projects, which tests/suites/suites.py runs on a node and on Linux.
# `make suite-lmdb`, suite-libuv, suite-hwloc, suite-go. Included by the top-level Makefile.

SUITES := lmdb libuv hwloc go
.PHONY: $(SUITES:%=suite-%)
suite-go: foreign-go
$(SUITES:%=suite-%): suite-%: tests/suites/build.sh
	@echo "  SUITE   $*"
	$(Q)tests/suites/build.sh $* build || [ $$? = 3 ]
