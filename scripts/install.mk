# SPDX-License-Identifier: GPL-2.0
#
#	make install      pg-collect with what belongs to it, and the module's source for DKMS
#	make uninstall    remove precisely that again
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

# The one place of the version is what pg-collect prints.
VERSION := $(shell sed -n 's/^.define CMD_VERSION "\(.*\)"/\1/p' user/app/common/command.h)
DKMS_DIR := /usr/src/perfguard-$(VERSION)

# FROM:TO
MAN_PAGES := $(wildcard Documentation/man/*.[1-8])
PROGRAM_FILES = pg-collect:$(PREFIX)/bin/pg-collect \
	scripts/completion/pg-collect.bash:$(BASHDIR)/pg-collect \
	scripts/completion/_pg-collect:$(ZSHDIR)/_pg-collect \
	$(foreach page,$(MAN_PAGES),$(page):$(MANDIR)/man$(subst .,,$(suffix $(page)))/$(notdir $(page)))
MODULE_FILES = $(foreach file,$(shell find Kbuild kmod include -type f),$(file):$(DKMS_DIR)/$(file)) \
	$(BUILD)/install/dkms.conf:$(DKMS_DIR)/dkms.conf

from = $(firstword $(subst :, ,$(1)))
to = $(DESTDIR)$(lastword $(subst :, ,$(1)))
define install_file
	$(Q)install -D -m $(if $(filter pg-collect,$(call from,$(1))),755,644) $(call from,$(1)) $(call to,$(1))

endef

install: install-program install-module

install-program: $(foreach file,$(PROGRAM_FILES),$(call from,$(file)))
	$(foreach file,$(PROGRAM_FILES),$(call install_file,$(file)))

install-module: $(foreach file,$(MODULE_FILES),$(call from,$(file)))
	$(foreach file,$(MODULE_FILES),$(call install_file,$(file)))

$(BUILD)/install/dkms.conf: scripts/dkms.conf.in user/app/common/command.h
	$(Q)mkdir -p $(@D)
	$(Q)sed 's/@VERSION@/$(VERSION)/' $< > $@

version:
	@echo $(VERSION)

deb:
	$(Q)scripts/make-deb

.PHONY: install install-program install-module uninstall version deb
