# SPDX-License-Identifier: GPL-2.0
#
#	make install      pg-collect with what belongs to it, and the module's source for DKMS
#	make uninstall    remove precisely that again; a changed configuration stays
#	make deb          Debian packages of the two, in build/deb
#
# DESTDIR is put before each path.  install-program and install-module are the
# two parts.  An empty UNITDIR leaves out the service's unit.

PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
MANDIR ?= $(PREFIX)/share/man
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
UNITDIR ?= $(PREFIX)/lib/systemd/system
CATALOGDIR ?= $(PREFIX)/lib/systemd/catalog
DATADIR ?= $(PREFIX)/share/perfguard

# The one place of the version is what pg-collect prints.
VERSION := $(shell sed -n 's/^.define CMD_VERSION "\(.*\)"/\1/p' user/app/common/command.h)
CONFIG_DIR = $(SYSCONFDIR)/perfguard
DKMS_DIR := /usr/src/perfguard-$(VERSION)

# FROM:TO
SCHEMA := $(wildcard Documentation/schema/*.json)
MAN_PAGES := $(wildcard Documentation/man/*.[1-8])
CONFIG_FILE = scripts/perfguard.conf:$(CONFIG_DIR)/perfguard.conf
PROGRAM_FILES = pg-collect:$(PREFIX)/bin/pg-collect \
	scripts/completion/pg-collect.bash:$(BASHDIR)/pg-collect \
	scripts/completion/_pg-collect:$(ZSHDIR)/_pg-collect \
	$(if $(UNITDIR),$(BUILD)/install/perfguard.service:$(UNITDIR)/perfguard.service) \
	scripts/perfguard.catalog:$(CATALOGDIR)/perfguard.catalog \
	$(foreach file,prometheus/perfguard.rules.yml grafana/perfguard-dashboard.json,scripts/$(file):$(DATADIR)/$(notdir $(file))) \
	$(foreach file,$(SCHEMA),$(file):$(DATADIR)/$(notdir $(file))) \
	$(foreach page,$(MAN_PAGES),$(page):$(MANDIR)/man$(subst .,,$(suffix $(page)))/$(notdir $(page)))
MODULE_FILES = $(foreach file,$(shell find Kbuild kmod include -type f),$(file):$(DKMS_DIR)/$(file)) \
	$(BUILD)/install/dkms.conf:$(DKMS_DIR)/dkms.conf

from = $(firstword $(subst :, ,$(1)))
to = $(DESTDIR)$(lastword $(subst :, ,$(1)))
mode = $(if $(filter pg-collect,$(call from,$(1))),755,644)
define install_file
	$(Q)install -D -m $(call mode,$(1)) $(call from,$(1)) $(call to,$(1))

endef
define remove_file
	$(Q)rm -f $(call to,$(1))

endef

install: install-program install-module

# What was configured is not overwritten.
install-program: $(foreach file,$(PROGRAM_FILES),$(call from,$(file)))
	$(foreach file,$(PROGRAM_FILES),$(call install_file,$(file)))
	$(Q)install -d $(DESTDIR)$(CONFIG_DIR)/profiles.d
	$(Q)test -e $(call to,$(CONFIG_FILE)) || \
		install -m 644 $(call from,$(CONFIG_FILE)) $(call to,$(CONFIG_FILE))

install-module: $(foreach file,$(MODULE_FILES),$(call from,$(file)))
	$(foreach file,$(MODULE_FILES),$(call install_file,$(file)))

uninstall:
	$(Q)test ! -e $(DESTDIR)/var/lib/dkms/perfguard/$(VERSION) || { \
		echo "DKMS has modules of it: dkms remove perfguard/$(VERSION) --all" >&2; exit 1; }
	$(foreach file,$(PROGRAM_FILES) $(MODULE_FILES),$(call remove_file,$(file)))
	$(Q)! cmp -s $(call from,$(CONFIG_FILE)) $(call to,$(CONFIG_FILE)) || rm $(call to,$(CONFIG_FILE))
	$(Q)find $(wildcard $(DESTDIR)$(DKMS_DIR) $(DESTDIR)$(CONFIG_DIR) $(DESTDIR)$(DATADIR)) /dev/null -type d -empty -delete

# Units name programs by their full paths.
$(BUILD)/install/perfguard.service: scripts/perfguard.service FORCE
	$(Q)mkdir -p $(@D)
	$(Q)sed 's,/usr/bin/pg-collect,$(PREFIX)/bin/pg-collect,' $< > $@

$(BUILD)/install/dkms.conf: scripts/dkms.conf.in FORCE
	$(Q)mkdir -p $(@D)
	$(Q)sed 's/@VERSION@/$(VERSION)/' $< > $@

version:
	@echo $(VERSION)

deb:
	$(Q)scripts/make-deb

FORCE:

.PHONY: install install-program install-module uninstall version deb FORCE
