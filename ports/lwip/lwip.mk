# SPDX-License-Identifier: BSD-2-Clause
#
# lwip.mk: lwIP's sources, which are fetched once, and how they are compiled: for the kernel (Makefile) and
# for the fuzzer of frames (tests/host/host.mk).

LWIP := build/lwip

# The sources that the kernel uses; the linker leaves out sections that nothing refers to.
LWIP_C := $(addprefix core/,def.c inet_chksum.c init.c ip.c mem.c memp.c netif.c pbuf.c raw.c tcp.c tcp_in.c \
	tcp_out.c udp.c $(addprefix ipv4/,dhcp.c etharp.c icmp.c igmp.c ip4.c ip4_addr.c ip4_frag.c)) \
	netif/ethernet.c

# kernel/net includes lwIP's headers, and lwIP the kernel's, as system headers: without warnings.
LWIP_INCLUDES := -isystem ports/lwip/include -isystem $(LWIP)/src/include
LWIP_HEADERS  := $(wildcard ports/lwip/include/*.h ports/lwip/include/*/*.h)

# Packets that have passed the IP layer go to kernel/net/lwip_hooks.h, those to the node itself to loopback.c.
# $(1): a source without its suffix.
lwip_renamed = $(lwip_renamed_$(notdir $(1)))
lwip_renamed_init := -Dconnection_window=0xffff
lwip_renamed_ip4 := $(foreach name,tcp_input udp_input raw_input,-D$(name)=network_$(name)) \
	-Dnetif_loop_output=network_loop_output

$(LWIP)/stamp: ports/lwip/recipe ports/unpack.sh
	@echo "  PORT    lwIP, unpacked, not installed"
	@ports/unpack.sh lwip build
	@touch $@

# Sources and headers that dependencies name, if the folder was removed.
$(LWIP)/src/%: | $(LWIP)/stamp ;
