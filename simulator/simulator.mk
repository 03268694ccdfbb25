# SPDX-License-Identifier: BSD-2-Clause
#
# simulator.mk: the LogGOPS simulator build/simulator/sim. Included by the top-level Makefile.
# Its C++ tests and fuzzers link SIM_LIBRARY, everything but the commands.

SIM          := build/simulator/sim
SIM_CXX      ?= g++
FUZZ_CXX     ?= clang++
HOST_BUILD   ?= build/host
FUZZ_BUILD   ?= build/fuzz
SIM_BUILD    := build/simulator
SIM_WARNINGS := -Wall -Wextra -Wshadow -Wconversion $(if $(CI),-Werror)
SIM_CXXFLAGS := -std=c++20 -O3 -g $(SIM_WARNINGS) -pthread

ifndef FLAGS_RULE
include tools/flags.mk
endif
$(SIM_BUILD)/sim.flags: FLAGS = $(SIM_CXX) $(SIM_CXXFLAGS)

SIM_COMMANDS := simulator/main.cpp simulator/bench.cpp simulator/options.cpp
SIM_LIBRARY  := $(filter-out $(SIM_COMMANDS),$(sort $(wildcard simulator/*.cpp)))
SIM_OBJECTS  := $(patsubst simulator/%.cpp,$(SIM_BUILD)/%.o,$(SIM_COMMANDS) $(SIM_LIBRARY))

.PHONY: sim
sim: $(SIM)

$(SIM): $(SIM_OBJECTS) simulator/simulator.mk
	@echo "  LD      $@"
	$(Q)$(SIM_CXX) $(SIM_CXXFLAGS) -o $@ $(SIM_OBJECTS)

$(SIM_BUILD)/%.o: simulator/%.cpp $(SIM_BUILD)/sim.flags
	@mkdir -p $(@D)
	@echo "  CXX     $<"
	$(Q)$(SIM_CXX) $(SIM_CXXFLAGS) -MMD -MP -c -o $@ $<

# ---- Tests: the library with sanitizers, and the fuzzer of its readers ----

SIM_TEST         := $(HOST_BUILD)/test_sim
SIM_TEST_FLAGS   := -std=c++20 -g -O1 $(SIM_WARNINGS) -iquote tests/host -iquote tests/fuzz -pthread \
                    -fsanitize=address,undefined -fno-sanitize-recover=all
SIM_TEST_OBJECTS := $(patsubst %.cpp,$(HOST_BUILD)/%.o,tests/host/test_sim.cpp $(SIM_LIBRARY))
SIM_FUZZ         := $(FUZZ_BUILD)/fuzz_sim
SIM_FUZZ_OBJECTS := $(patsubst %.cpp,$(FUZZ_BUILD)/%.o,tests/fuzz/fuzz_sim.cpp $(SIM_LIBRARY))
$(SIM_BUILD)/test.flags: FLAGS = $(SIM_CXX) $(FUZZ_CXX) $(SIM_TEST_FLAGS)

$(SIM_TEST): $(SIM_TEST_OBJECTS)
	$(SIM_CXX) $(SIM_TEST_FLAGS) -o $@ $^

$(HOST_BUILD)/%.o: %.cpp $(SIM_BUILD)/test.flags
	@mkdir -p $(@D)
	$(SIM_CXX) $(SIM_TEST_FLAGS) -MMD -MP -c -o $@ $<

$(SIM_FUZZ): $(SIM_FUZZ_OBJECTS)
	$(FUZZ_CXX) $(SIM_TEST_FLAGS) -fsanitize=fuzzer -o $@ $^

$(FUZZ_BUILD)/%.o: %.cpp $(SIM_BUILD)/test.flags
	@mkdir -p $(@D)
	$(FUZZ_CXX) $(SIM_TEST_FLAGS) -fsanitize=fuzzer -MMD -MP -c -o $@ $<

-include $(SIM_OBJECTS:.o=.d) $(SIM_TEST_OBJECTS:.o=.d) $(SIM_FUZZ_OBJECTS:.o=.d)
