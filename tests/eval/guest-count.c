// SPDX-License-Identifier: GPL-2.0
/*
 * A QEMU plugin that counts the guest's instructions by mode and module.
 *
 * usage: scripts/vm --icount --plugin guest-count.so,out=FILE -- COMMAND
 *
 * From a "guest-mark begin" in the guest to the next "guest-mark end" it is a
 * line of FILE, all in instructions:
 *
 *	USER KERNEL PROBES PROBES_IN_MODULES PAGE:COUNT...
 *
 * in user mode; in the kernel; in the kernel from a breakpoint in user mode to
 * where user mode goes on, and of these, in modules; and, in whatever context,
 * in each page of the area where modules are, by its number there.
 *
 * Interrupts and task switches in the handling of a breakpoint count as a part
 * of it.  There is one CPU where instructions are counted, so
 * nothing here needs a lock.
 */

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "guest-count.h"

/* Version 1 of QEMU's interface for plugins, as far as it is used (its header is not packaged). */
struct qemu_info_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef uint64_t qemu_plugin_id_t;

enum { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_INLINE_ADD_U64 = 0 };

#define EXPORT __attribute__((visibility("default")))

EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc,
			       char **argv);

void qemu_plugin_register_vcpu_tb_trans_cb(
	qemu_plugin_id_t id, void (*translated)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
					  void (*run)(unsigned int cpu, void *data), int flags,
					  void *data);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int operation,
					      void *counter, uint64_t number);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*run)(unsigned int cpu, void *data), int flags,
					    void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

/* Linux' Documentation/arch/x86/x86_64/mm.rst: the module mapping space. */
#define MODULES		0xffffffffc0000000ULL
#define MODULES_END	0xffffffffff000000ULL

enum { PAGE_SHIFT = 12, NR_PAGES = (MODULES_END - MODULES) >> PAGE_SHIFT };

static struct counts {
	uint64_t user;
	uint64_t kernel;
	uint64_t modules;
	uint64_t probes;
	uint64_t probes_in_modules;
	uint64_t pages[NR_PAGES];
} counts;

/* The counts before the breakpoint that is handled. */
static bool in_probe;
static uint64_t probe_kernel, probe_modules;

static FILE *out;

static void begin(unsigned int cpu, void *data)
{
	(void)cpu, (void)data;
	memset(&counts, 0, sizeof(counts));
	in_probe = false;
}

static void end(unsigned int cpu, void *data)
{
	(void)cpu, (void)data;
	fprintf(out, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, counts.user, counts.kernel,
		counts.probes, counts.probes_in_modules);
	for (size_t i = 0; i < NR_PAGES; i++)
		if (counts.pages[i])
			fprintf(out, " %zu:%" PRIu64, i, counts.pages[i]);
	fputc('\n', out);
	fflush(out);
}

static void breakpoint(unsigned int cpu, void *data)
{
	(void)cpu, (void)data;
	in_probe = true;
	probe_kernel = counts.kernel;
	probe_modules = counts.modules;
}

static void user(unsigned int cpu, void *data)
{
	(void)cpu, (void)data;
	if (!in_probe)
		return;
	in_probe = false;
	counts.probes += counts.kernel - probe_kernel;
	counts.probes_in_modules += counts.modules - probe_modules;
}

/* The callback for an instruction of user mode, or NULL. */
static void (*meaning(const struct qemu_plugin_insn *insn))(unsigned int cpu, void *data)
{
	static const uint8_t long_nop[] = { 0x0f, 0x1f, 0x80 };
	const uint8_t *code = qemu_plugin_insn_data(insn);
	uint32_t mark;

	switch (qemu_plugin_insn_size(insn)) {
	case 1:
		return *code == 0xcc ? breakpoint : NULL;
	case sizeof(long_nop) + sizeof(mark):
		if (memcmp(code, long_nop, sizeof(long_nop)))
			return NULL;
		memcpy(&mark, code + sizeof(long_nop), sizeof(mark));
		return mark == GUEST_MARK_BEGIN ? begin : mark == GUEST_MARK_END ? end : NULL;
	}
	return NULL;
}

static void count_user(struct qemu_plugin_tb *tb, size_t nr)
{
	qemu_plugin_register_vcpu_tb_exec_cb(tb, user, QEMU_PLUGIN_CB_NO_REGS, NULL);
	qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &counts.user, nr);
	for (size_t i = 0; i < nr; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		void (*call)(unsigned int cpu, void *data) = meaning(insn);

		if (call)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, call, QEMU_PLUGIN_CB_NO_REGS,
							       NULL);
	}
}

/* Addresses of the kernel are negative. */
static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	uint64_t address = qemu_plugin_tb_vaddr(tb);
	size_t nr = qemu_plugin_tb_n_insns(tb);

	(void)id;
	if (!(address >> 63)) {
		count_user(tb, nr);
		return;
	}
	qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &counts.kernel,
						 nr);
	if (address < MODULES || address >= MODULES_END)
		return;
	qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &counts.modules,
						 nr);
	qemu_plugin_register_vcpu_tb_exec_inline(
		tb, QEMU_PLUGIN_INLINE_ADD_U64, &counts.pages[(address - MODULES) >> PAGE_SHIFT],
		nr);
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc, char **argv)
{
	(void)info;
	if (argc == 1 && !strncmp(argv[0], "out=", 4))
		out = fopen(argv[0] + 4, "w");
	if (!out) {
		fprintf(stderr, "guest-count: give it out=FILE that can be written\n");
		return 1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
