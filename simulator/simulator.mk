# SPDX-License-Identifier: BSD-2-Clause
#
# simulator.mk: the LogGOPS simulator build/simulator/sim. Included by the top-level Makefile.
# Its C++ tests and fuzzers link SIM_LIBRARY, which is everything except the commands.

SIM          := build/simulator/sim
SIM_CXX      ?= g++
# The sanitizers' compiler: clang, which libFuzzer needs (tests/host/host.mk).
HOST_CXX     ?= clang++
HOST_BUILD   ?= build/host
FUZZ_BUILD   ?= build/fuzz
SIM_BUILD    := build/simulator
SIM_WARNINGS := -Wall -Wextra -Wshadow -Wconversion $(if $(CI),-Werror)
SIM_CXXFLAGS := -std=c++20 -O3 $(SIM_WARNINGS) -pthread

ifndef FLAGS_RULE
include tools/flags.mk
endif
$(SIM_BUILD)/sim.flags: FLAGS = $(SIM_CXX) $(SIM_CXXFLAGS)

SIM_COMMANDS := $(addprefix simulator/,main.cpp bench.cpp options.cpp command_line.cpp)
SIM_LIBRARY  := $(filter-out $(SIM_COMMANDS),$(sort $(wildcard simulator/*.cpp)))
SIM_OBJECTS  := $(patsubst simulator/%.cpp,$(SIM_BUILD)/%.o,$(SIM_COMMANDS) $(SIM_LIBRARY))

.PHONY: sim
sim: $(SIM)

$(SIM): $(SIM_OBJECTS) simulator/simulator.mk
	@echo "  LD      $@"
	$(Q)$(SIM_CXX) $(SIM_CXXFLAGS) -o $@ $(SIM_OBJECTS)

# The standard library's headers, compiled once: g++ takes standard.hpp.gch for standard.hpp. Files that use
# it must have the same -O: g++ 12 does not check that, and sometimes crashes if it differs.
SIM_STANDARD := $(SIM_BUILD)/standard.hpp
$(SIM_STANDARD).gch: simulator/standard.hpp $(SIM_BUILD)/sim.flags
	@mkdir -p $(@D)
	@echo "  CXX     $<"
	$(Q)cp $< $(SIM_STANDARD)
	$(Q)$(SIM_CXX) $(SIM_CXXFLAGS) -x c++-header -o $@ $(SIM_STANDARD)

$(SIM_BUILD)/%.o: simulator/%.cpp $(SIM_STANDARD).gch $(SIM_BUILD)/sim.flags
	@mkdir -p $(@D)
	@echo "  CXX     $<"
	$(Q)$(SIM_CXX) $(SIM_CXXFLAGS) -include $(SIM_STANDARD) -MMD -MP -c -o $@ $<

# CLI11 runs once, at the start: without optimization it compiles in half the time.
$(SIM_BUILD)/command_line.o: simulator/command_line.cpp $(SIM_BUILD)/sim.flags
	@mkdir -p $(@D)
	@echo "  CXX     $<"
	$(Q)$(SIM_CXX) $(SIM_CXXFLAGS) -O0 -MMD -MP -c -o $@ $<

# ---- Tests: the library with sanitizers, and the fuzzer of its readers; they share the objects ----

SIM_TEST         := $(HOST_BUILD)/test_sim
SIM_TEST_FLAGS   := -std=c++20 -g1 -O1 $(SIM_WARNINGS) -Wno-sign-conversion -iquote tests/host \
                    -iquote tests/fuzz -pthread -fno-sanitize-recover=all
# Four checks are off, which halves the time to compile. The simulator casts no pointers and has no virtual
# functions, and the address sanitizer finds null pointers as well.
SIM_SANITIZE     := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=null,object-size,vptr,alignment
SIM_TEST_LIBRARY := $(patsubst %.cpp,$(HOST_BUILD)/%.o,$(SIM_LIBRARY))
SIM_TEST_MAIN    := $(HOST_BUILD)/tests/host/test_sim.o
SIM_FUZZ         := $(FUZZ_BUILD)/fuzz_sim
SIM_FUZZ_MAIN    := $(HOST_BUILD)/tests/fuzz/fuzz_sim.o
$(SIM_BUILD)/test.flags: FLAGS = $(HOST_CXX) $(SIM_TEST_FLAGS) $(SIM_SANITIZE)

$(SIM_TEST): $(SIM_TEST_MAIN) $(SIM_TEST_LIBRARY)
	@echo "  LD      $@"
	$(Q)$(HOST_CXX) $(SIM_TEST_FLAGS) $(SIM_SANITIZE) -o $@ $^

$(SIM_FUZZ): $(SIM_FUZZ_MAIN) $(SIM_TEST_LIBRARY)
	@mkdir -p $(@D)
	@echo "  LD      $@"
	$(Q)$(HOST_CXX) $(SIM_TEST_FLAGS) -fsanitize=fuzzer,address,undefined -o $@ $^

SIM_TEST_STANDARD := $(HOST_BUILD)/simulator/standard.pch
$(SIM_TEST_STANDARD): simulator/standard.hpp $(SIM_BUILD)/test.flags
	@mkdir -p $(@D)
	@echo "  CXX     $<"
	$(Q)$(HOST_CXX) $(SIM_TEST_FLAGS) $(SIM_SANITIZE) -x c++-header -o $@ $<

$(HOST_BUILD)/%.o: %.cpp $(SIM_TEST_STANDARD) $(SIM_BUILD)/test.flags
	@mkdir -p $(@D)
	@echo "  CXX     $<"
	$(Q)$(HOST_CXX) $(SIM_TEST_FLAGS) $(SIM_SANITIZE) -include-pch $(SIM_TEST_STANDARD) -MMD -MP -c -o $@ $<

-include $(patsubst %.o,%.d,$(SIM_OBJECTS) $(SIM_TEST_MAIN) $(SIM_FUZZ_MAIN) $(SIM_TEST_LIBRARY))
