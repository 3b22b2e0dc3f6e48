# SPDX-License-Identifier: GPL-2.0
#
# Benchmarks of userland; one table each, and exit status 1 if a figure is missed.
#
#	make bench-training             clustering; takes minutes and 2 GiB
#	make bench-training QUICK=1     without the longest steps

BENCHES := $(patsubst tests/bench/%.c,$(BUILD)/tests/bench/%,$(wildcard tests/bench/*.c))

bench-training: $(BUILD)/tests/bench/cluster
	$(Q)QUICK=$(QUICK) $<

$(BENCHES): $(BUILD)/tests/bench/%: $(BUILD)/tests/bench/%.o $(UNIT_LIBRARY)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

-include $(BENCHES:=.d)

.PHONY: bench-training
.SECONDARY: $(BENCHES:=.o)
