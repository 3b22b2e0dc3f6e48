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

# A module that takes a direct call for itself, for KERNEL.
taker:
	$(Q)mkdir -p $(MODULE_DIR)/taker
	$(Q)cp -sf $(CURDIR)/tests/vm/taker/* $(MODULE_DIR)/taker/
	$(Q)$(MAKE) --no-print-directory -C $(KERNELDIR) M=$(MODULE_DIR)/taker \
		ccflags-y="-I$(CURDIR)/kmod" CONFIG_DEBUG_INFO_BTF_MODULES= modules

vm-programs: $(VM_BIN)

.PHONY: vm-programs taker
