# SPDX-License-Identifier: BSD-2-Clause
#
# kit.mk: builds build/tacet-noise-kit.tar.xz for the measurement of Linux nodes (`make kit`): the script, and
# a folder per architecture with the static benchmarks. The same sources give the same archive.

KIT      := build/tacet-noise-kit.tar.xz
KIT_ROOT := build/kit/tacet-noise-kit
KIT_APPS := $(NOISE_APPS:%=$(BUILD)/apps/%)

.PHONY: kit
kit: $(KIT)

$(KIT): kit/tacet-noise kit/README LICENSE $(KIT_APPS)
	@echo "  KIT     $@"
	$(Q)rm -rf $(KIT_ROOT)/$(ARCH)
	$(Q)mkdir -p $(KIT_ROOT)/$(ARCH)
	$(Q)install -m 755 kit/tacet-noise $(KIT_ROOT)/
	$(Q)install -m 644 kit/README LICENSE $(KIT_ROOT)/
	$(Q)for app in $(NOISE_APPS); do install -m 755 -s $(BUILD)/apps/$$app $(KIT_ROOT)/$(ARCH)/ || exit 1; done
	$(Q)tar -C build/kit --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cJf $@ tacet-noise-kit
