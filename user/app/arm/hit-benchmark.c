// SPDX-License-Identifier: GPL-2.0
/*
 * What guarding costs on this machine, tried out: pg-collect is guarded itself
 * for a moment, and comes by guards and wait calls of its own.
 */

#include "app/arm/cost-estimate.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "app/common/command.h"
#include "base/log.h"
#include "base/long-step.h"
#include "base/time.h"
#include "binary/stack/snapshot.h"
#include "data/stack-copy.h"
#include "link/link.h"

/*
 * Each function begins with an instruction that is carried out in its own way
 * under a breakpoint; of those that the kernel carries out, push and call take
 * some more, but hardly a guard is at one (binary/site.h).  price_mark() notes
 * its stack pointer.  The other two are poll(), as the wait of a loop, at which
 * SP is where it returns to; and read(), which in mid-unit may be a wait, too.
 * price_others are NR_OTHERS more sites, of two bytes each, which nothing comes by.
 */
__asm__(".text\n"
	"price_kernel: jmp 1f; 1: ret\n"
	"price_module: mov %rdi, %rax; ret\n"
	"price_stepped: imul %eax, %eax; ret\n"
	"price_mark: mov %rsp, price_sp(%rip); ret\n"
	"price_wait: mov %rsp, price_slot(%rip)\n\t"
	"mov (%rsp), %rax\n\t"
	"mov %rax, price_return(%rip)\n\t"
	"mov $7, %eax; syscall; ret\n"
	"price_call: xor %eax, %eax; syscall; ret\n"
	"price_others: .rept 61; nop; ret; .endr\n"
	".local price_sp, price_slot, price_return\n"
	".comm price_sp, 8, 8\n"
	".comm price_slot, 8, 8\n"
	".comm price_return, 8, 8\n");

void price_kernel(void);
void price_module(void);
void price_stepped(void);
void price_mark(void);
void price_wait(struct pollfd *fds, unsigned long nr, long timeout);
void price_call(long fd, void *byte, size_t size);
extern const char price_others[];
extern uint64_t price_sp, price_slot, price_return;

#define NOINLINE __attribute__((noinline))

enum {
	/* The loop's frame is anywhere above. */
	RISE = 4096,
	NR_GUARDS = COST_NR_HITS,
	/*
	 * For each hit the kernel searches the process's mappings and all probes, so both
	 * are as many as a server may have.
	 */
	NR_OTHERS = 61,
	NR_PAGES = 512,
};

/* In the order of enum perfguard_step_mode. */
static void (*const functions[NR_GUARDS])(void) = { price_kernel, price_module, price_stepped };

/* What is tried out, and on what. */
struct trial {
	struct link *link;
	struct pollfd zeros; /* there is always something to be read */
	int exe_fd;
	struct slice memory; /* the executable mappings */
	void *pages; /* many mappings */
	uint32_t target_id;
	uint32_t profile_id;
	uint64_t depth;
};

/* The only call of each: what comes after it is the place. */
static NOINLINE void next_unit(struct pollfd *zeros)
{
	price_wait(zeros, 1, 0);
	__asm__ volatile("" ::: "memory");
}

static NOINLINE void in_mid_unit(struct pollfd *zeros)
{
	char byte;

	price_call(zeros->fd, &byte, 1);
	__asm__ volatile("" ::: "memory");
}

/* Calls from one frame, so that all are of one depth. */
static NOINLINE uint64_t batch(struct pollfd *zeros, void (*function)(void),
			       void (*wait)(struct pollfd *zeros), uint32_t calls)
{
	uint64_t start;

	next_unit(zeros);
	start = time_now_ns();
	for (uint32_t i = 0; i < calls; i++) {
		if (function)
			function();
		else
			wait(zeros);
	}
	return time_now_ns() - start;
}

static int offset_of(const struct trial *trial, uint64_t address, __u64 *ret)
{
	const struct mapping *mapping = slice_mapping(&trial->memory, address);

	if (!mapping)
		return -ENOENT;
	*ret = address - mapping->start + mapping->offset;
	return 0;
}

static int add_loop(struct trial *trial)
{
	struct perfguard_loop course = { .id = 1 };
	struct perfguard_type type = { .id = 1, .least_final = INT16_MIN };
	struct perfguard_boundary boundary = {
		.role = PERFGUARD_BOUNDARY_ROLE_WAIT,
		.syscall = SYS_poll,
		.rise = RISE,
	};

	return offset_of(trial, price_return, &boundary.return_offset) ?:
	       link_profile_add_object(trial->link, trial->profile_id, trial->exe_fd) ?:
	       link_profile_add(trial->link, trial->profile_id, LOOPS, &course, 1) ?:
	       link_profile_add(trial->link, trial->profile_id, BOUNDARIES, &boundary, 1) ?:
	       link_profile_add(trial->link, trial->profile_id, TYPES, &type, 1);
}

static int add_guards(struct trial *trial)
{
	struct perfguard_guard guards[NR_GUARDS + NR_OTHERS] = { 0 };
	struct perfguard_calling_context contexts[NR_GUARDS] = { 0 };
	struct perfguard_weight weights[NR_GUARDS] = { 0 };
	int error = 0;

	for (uint32_t i = 0; i < NR_GUARDS && !error; i++) {
		error = offset_of(trial, (uint64_t)(uintptr_t)functions[i], &guards[i].offset);
		contexts[i].guard = i;
		contexts[i].depth = (uint32_t)trial->depth;
		contexts[i].nr_weights = 1;
		weights[i].early = weights[i].final = 1;
	}
	for (uint32_t i = 0; i < NR_OTHERS && !error; i++)
		error = offset_of(trial, (uint64_t)(uintptr_t)&price_others[2 * i],
				  &guards[NR_GUARDS + i].offset);
	return error ?: link_profile_add(trial->link, trial->profile_id, GUARDS, guards,
						NR_GUARDS + NR_OTHERS) ?:
	       link_profile_add(trial->link, trial->profile_id, CONTEXTS, contexts, NR_GUARDS) ?:
	       link_profile_add(trial->link, trial->profile_id, WEIGHTS, weights, NR_GUARDS);
}

static int arm(struct trial *trial)
{
	uint32_t processes;
	int error = link_target_new(trial->link, -1, (uint32_t)getpid(), NULL,
				    PERFGUARD_TARGET_FLAGS_OWNED | PERFGUARD_TARGET_FLAGS_ACCOUNT,
				    0, &trial->target_id, &processes);

	return error ?: link_profile_new(trial->link, "what guarding costs", 0, 0,
					 &trial->profile_id) ?:
	       add_loop(trial) ?: add_guards(trial) ?:
	       link_profile_arm_target(trial->link, trial->profile_id, trial->target_id);
}

static uint64_t now(void *context)
{
	(void)context;
	return time_now_ns();
}

static uint64_t time_round(void *context, enum cost_subject subject, uint32_t calls)
{
	struct trial *trial = context;

	if (subject < COST_NR_HITS)
		return batch(&trial->zeros, functions[subject], NULL, calls);
	return batch(&trial->zeros, NULL, subject == COST_UNIT ? next_unit : in_mid_unit, calls);
}

static int set_guarded(void *context, bool is_guarded)
{
	struct trial *trial = context;
	uint32_t target_id = trial->target_id;

	if (is_guarded)
		return arm(trial);
	trial->target_id = 0;
	return link_target_del(trial->link, target_id);
}

/* What handlers took so far; all hits have to be what they should. */
static int ask(void *context, uint64_t *ret_ns)
{
	struct trial *trial = context;
	struct armed_profile *profiles;
	uint32_t nr;
	int error = link_profiles(trial->link, &profiles, &nr);

	if (error)
		return error;
	error = -EPROTO;
	for (uint32_t i = 0; i < nr; i++) {
		if (profiles[i].id != trial->profile_id)
			continue;
		*ret_ns = profiles[i].check_ns;
		error = profiles[i].stray_hits + profiles[i].unknown_hits ? -EPROTO : 0;
	}
	link_profiles_free(profiles, nr);
	return error;
}

static int try_out(struct trial *trial, struct armed_prices *ret)
{
	const struct cost_machine machine = { trial, now, set_guarded, time_round, ask };

	batch(&trial->zeros, price_mark, NULL, 1);
	trial->depth = price_slot + RISE - price_sp;
	return cost_estimate(&machine, ret);
}

/* Each page is a mapping of its own. */
static int add_mappings(struct trial *trial)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, NR_PAGES * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		return -errno;
	trial->pages = pages;
	for (size_t i = 0; i < NR_PAGES; i += 2)
		if (mprotect(pages + i * size, size, PROT_READ))
			return -errno;
	return 0;
}

static int prepare(struct trial *trial)
{
	int error;

	trial->exe_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	trial->zeros.fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	trial->zeros.events = POLLIN;
	error = trial->exe_fd < 0 || trial->zeros.fd < 0 ?
			-errno : snapshot_mappings((uint32_t)getpid(), &trial->memory);
	if (!error)
		error = add_mappings(trial);
	if (error) {
		log_error("cannot try out what guarding costs: %s", strerror(-error));
		return CMD_FAILED;
	}
	return cmd_open_link(&trial->link);
}

static int try_failed(const struct trial *trial, int error)
{
	const char *what = "cannot try out what guarding costs";

	if (error != -EPROTO)
		return cmd_link_failed(trial->link, error, what);
	log_error("%s: hits were not as they should be", what);
	return CMD_FAILED;
}

int price_measure(struct armed_prices *ret)
{
	struct trial trial = { .exe_fd = -1, .zeros.fd = -1 };
	int error, code;

	long_step_begin("measuring what a hit costs here");
	code = prepare(&trial);

	if (!code) {
		error = try_out(&trial, ret);
		if (error)
			code = try_failed(&trial, error);
		if (trial.target_id)
			link_target_del(trial.link, trial.target_id);
		link_close(trial.link);
	}
	slice_clear(&trial.memory);
	if (trial.pages)
		munmap(trial.pages, NR_PAGES * (size_t)sysconf(_SC_PAGESIZE));
	close(trial.exe_fd);
	close(trial.zeros.fd);
	long_step_end();
	return code;
}
