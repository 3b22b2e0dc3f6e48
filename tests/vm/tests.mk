# SPDX-License-Identifier: GPL-2.0
# Programs that the tests in the VM run; they talk to the module by user/link.

VM_SRC := $(sort $(wildcard tests/vm/*.c))
VM_BIN := $(VM_SRC:tests/vm/%.c=$(BUILD)/tests/vm/%)
VM_OBJ := $(filter $(BUILD)/user/base/% $(BUILD)/user/link/%,$(OBJ))

$(BUILD)/tests/vm/%: tests/vm/%.c $(VM_OBJ)
	$(call say,CCLD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(LDFLAGS) -pthread -o $@ $< $(VM_OBJ) $(LDLIBS)

# As real programs come: stripped, without frame pointers, with exported names.
$(BUILD)/tests/vm/victim: tests/vm/victim.c
	$(call say,CCLD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -fomit-frame-pointer -rdynamic -s -pthread -o $@ $<

vm-programs: $(VM_BIN)

.PHONY: vm-programs
