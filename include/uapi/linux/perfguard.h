/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Made by scripts/spec-header from Documentation/netlink/specs/perfguard.yaml; do not edit. */

#ifndef _UAPI_LINUX_PERFGUARD_H
#define _UAPI_LINUX_PERFGUARD_H

#include <linux/types.h>

/*
 * Watches the units (event-loop iterations) of unmodified programs and reports
 * those that take too long while they still run.
 *
 * Every operation and the multicast group require CAP_SYS_ADMIN in the initial
 * user namespace; the family exists in the initial network namespace only.
 * Every refusal carries an extended-ack text. Times are nanoseconds of
 * CLOCK_MONOTONIC unless stated otherwise, sizes are bytes.
 *
 * Alerts are kept in a bounded ring in the module. The multicast message is
 * the alert without its stacks and serves as a wakeup: a listener that
 * receives it, or misses it (ENOBUFS), requests all records from the next
 * sequence number on with alert-get. Records that the ring no longer holds are
 * reported as one record of kind "lost" with a count.
 */
#define PERFGUARD_FAMILY_NAME	"perfguard"
#define PERFGUARD_FAMILY_VERSION	1

/*
 * How a target is watched.
 */
enum perfguard_target_flags {
	/*
	 * A target that is one process includes its children, whatever they
	 * execute.
	 */
	PERFGUARD_TARGET_FLAGS_INHERIT = 1U << 0,
	/* Keep the time account (CPU, run queue, blocked) of each unit. */
	PERFGUARD_TARGET_FLAGS_ACCOUNT = 1U << 1,
	/*
	 * Record waits at wait points of no configured event loop, with
	 * stacks, for wait-get.
	 */
	PERFGUARD_TARGET_FLAGS_DISCOVER = 1U << 2,
	/* The target is removed when the socket that created it is closed. */
	PERFGUARD_TARGET_FLAGS_OWNED = 1U << 3,
	/*
	 * While the training stream is open, write each hooked wait call of
	 * the target's threads to it, and the events of the next flag.
	 */
	PERFGUARD_TARGET_FLAGS_RECORD = 1U << 4,
	/*
	 * While the training stream is open, write the units and guard hits of
	 * the target's armed profile to it.
	 */
	PERFGUARD_TARGET_FLAGS_UNITS = 1U << 5,
};

/*
 * Kind of a record in the alert ring or the wait ring.
 */
enum perfguard_record_kind {
	/* A unit exceeded its threshold and still runs. */
	PERFGUARD_RECORD_KIND_LATE = 1,
	/* A unit that exceeded its threshold ended; the times are final. */
	PERFGUARD_RECORD_KIND_ENDED = 2,
	/*
	 * Records before this one were dropped; the attribute lost is their
	 * number.
	 */
	PERFGUARD_RECORD_KIND_LOST = 3,
	/* A wait call at a wait point of no configured event loop. */
	PERFGUARD_RECORD_KIND_WAIT = 4,
	/*
	 * A unit that fits no type of the profile ended. All such units are
	 * counted, a sample of them is recorded. A unit that lacks only hits
	 * of shed guards is not novel.
	 */
	PERFGUARD_RECORD_KIND_NOVEL = 5,
};

/*
 * Which check found the unit late.
 */
enum perfguard_found_by {
	/* A performance guard in the unit's path. */
	PERFGUARD_FOUND_BY_GUARD = 1,
	/* The watchdog, from outside. */
	PERFGUARD_FOUND_BY_OVERDUE = 2,
	/* The check at the unit's end. */
	PERFGUARD_FOUND_BY_END = 3,
};

/*
 * State of the thread when its stack was copied.
 */
enum perfguard_stack_state {
	/* It copied its own stack, in a wait call. */
	PERFGUARD_STACK_STATE_SELF = 1,
	/*
	 * It ran in user mode and copied its own stack at the next return
	 * there.
	 */
	PERFGUARD_STACK_STATE_RUNNING = 2,
	/* It was in the kernel and another thread copied its stack. */
	PERFGUARD_STACK_STATE_BLOCKED = 3,
};

/*
 * Buckets of a unit-time histogram. Values 0 to 15 ns have a bucket each; from
 * there every power of two is split into 16 equal buckets; the last bucket
 * also takes everything above.
 */
#define PERFGUARD_HIST_BUCKETS	592

/*
 * How the sites of one request are probed.
 */
enum perfguard_site_flags {
	/*
	 * Only the first hit of a site is recorded. Its breakpoint is then
	 * removed from each process that hits it, so that it has no further
	 * cost.
	 */
	PERFGUARD_SITE_FLAGS_ONE_SHOT = 1U << 0,
};

/*
 * Maximum number of sites, all targets together.
 */
#define PERFGUARD_MAX_SITES	262144

/*
 * Maximum number of sites in one site-add.
 */
#define PERFGUARD_SITES_PER_REQUEST	4000

/*
 * The largest id of a site; an event has 28 bits for it.
 */
#define PERFGUARD_MAX_SITE_ID	268435455

/*
 * A file offset for a breakpoint.
 */
struct perfguard_site {
	/* File offset of the first byte of an instruction. */
	__u64 offset;
	/*
	 * Chosen by the user; identifies the site in the events of its hits.
	 */
	__u32 id;
	/*
	 * Stack pointer at the function's entry less stack pointer here,
	 * bytes.
	 */
	__u32 sp_delta;
};

/*
 * A site that was not added.
 */
struct perfguard_site_refusal {
	__u32 id;
	/*
	 * An errno: EINVAL for an offset outside of the file or a field out of
	 * range, ENOTSUPP (524) for an instruction that cannot be probed.
	 */
	__u32 error;
};

/*
 * Kind of an event of the training stream. The stream is read from the device
 * /dev/perfguard and consists of struct perfguard_event only.
 */
enum perfguard_event_kind {
	/*
	 * On this CPU value events before this one were dropped because the
	 * buffer was full.
	 */
	PERFGUARD_EVENT_KIND_LOST = 1,
	/*
	 * A site was hit; number is the site's id, sp the stack pointer at the
	 * function's entry, value the word there, which is the return address
	 * (0 if it cannot be read).
	 */
	PERFGUARD_EVENT_KIND_HIT = 2,
	/*
	 * A hooked wait call begins; number is the system call in the lower 12
	 * bits and, above, the lower 16 bits of the id of the event loop whose
	 * wait it is, or 0; sp is the user's stack pointer, value the
	 * instruction pointer.
	 */
	PERFGUARD_EVENT_KIND_ENTER = 3,
	/*
	 * It returned value (-512 to -516 if the kernel restarts it); number
	 * as for enter, sp is the call's first argument.
	 */
	PERFGUARD_EVENT_KIND_LEAVE = 4,
	/*
	 * The first event of a thread; value is the process in the lower 32
	 * bits and the image above.
	 */
	PERFGUARD_EVENT_KIND_START = 5,
	/* The thread executes another program or exits. */
	PERFGUARD_EVENT_KIND_END = 6,
	/*
	 * A guard of the armed profile was hit in a unit; number is the
	 * guard's index, sp the stack depth, value the id of the type inferred
	 * so far (0 for none).
	 */
	PERFGUARD_EVENT_KIND_GUARD = 7,
	/*
	 * A unit of an armed profile ended; number is the id of the type
	 * inferred at its end (0 for none), value its time without that of the
	 * guards' checks. The lower 32 bits of sp are the checks' time, the
	 * next 16 the id of the event loop. The highest bit of sp means that
	 * the unit fits no type, the next one that it was empty: there was no
	 * event between the two waits.
	 */
	PERFGUARD_EVENT_KIND_UNIT = 8,
};

/*
 * One event of the training stream. Events of one thread have increasing
 * times; those of different CPUs are read in any order.
 */
struct perfguard_event {
	/* CLOCK_MONOTONIC. */
	__u64 time_ns;
	__u64 sp;
	__u64 value;
	__u32 tid;
	/* Event kind in the upper 4 bits, number in the lower 28. */
	__u32 what;
};

/*
 * How a profile infers.
 */
enum perfguard_profile_flags {
	/* Count hits by the paper's rule, without weights and start scores. */
	PERFGUARD_PROFILE_FLAGS_PAPER = 1U << 0,
};

/*
 * How an event loop is divided into units.
 */
enum perfguard_loop_flags {
	/* The interval between two waits is no unit if it has no event. */
	PERFGUARD_LOOP_FLAGS_HAS_EMPTY = 1U << 0,
};

/*
 * What a boundary does.
 */
enum perfguard_boundary_role {
	/* The loop's wait; its entry ends a unit, its return begins one. */
	PERFGUARD_BOUNDARY_ROLE_WAIT = 1,
	/*
	 * A system call that each event begins with. A second one without a
	 * wait in between ends a unit and begins the next, at its entry, if it
	 * does not fail.
	 */
	PERFGUARD_BOUNDARY_ROLE_EVENT_CALL = 2,
	/* The same at a guard's site. */
	PERFGUARD_BOUNDARY_ROLE_EVENT_SITE = 3,
};

/*
 * State of a guard.
 */
enum perfguard_guard_state {
	/* Its breakpoint is set in the target's memory. */
	PERFGUARD_GUARD_STATE_ACTIVE = 1,
	/*
	 * Removed for a time, because guarding exceeded its budget or, without
	 * a budget, because it was hit far more often than planned.
	 */
	PERFGUARD_GUARD_STATE_SHED = 2,
};

/*
 * How the instruction under a guard's breakpoint is executed.
 */
enum perfguard_step_mode {
	/* Emulated by the kernel. */
	PERFGUARD_STEP_MODE_KERNEL = 1,
	/* Emulated by the module. */
	PERFGUARD_STEP_MODE_MODULE = 2,
	/* Single-stepped by the processor, at several times the cost. */
	PERFGUARD_STEP_MODE_STEPPED = 3,
};

/*
 * Maximum number of guards in a profile.
 */
#define PERFGUARD_MAX_GUARDS	16384

/*
 * Maximum number of unit types in a profile.
 */
#define PERFGUARD_MAX_PROFILE_TYPES	4096

/*
 * Maximum number of calling contexts in a profile.
 */
#define PERFGUARD_MAX_PROFILE_CONTEXTS	65536

/*
 * Maximum number of weights in a profile.
 */
#define PERFGUARD_MAX_PROFILE_WEIGHTS	1048576

/*
 * An event loop of a profile.
 */
struct perfguard_loop {
	/* From 1 without a gap; the id of the event loop in loop-get. */
	__u32 id;
	/* Loop flags. */
	__u32 flags;
};

/*
 * Where units of an event loop begin and end.
 */
struct perfguard_boundary {
	/*
	 * File offset, in the object, of the return address of the call that
	 * leads to the system call.
	 */
	__u64 return_offset;
	/* Index of the event loop. */
	__u32 loop;
	/* Boundary role. */
	__u32 role;
	/* Number of the system call (x86-64). */
	__u32 syscall;
	/* Index of the object. */
	__u32 object;
	/*
	 * From the stack pointer at the system call up to the stack slot of
	 * that return address.
	 */
	__u32 distance;
	/*
	 * Of a wait, from the stack pointer there up to that of the loop's
	 * frame, which is the base of stack depths; 0 if unknown.
	 */
	__u32 rise;
	/* Of an event site only, the index of its guard. */
	__u32 guard;
	__u32 reserved;
};

/*
 * A guard site of a profile.
 */
struct perfguard_guard {
	/* File offset, in the object, of the first byte of an instruction. */
	__u64 offset;
	/* Index of the object. */
	__u32 object;
	/*
	 * Stack pointer at the function's entry less stack pointer here,
	 * bytes.
	 */
	__u32 sp_delta;
	/*
	 * Hits expected in 1024 units of the target; the guard is shed when it
	 * has far more. 0 means no limit.
	 */
	__u32 plan;
	__u32 reserved;
};

/*
 * A type of unit.
 */
struct perfguard_type {
	/* A unit of this type that takes longer is late; 0 means never. */
	__u64 threshold_ns;
	/* Index of the event loop; types are in its order. */
	__u32 loop;
	/* Chosen by the user, from 1; below 2^28. */
	__u32 id;
	/* Start score while a unit runs, see perfguard/infer.h. */
	__s16 base_early;
	/* Start score at its end. */
	__s16 base_final;
	/* A unit that ends with a lower score does not fit the type. */
	__s16 least_final;
	__u16 reserved;
};

/*
 * A guard and a stack depth at which training observed hits of it.
 */
struct perfguard_calling_context {
	/* Index of the event loop; contexts are in its order. */
	__u32 loop;
	/* Index of the guard. */
	__u32 guard;
	/*
	 * Stack pointer of the loop's frame less that at the function's entry,
	 * bytes.
	 */
	__u32 depth;
	/*
	 * Number of its weights, which are consecutive in the array of
	 * weights.
	 */
	__u32 nr_weights;
};

/*
 * Evidence of a calling context for a type.
 */
struct perfguard_weight {
	/* Index of the type among those of the event loop. */
	__u16 type;
	/* Added to the early score, at most 127. */
	__u8 early;
	/* Added to the final score, at most 127. */
	__u8 final;
};

/*
 * A calling context in which a unit hit a guard.
 */
struct perfguard_met {
	__u32 guard;
	__u32 depth;
	/* Number of hits, at most 255; 1 where it is unknown. */
	__u32 hits;
	/*
	 * 1 if the profile has this context, else 0 and depth is that of one
	 * hit.
	 */
	__u32 in_profile;
};

enum {
	/* Assigned by the module, not reused while it is loaded. */
	PERFGUARD_A_TARGET_ID = 1,
	/*
	 * An open file of the caller. Every process that executes this file
	 * (by inode of the lowest layer, so through any overlay or container
	 * mount) is watched, present and future ones.
	 */
	PERFGUARD_A_TARGET_EXE_FD,
	/* Watch only this process (process id in the initial namespace). */
	PERFGUARD_A_TARGET_PID,
	PERFGUARD_A_TARGET_FLAGS,
	/* A unit that takes longer is late. 0 means no threshold. */
	PERFGUARD_A_TARGET_THRESHOLD_NS,
	/* The executable, as the module's namespace sees it. */
	PERFGUARD_A_TARGET_PATH,
	/* Device of the executable's inode (new_encode_dev). */
	PERFGUARD_A_TARGET_DEV,
	PERFGUARD_A_TARGET_INODE,
	/* Processes watched now. */
	PERFGUARD_A_TARGET_PROCESSES,
	/* Threads seen in a hooked call and still alive. */
	PERFGUARD_A_TARGET_THREADS,
	/* Units that ended. */
	PERFGUARD_A_TARGET_UNITS,
	/* Units that exceeded their threshold. */
	PERFGUARD_A_TARGET_LATE,
	/* Hooked wait calls of the target's threads. */
	PERFGUARD_A_TARGET_WAITS,
	/*
	 * Late units that were not reported because of the rate limit or the
	 * budget.
	 */
	PERFGUARD_A_TARGET_SUPPRESSED,
	/*
	 * Processes, threads or units that could not be watched for lack of
	 * memory or room.
	 */
	PERFGUARD_A_TARGET_UNTRACKED,
	PERFGUARD_A_TARGET_PAD,
	/* Sites that are probed for the target. */
	PERFGUARD_A_TARGET_SITES,

	__PERFGUARD_A_TARGET_MAX,
	PERFGUARD_A_TARGET_MAX = (__PERFGUARD_A_TARGET_MAX - 1)
};

enum {
	PERFGUARD_A_PROCESS_PID = 1,
	PERFGUARD_A_PROCESS_TARGET_ID,
	/*
	 * Processes that share an image have, by fork, the same executable at
	 * the same addresses.
	 */
	PERFGUARD_A_PROCESS_IMAGE_ID,
	PERFGUARD_A_PROCESS_COMM,

	__PERFGUARD_A_PROCESS_MAX,
	PERFGUARD_A_PROCESS_MAX = (__PERFGUARD_A_PROCESS_MAX - 1)
};

enum {
	/* Chosen by the user, from 1; wait points of one loop share it. */
	PERFGUARD_A_WAIT_POINT_LOOP_ID = 1,
	/* Number of the wait call (x86-64). */
	PERFGUARD_A_WAIT_POINT_SYSCALL,
	/* Return address of the call that leads to the wait. */
	PERFGUARD_A_WAIT_POINT_RETURN_ADDRESS,
	/*
	 * From the stack pointer at the wait call up to the stack slot of that
	 * return address.
	 */
	PERFGUARD_A_WAIT_POINT_DISTANCE,
	PERFGUARD_A_WAIT_POINT_PAD,

	__PERFGUARD_A_WAIT_POINT_MAX,
	PERFGUARD_A_WAIT_POINT_MAX = (__PERFGUARD_A_WAIT_POINT_MAX - 1)
};

enum {
	PERFGUARD_A_LOOP_IMAGE_ID = 1,
	PERFGUARD_A_LOOP_ID,
	PERFGUARD_A_LOOP_WAIT_POINT,
	/* Threads alive whose last unit belonged to this loop. */
	PERFGUARD_A_LOOP_THREADS,
	PERFGUARD_A_LOOP_UNITS,
	PERFGUARD_A_LOOP_LATE,
	/* Sum over all units, as are all that follow. */
	PERFGUARD_A_LOOP_ELAPSED_NS,
	PERFGUARD_A_LOOP_CPU_NS,
	PERFGUARD_A_LOOP_RUNQUEUE_NS,
	/*
	 * Absent where the kernel does not account block I/O for these
	 * threads.
	 */
	PERFGUARD_A_LOOP_BLOCK_IO_NS,
	PERFGUARD_A_LOOP_MIN_FAULTS,
	PERFGUARD_A_LOOP_MAJ_FAULTS,
	/* The longest unit. */
	PERFGUARD_A_LOOP_MAX_NS,
	/* Units by elapsed time; hist-buckets counters of 64 bits. */
	PERFGUARD_A_LOOP_HIST,
	PERFGUARD_A_LOOP_PAD,

	__PERFGUARD_A_LOOP_MAX,
	PERFGUARD_A_LOOP_MAX = (__PERFGUARD_A_LOOP_MAX - 1)
};

enum {
	PERFGUARD_A_MAPPING_START = 1,
	PERFGUARD_A_MAPPING_END,
	/* In the file, of the first byte. */
	PERFGUARD_A_MAPPING_OFFSET,
	PERFGUARD_A_MAPPING_DEV,
	PERFGUARD_A_MAPPING_INODE,
	/* Absent for memory without a file. */
	PERFGUARD_A_MAPPING_PATH,
	PERFGUARD_A_MAPPING_PAD,

	__PERFGUARD_A_MAPPING_MAX,
	PERFGUARD_A_MAPPING_MAX = (__PERFGUARD_A_MAPPING_MAX - 1)
};

/*
 * A stack is sent in several messages of one dump: first one with all fields
 * except the mapping and chunk attributes, then one for each mapping, then the
 * bytes in chunks in increasing order.
 */
enum {
	PERFGUARD_A_STACK_INDEX = 1,
	PERFGUARD_A_STACK_STATE,
	/* When it was copied. */
	PERFGUARD_A_STACK_AT_NS,
	/*
	 * 17 words of 64 bits, in the order of DWARF register numbers: rax rdx
	 * rcx rbx rsi rdi rbp rsp r8 to r15 rip.
	 */
	PERFGUARD_A_STACK_REGS,
	/*
	 * Bytes copied from the stack pointer upwards. Of a page that was not
	 * in memory all bits are set.
	 */
	PERFGUARD_A_STACK_SIZE,
	/*
	 * Bytes from the stack pointer to the end of the stack; larger than
	 * size if cut.
	 */
	PERFGUARD_A_STACK_FULL_SIZE,
	/* An executable mapping that some word of the stack points into. */
	PERFGUARD_A_STACK_MAPPING,
	PERFGUARD_A_STACK_CHUNK_OFFSET,
	PERFGUARD_A_STACK_CHUNK,
	PERFGUARD_A_STACK_PAD,
	/*
	 * The thread of the stack, if not that of the unit: the holder of the
	 * lock that the unit's thread waits for.
	 */
	PERFGUARD_A_STACK_TID,
	/* The system call that the thread was in; absent for none. */
	PERFGUARD_A_STACK_SYSCALL,
	/* Address of the futex that it waited for. */
	PERFGUARD_A_STACK_LOCK,
	/*
	 * The thread that the words there identify as the holder of the lock;
	 * absent where they do not, or it is no thread of the process.
	 */
	PERFGUARD_A_STACK_HOLDER,

	__PERFGUARD_A_STACK_MAX,
	PERFGUARD_A_STACK_MAX = (__PERFGUARD_A_STACK_MAX - 1)
};

enum {
	/* Counts from 1 without a gap, separately for each ring. */
	PERFGUARD_A_RECORD_SEQ = 1,
	PERFGUARD_A_RECORD_KIND,
	/* CLOCK_REALTIME when the record was made. */
	PERFGUARD_A_RECORD_TIME_NS,
	PERFGUARD_A_RECORD_TARGET_ID,
	PERFGUARD_A_RECORD_IMAGE_ID,
	PERFGUARD_A_RECORD_LOOP_ID,
	PERFGUARD_A_RECORD_PID,
	PERFGUARD_A_RECORD_TID,
	PERFGUARD_A_RECORD_COMM,
	/* Number of the unit in its thread, from 1. */
	PERFGUARD_A_RECORD_UNIT,
	PERFGUARD_A_RECORD_FOUND_BY,
	PERFGUARD_A_RECORD_THRESHOLD_NS,
	/*
	 * Time of the unit so far or, if it ended, in total; of a wait, the
	 * time in the call.
	 */
	PERFGUARD_A_RECORD_ELAPSED_NS,
	PERFGUARD_A_RECORD_CPU_NS,
	PERFGUARD_A_RECORD_RUNQUEUE_NS,
	/* The rest; block I/O is a part of it. */
	PERFGUARD_A_RECORD_BLOCKED_NS,
	/* Absent where the kernel does not account it for this thread. */
	PERFGUARD_A_RECORD_BLOCK_IO_NS,
	PERFGUARD_A_RECORD_MIN_FAULTS,
	PERFGUARD_A_RECORD_MAJ_FAULTS,
	/* Voluntary context switches. */
	PERFGUARD_A_RECORD_VOLUNTARY,
	PERFGUARD_A_RECORD_INVOLUNTARY,
	/* The wait call, of a wait. */
	PERFGUARD_A_RECORD_SYSCALL,
	PERFGUARD_A_RECORD_WAIT_IP,
	PERFGUARD_A_RECORD_WAIT_SP,
	/* When a wait began. */
	PERFGUARD_A_RECORD_ENTER_NS,
	PERFGUARD_A_RECORD_LOST,
	PERFGUARD_A_RECORD_STACK,
	PERFGUARD_A_RECORD_PAD,
	/*
	 * The armed profile; absent for none, and then there is no type
	 * either.
	 */
	PERFGUARD_A_RECORD_PROFILE_ID,
	/* The type inferred; absent for none. */
	PERFGUARD_A_RECORD_TYPE_ID,
	/*
	 * Distance of its score to the next best; 4 mean a factor of two in
	 * likelihood.
	 */
	PERFGUARD_A_RECORD_MARGIN,
	/* Time of the guards' checks in this unit; not part of elapsed. */
	PERFGUARD_A_RECORD_CHECK_NS,
	/*
	 * The calling contexts of the unit's hits, an array of struct
	 * perfguard_met in the order of the profile; of contexts that are not
	 * in the profile, the first few.
	 */
	PERFGUARD_A_RECORD_MET,
	/* The unit fits no type; type-id is the closest. */
	PERFGUARD_A_RECORD_IS_NOVEL,
	/*
	 * A guard of this event loop is shed, so that the type is less certain
	 * than planned.
	 */
	PERFGUARD_A_RECORD_IS_DEGRADED,
	/* Return value of the wait call, of a wait. */
	PERFGUARD_A_RECORD_RESULT,

	__PERFGUARD_A_RECORD_MAX,
	PERFGUARD_A_RECORD_MAX = (__PERFGUARD_A_RECORD_MAX - 1)
};

enum {
	PERFGUARD_A_HOOK_SYSCALL = 1,
	PERFGUARD_A_HOOK_NAME,
	/* Hooked by an ftrace direct call; by a kretprobe if absent. */
	PERFGUARD_A_HOOK_IS_DIRECT,
	/* Waits that the kretprobe missed. */
	PERFGUARD_A_HOOK_MISSED,
	PERFGUARD_A_HOOK_PAD,

	__PERFGUARD_A_HOOK_MAX,
	PERFGUARD_A_HOOK_MAX = (__PERFGUARD_A_HOOK_MAX - 1)
};

enum {
	PERFGUARD_A_STATS_TARGETS = 1,
	PERFGUARD_A_STATS_THREADS,
	/*
	 * 0 when hooked calls no longer reach the module
	 * (kernel.ftrace_enabled=0 does that).
	 */
	PERFGUARD_A_STATS_ALIVE,
	/* Sequence number of the next alert. */
	PERFGUARD_A_STATS_NEXT_ALERT,
	PERFGUARD_A_STATS_NEXT_WAIT,
	/* Records that were not created for lack of memory. */
	PERFGUARD_A_STATS_LOST_MEMORY,
	/* Records of the alert ring that newer ones replaced. */
	PERFGUARD_A_STATS_LOST_OVERWRITTEN,
	/*
	 * Stacks that were discarded because the thread ran on while they were
	 * copied.
	 */
	PERFGUARD_A_STATS_TORN_STACKS,
	/* Memory that the records of both rings use. */
	PERFGUARD_A_STATS_RING_BYTES,
	PERFGUARD_A_STATS_HOOK,
	PERFGUARD_A_STATS_PAD,
	/* Sites of all targets. */
	PERFGUARD_A_STATS_SITES,
	/* Events of the training stream that were dropped since loading. */
	PERFGUARD_A_STATS_STREAM_LOST,
	/*
	 * Stacks of late units that were dropped because the history was full
	 * until the next record.
	 */
	PERFGUARD_A_STATS_CROWDED_STACKS,

	__PERFGUARD_A_STATS_MAX,
	PERFGUARD_A_STATS_MAX = (__PERFGUARD_A_STATS_MAX - 1)
};

enum {
	PERFGUARD_A_SITE_TARGET_ID = 1,
	/*
	 * An open file of the caller that the target's processes map: the
	 * program, or a library.
	 */
	PERFGUARD_A_SITE_FD,
	PERFGUARD_A_SITE_FLAGS,
	/* An array of struct perfguard_site. */
	PERFGUARD_A_SITE_SITES,
	PERFGUARD_A_SITE_ADDED,
	/* An array of struct perfguard_site_refusal. */
	PERFGUARD_A_SITE_REFUSED,
	PERFGUARD_A_SITE_PAD,

	__PERFGUARD_A_SITE_MAX,
	PERFGUARD_A_SITE_MAX = (__PERFGUARD_A_SITE_MAX - 1)
};

enum {
	/* Assigned by the module, not reused while it is loaded. */
	PERFGUARD_A_PROFILE_ID = 1,
	/* Chosen by the user, such as the path of its file. */
	PERFGUARD_A_PROFILE_NAME,
	/* Chosen by the user, to recognize the same contents. */
	PERFGUARD_A_PROFILE_HASH,
	PERFGUARD_A_PROFILE_FLAGS,
	/*
	 * An open file of the caller that becomes the next object. The first
	 * one is the executable.
	 */
	PERFGUARD_A_PROFILE_OBJECT_FD,
	/*
	 * An array of struct perfguard_loop, which is appended, like the
	 * following arrays.
	 */
	PERFGUARD_A_PROFILE_LOOPS,
	/* struct perfguard_boundary. */
	PERFGUARD_A_PROFILE_BOUNDARIES,
	/* struct perfguard_guard. */
	PERFGUARD_A_PROFILE_GUARDS,
	/* struct perfguard_type. */
	PERFGUARD_A_PROFILE_TYPES,
	/* struct perfguard_calling_context. */
	PERFGUARD_A_PROFILE_CONTEXTS,
	/* struct perfguard_weight. */
	PERFGUARD_A_PROFILE_WEIGHTS,
	/*
	 * The target for which it is armed; absent while it is being loaded.
	 */
	PERFGUARD_A_PROFILE_TARGET_ID,
	/* Processes of the target. */
	PERFGUARD_A_PROFILE_PROCESSES,
	PERFGUARD_A_PROFILE_PAD,
	/*
	 * Index of the first guard that could not be probed, if that made
	 * arming fail.
	 */
	PERFGUARD_A_PROFILE_REFUSED_GUARD,
	/* The errno. */
	PERFGUARD_A_PROFILE_REFUSED_ERROR,
	PERFGUARD_A_PROFILE_NR_GUARDS,
	PERFGUARD_A_PROFILE_NR_TYPES,
	PERFGUARD_A_PROFILE_NR_CONTEXTS,
	/* Guards that are currently shed. */
	PERFGUARD_A_PROFILE_NR_SHED,
	/* Units that ended, of all types. */
	PERFGUARD_A_PROFILE_UNITS,
	/* The units among them that fit no type. */
	PERFGUARD_A_PROFILE_NOVEL,
	/*
	 * Guard hits in units, in a calling context that is not in the
	 * profile.
	 */
	PERFGUARD_A_PROFILE_UNKNOWN_HITS,
	/* Guard hits outside of units. */
	PERFGUARD_A_PROFILE_STRAY_HITS,
	/* Approximate memory use. */
	PERFGUARD_A_PROFILE_BYTES,
	/* CLOCK_REALTIME when it was armed. */
	PERFGUARD_A_PROFILE_ARMED_NS,
	/*
	 * Limit of the time for guarding, in millionths of the target's CPU
	 * time; guards are shed to keep it. Absent for no limit; then a guard
	 * is shed when it is hit far more often than planned.
	 */
	PERFGUARD_A_PROFILE_BUDGET_PPM,
	/*
	 * Cost model: the unit cost on this machine of a hit of a guard whose
	 * instruction the kernel emulates, without the module's handler, which
	 * measures itself. Measured by the sender, like the following four; a
	 * budget requires the three costs of hits.
	 */
	PERFGUARD_A_PROFILE_KERNEL_HIT_NS,
	/* The same where the module emulates the instruction. */
	PERFGUARD_A_PROFILE_MODULE_HIT_NS,
	/* The same where the instruction is single-stepped. */
	PERFGUARD_A_PROFILE_STEPPED_HIT_NS,
	/* Unit cost of a hooked call that is no boundary. */
	PERFGUARD_A_PROFILE_CALL_NS,
	/* Additional cost of the end of a unit and the begin of the next. */
	PERFGUARD_A_PROFILE_UNIT_NS,
	/* CPU time of the target since the profile was armed. */
	PERFGUARD_A_PROFILE_CPU_NS,
	/* Time of the handler of guard hits since then, measured by itself. */
	PERFGUARD_A_PROFILE_CHECK_NS,
	/*
	 * Time of hits since then, the handler's plus that by the cost model.
	 */
	PERFGUARD_A_PROFILE_GUARDS_NS,
	/*
	 * Time of hooked calls and units since then, by the cost model on the
	 * fast path and by the clock on the slow path. Shedding does not
	 * reduce it.
	 */
	PERFGUARD_A_PROFILE_BOUNDARIES_NS,
	/*
	 * The same three in the governor's last sample window, about a second.
	 */
	PERFGUARD_A_PROFILE_LAST_CPU_NS,
	PERFGUARD_A_PROFILE_LAST_GUARDS_NS,
	PERFGUARD_A_PROFILE_LAST_BOUNDARIES_NS,
	/*
	 * Time for reporting late units, and those that fit no type, since the
	 * profile was armed: in their threads and by the watchdog.
	 */
	PERFGUARD_A_PROFILE_REPORT_NS,
	/* The same in the governor's last sample window. */
	PERFGUARD_A_PROFILE_LAST_REPORT_NS,

	__PERFGUARD_A_PROFILE_MAX,
	PERFGUARD_A_PROFILE_MAX = (__PERFGUARD_A_PROFILE_MAX - 1)
};

enum {
	PERFGUARD_A_GUARD_PROFILE_ID = 1,
	PERFGUARD_A_GUARD_INDEX,
	PERFGUARD_A_GUARD_OBJECT,
	PERFGUARD_A_GUARD_OFFSET,
	PERFGUARD_A_GUARD_STATE,
	PERFGUARD_A_GUARD_STEP_MODE,
	PERFGUARD_A_GUARD_HITS,
	/* Hits whose instruction was single-stepped. */
	PERFGUARD_A_GUARD_STEPPED,
	/* Number of times it was shed. */
	PERFGUARD_A_GUARD_SHEDS,
	PERFGUARD_A_GUARD_PAD,
	/*
	 * Its share of the target's CPU time in the governor's last sample
	 * window, in millionths; of a shed guard, before it was shed.
	 */
	PERFGUARD_A_GUARD_SHARE_PPM,

	__PERFGUARD_A_GUARD_MAX,
	PERFGUARD_A_GUARD_MAX = (__PERFGUARD_A_GUARD_MAX - 1)
};

/*
 * A type of an armed profile. The sums are over its units that ended in time.
 */
enum {
	PERFGUARD_A_TYPE_PROFILE_ID = 1,
	PERFGUARD_A_TYPE_LOOP_ID,
	PERFGUARD_A_TYPE_ID,
	PERFGUARD_A_TYPE_THRESHOLD_NS,
	/* Units that ended in time. */
	PERFGUARD_A_TYPE_UNITS,
	/* Units that ended late. */
	PERFGUARD_A_TYPE_LATE,
	/* Units of both that did not fit. */
	PERFGUARD_A_TYPE_NOVEL,
	PERFGUARD_A_TYPE_ELAPSED_NS,
	PERFGUARD_A_TYPE_CPU_NS,
	PERFGUARD_A_TYPE_RUNQUEUE_NS,
	PERFGUARD_A_TYPE_BLOCK_IO_NS,
	PERFGUARD_A_TYPE_MIN_FAULTS,
	PERFGUARD_A_TYPE_MAJ_FAULTS,
	/* Sum over the units that ended late. */
	PERFGUARD_A_TYPE_LATE_ELAPSED_NS,
	PERFGUARD_A_TYPE_PAD,

	__PERFGUARD_A_TYPE_MAX,
	PERFGUARD_A_TYPE_MAX = (__PERFGUARD_A_TYPE_MAX - 1)
};

enum {
	/* Watch an executable or a process. */
	PERFGUARD_CMD_TARGET_NEW = 1,
	/*
	 * Change the threshold or the flags of a target. The flags take effect
	 * in a thread when it enters its next wait call.
	 */
	PERFGUARD_CMD_TARGET_SET,
	/*
	 * Stop watching a target; without an id, all targets. Returns when
	 * none of its threads is in the module any more and, with the last
	 * target, when every hook is removed. EINPROGRESS after a second if
	 * threads in uninterruptible sleep still are: watching has ended then
	 * too, but the module remains in use until they wake up.
	 */
	PERFGUARD_CMD_TARGET_DEL,
	/* The targets and their counters. */
	PERFGUARD_CMD_TARGET_GET,
	/* The processes that are watched. */
	PERFGUARD_CMD_PROCESS_GET,
	/*
	 * Set the wait points of an image's event loops. Replaces all loops of
	 * the image at once; a loop id that is in both sets keeps its sums.
	 */
	PERFGUARD_CMD_LOOP_SET,
	/* The event loops and the sums over their units. */
	PERFGUARD_CMD_LOOP_GET,
	/* The alerts from a sequence number on, with their stacks. */
	PERFGUARD_CMD_ALERT_GET,
	/* An alert was created; its content without the stacks. */
	PERFGUARD_CMD_ALERT_NTF,
	/*
	 * The waits recorded for targets with the discover flag, like alert-
	 * get.
	 */
	PERFGUARD_CMD_WAIT_GET,
	/* Counters of the module as a whole, and its hooks. */
	PERFGUARD_CMD_STATS_GET,
	/*
	 * Write hits of these sites to the training stream, of the target's
	 * threads only. Other processes that map the file are not affected.
	 * Sites can be added before the program or library is mapped. A site
	 * that cannot be probed is listed in refused and does not stop the
	 * others; where nothing maps the file yet, the kernel checks its
	 * instruction later, and the site may remain without hits.
	 */
	PERFGUARD_CMD_SITE_ADD,
	/* Remove all sites of a target. */
	PERFGUARD_CMD_SITE_DEL,
	/*
	 * Begin to load a profile. It is dropped when the socket is closed
	 * before the profile was armed.
	 */
	PERFGUARD_CMD_PROFILE_NEW,
	/* Append to a profile that is being loaded. */
	PERFGUARD_CMD_PROFILE_ADD,
	/*
	 * Check a loaded profile and guard its executable with it; on an error
	 * nothing is changed. Where the executable is guarded already, the new
	 * profile replaces the old one without a gap. Ends with target-del.
	 * With a target-id that target is guarded instead, whatever it
	 * watches. It must have been created by the same socket and not be
	 * guarded yet. Ends with the target, or with profile-del. profile-get
	 * returns the budget, the cost model and the time spent.
	 */
	PERFGUARD_CMD_PROFILE_ARM,
	/* The profiles that are armed or being loaded. */
	PERFGUARD_CMD_PROFILE_GET,
	/* The guards of an armed profile and their counters. */
	PERFGUARD_CMD_GUARD_GET,
	/* The types of an armed profile and the sums over their units. */
	PERFGUARD_CMD_TYPE_GET,
	/*
	 * Drop a profile that the same socket loads, or has armed for a target
	 * of its own. Such a target is still watched, without a profile.
	 */
	PERFGUARD_CMD_PROFILE_DEL,

	__PERFGUARD_CMD_MAX,
	PERFGUARD_CMD_MAX = (__PERFGUARD_CMD_MAX - 1)
};

#define PERFGUARD_MCGRP_ALERTS	"alerts"

#endif /* _UAPI_LINUX_PERFGUARD_H */
