/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Made by scripts/spec-header from Documentation/netlink/specs/perfguard.yaml; do not edit. */

#ifndef _UAPI_LINUX_PERFGUARD_H
#define _UAPI_LINUX_PERFGUARD_H

#include <linux/types.h>

/*
 * Watches the units (event-loop iterations) of unmodified programs and reports
 * those that take too long while they still run.
 *
 * Every operation and the multicast group want CAP_SYS_ADMIN in the initial
 * user namespace; the family exists in the initial network namespace only.
 * Every refusal carries an extended-ack text. Times are nanoseconds of
 * CLOCK_MONOTONIC unless said otherwise, sizes are bytes.
 *
 * Alerts live in a bounded ring in the module. The multicast message is the
 * alert without its stacks and serves as a bell: whoever hears it, or misses
 * it (ENOBUFS), asks for all records from the next sequence number on with
 * alert-get. What the ring no longer holds is told as a record of kind "lost"
 * with a count.
 */
#define PERFGUARD_FAMILY_NAME	"perfguard"
#define PERFGUARD_FAMILY_VERSION	1

/*
 * How a target is watched.
 */
enum perfguard_target_flags {
	/*
	 * A target that is one process takes its children along, whatever they
	 * execute.
	 */
	PERFGUARD_TARGET_FLAGS_INHERIT = 1U << 0,
	/* Keep the time account (CPU, run queue, blocked) of each unit. */
	PERFGUARD_TARGET_FLAGS_ACCOUNT = 1U << 1,
	/*
	 * Record waits in places that belong to no known event loop, with
	 * stacks, for wait-get.
	 */
	PERFGUARD_TARGET_FLAGS_DISCOVER = 1U << 2,
	/* The target is removed when the socket that made it is closed. */
	PERFGUARD_TARGET_FLAGS_OWNED = 1U << 3,
	/*
	 * While the training stream is open, tell each hooked wait call of the
	 * target's threads there, and what the next flag says.
	 */
	PERFGUARD_TARGET_FLAGS_RECORD = 1U << 4,
	/*
	 * While the training stream is open, tell the units and guard hits of
	 * the target's armed profile there.
	 */
	PERFGUARD_TARGET_FLAGS_UNITS = 1U << 5,
};

/*
 * What a record of the alert ring or the wait ring tells.
 */
enum perfguard_record_kind {
	/* A unit is beyond its threshold and still runs. */
	PERFGUARD_RECORD_KIND_LATE = 1,
	/* A unit beyond its threshold came to its end; the times are final. */
	PERFGUARD_RECORD_KIND_ENDED = 2,
	/* Records before this one were dropped; lost tells how many. */
	PERFGUARD_RECORD_KIND_LOST = 3,
	/* A wait call in a place that belongs to no known event loop. */
	PERFGUARD_RECORD_KIND_WAIT = 4,
	/*
	 * A unit came to its end that fits no type of the profile; a sample of
	 * such units, which are all counted. One that only lacks hits of
	 * guards that are shed is none.
	 */
	PERFGUARD_RECORD_KIND_NOVEL = 5,
};

/*
 * Which check found the unit late.
 */
enum perfguard_found_by {
	/* A performance guard in the unit's path. */
	PERFGUARD_FOUND_BY_GUARD = 1,
	/* The overdue watch, from outside. */
	PERFGUARD_FOUND_BY_OVERDUE = 2,
	/* The check at the unit's end. */
	PERFGUARD_FOUND_BY_END = 3,
};

/*
 * What the thread did when its stack was taken.
 */
enum perfguard_stack_state {
	/* It took its own stack, in a wait call. */
	PERFGUARD_STACK_STATE_SELF = 1,
	/* It ran in user mode and took its own stack at the next chance. */
	PERFGUARD_STACK_STATE_RUNNING = 2,
	/* It was in the kernel and another thread took its stack. */
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
	 * A site tells its first hit of all and then costs nothing more: the
	 * breakpoint goes from each process that comes by.
	 */
	PERFGUARD_SITE_FLAGS_ONE_SHOT = 1U << 0,
};

/*
 * Sites there may be of all targets together.
 */
#define PERFGUARD_MAX_SITES	262144

/*
 * Sites one site-add may bring.
 */
#define PERFGUARD_SITES_PER_REQUEST	4000

/*
 * The largest id of a site; an event has 28 bits for it.
 */
#define PERFGUARD_MAX_SITE_ID	268435455

/*
 * A place in a file for a breakpoint.
 */
struct perfguard_site {
	/* In the file, of the first byte of an instruction. */
	__u64 offset;
	/* Chosen by the user; what the events of its hits carry. */
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
 * What an event of the training stream tells. The stream is read from the
 * device /dev/perfguard and holds struct perfguard_event only.
 */
enum perfguard_event_kind {
	/* value events before this one found no room on this CPU. */
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
	 * It returned value (-512 to -516 if the kernel begins it again);
	 * number as for enter, sp is the call's first argument.
	 */
	PERFGUARD_EVENT_KIND_LEAVE = 4,
	/*
	 * The first event of a thread; value is the process in the lower 32
	 * bits and the image above.
	 */
	PERFGUARD_EVENT_KIND_START = 5,
	/* The thread executes another program or is gone. */
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
	 * next 16 the id of the event loop; with the highest bit set the unit
	 * fits no type. With the next one set it was none after all: what lay
	 * between two waits was no event.
	 */
	PERFGUARD_EVENT_KIND_UNIT = 8,
};

/*
 * One event of the training stream. Events of one thread have rising times;
 * those of different CPUs are read in any order.
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
 * How an event loop is cut into units.
 */
enum perfguard_course_flags {
	/* What lies between two waits without an event is no unit. */
	PERFGUARD_COURSE_FLAGS_HAS_EMPTY = 1U << 0,
};

/*
 * What a boundary does.
 */
enum perfguard_boundary_role {
	/*
	 * The loop's own wait; its entry ends a unit, its return begins one.
	 */
	PERFGUARD_BOUNDARY_ROLE_WAIT = 1,
	/*
	 * A system call that each event begins with. A second one without a
	 * wait in between ends a unit and begins the next, at its entry, if it
	 * does not fail.
	 */
	PERFGUARD_BOUNDARY_ROLE_EVENT_CALL = 2,
	/* The same by a guard's site. */
	PERFGUARD_BOUNDARY_ROLE_EVENT_SITE = 3,
};

/*
 * Whether a guard is on.
 */
enum perfguard_guard_state {
	/* Its breakpoint is in the target's memory. */
	PERFGUARD_GUARD_STATE_ACTIVE = 1,
	/*
	 * Taken off for a time, because guarding took more than its budget;
	 * where there is none, because it was hit far more often than planned.
	 */
	PERFGUARD_GUARD_STATE_SHED = 2,
};

/*
 * Who carries out the instruction under a guard's breakpoint.
 */
enum perfguard_guard_way {
	/* The kernel, without single-stepping it. */
	PERFGUARD_GUARD_WAY_KERNEL = 1,
	/* The module. */
	PERFGUARD_GUARD_WAY_MODULE = 2,
	/*
	 * The processor, in a single step, which costs several times as much.
	 */
	PERFGUARD_GUARD_WAY_STEPPED = 3,
};

/*
 * Guards a profile may have.
 */
#define PERFGUARD_MAX_GUARDS	16384

/*
 * Types of unit a profile may have.
 */
#define PERFGUARD_MAX_PROFILE_TYPES	4096

/*
 * Contexts a profile may have.
 */
#define PERFGUARD_MAX_PROFILE_CONTEXTS	65536

/*
 * Weights a profile may have.
 */
#define PERFGUARD_MAX_PROFILE_WEIGHTS	1048576

/*
 * An event loop of a profile.
 */
struct perfguard_course {
	/* From 1 without a gap; the loop-id of records and types. */
	__u32 id;
	/* Course flags. */
	__u32 flags;
};

/*
 * Where units of an event loop begin and end.
 */
struct perfguard_boundary {
	/*
	 * In the object's file, where the call that leads to the system call
	 * returns to.
	 */
	__u64 return_offset;
	/* Index of the event loop. */
	__u32 course;
	/* Boundary role. */
	__u32 role;
	/* Number of the system call (x86-64). */
	__u32 syscall;
	/* Index of the object. */
	__u32 object;
	/*
	 * From the stack pointer at the system call up to the slot of that
	 * return address.
	 */
	__u32 distance;
	/*
	 * Of a wait, from the stack pointer there up to that of the loop's
	 * frame, from which depths count; 0 if it is not known.
	 */
	__u32 rise;
	/* Of an event site alone, the index of the guard at it. */
	__u32 guard;
	__u32 reserved;
};

/*
 * A guard site of a profile.
 */
struct perfguard_guard {
	/* In the object's file, of the first byte of an instruction. */
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
	 * has far more. 0 stands for any number.
	 */
	__u32 plan;
	__u32 reserved;
};

/*
 * A type of unit.
 */
struct perfguard_type {
	/* A unit of it that takes longer is late; 0 stands for never. */
	__u64 threshold_ns;
	/* Index of the event loop; types are in its order. */
	__u32 course;
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
 * A guard hit at a stack depth, as training saw it.
 */
struct perfguard_known_context {
	/* Index of the event loop; contexts are in its order. */
	__u32 course;
	/* Index of the guard. */
	__u32 guard;
	/*
	 * Stack pointer of the loop's frame less that at the function's entry,
	 * bytes.
	 */
	__u32 depth;
	/* How many of the weights are its; they follow one another. */
	__u32 nr_weights;
};

/*
 * What a context says for a type.
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
 * A context that a unit met.
 */
struct perfguard_met {
	__u32 guard;
	__u32 depth;
	/* How often, at most 255; 1 where that is not known. */
	__u32 hits;
	/*
	 * Whether the profile has this context. If not, depth is that of one
	 * hit.
	 */
	__u32 is_known;
};

enum {
	/* Given by the module, never used again while it is loaded. */
	PERFGUARD_A_TARGET_ID = 1,
	/*
	 * An open file of the caller. Every process that executes this file
	 * (by inode of the lowest layer, so through any overlay or container
	 * mount) is watched, those that run and those that come.
	 */
	PERFGUARD_A_TARGET_EXE_FD,
	/* Watch this process alone (process id in the initial namespace). */
	PERFGUARD_A_TARGET_PID,
	PERFGUARD_A_TARGET_FLAGS,
	/* A unit that takes longer is late. 0 stands for no threshold. */
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
	/* Units that were beyond their threshold. */
	PERFGUARD_A_TARGET_LATE,
	/* Hooked wait calls of the target's threads. */
	PERFGUARD_A_TARGET_WAITS,
	/*
	 * Late units that were not told, being too many for a second or for
	 * the budget.
	 */
	PERFGUARD_A_TARGET_SUPPRESSED,
	/*
	 * Processes, threads or units that could not be watched for want of
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
	 * Processes that share an image have the same executable at the same
	 * addresses, by fork.
	 */
	PERFGUARD_A_PROCESS_IMAGE_ID,
	PERFGUARD_A_PROCESS_COMM,

	__PERFGUARD_A_PROCESS_MAX,
	PERFGUARD_A_PROCESS_MAX = (__PERFGUARD_A_PROCESS_MAX - 1)
};

enum {
	/* Chosen by the user, from 1; contexts of one loop share it. */
	PERFGUARD_A_CONTEXT_LOOP_ID = 1,
	/* Number of the wait call (x86-64). */
	PERFGUARD_A_CONTEXT_SYSCALL,
	/* Where the call that leads to the wait returns to. */
	PERFGUARD_A_CONTEXT_RETURN_ADDRESS,
	/*
	 * From the stack pointer at the wait call up to the slot of that
	 * return address.
	 */
	PERFGUARD_A_CONTEXT_DISTANCE,
	PERFGUARD_A_CONTEXT_PAD,

	__PERFGUARD_A_CONTEXT_MAX,
	PERFGUARD_A_CONTEXT_MAX = (__PERFGUARD_A_CONTEXT_MAX - 1)
};

enum {
	PERFGUARD_A_LOOP_IMAGE_ID = 1,
	PERFGUARD_A_LOOP_ID,
	PERFGUARD_A_LOOP_CONTEXT,
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
 * A stack comes in several messages of one dump: first one with the fields but
 * the mapping and chunk attributes, then one for each mapping, then the bytes
 * in chunks in rising order.
 */
enum {
	PERFGUARD_A_STACK_INDEX = 1,
	PERFGUARD_A_STACK_STATE,
	/* When it was taken. */
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
	 * Bytes there were up to the end of the stack; larger than size if
	 * cut.
	 */
	PERFGUARD_A_STACK_FULL_SIZE,
	/* An executable mapping some word of the stack points into. */
	PERFGUARD_A_STACK_MAPPING,
	PERFGUARD_A_STACK_CHUNK_OFFSET,
	PERFGUARD_A_STACK_CHUNK,
	PERFGUARD_A_STACK_PAD,
	/*
	 * Whose stack it is, if not the unit's own thread's: the holder of the
	 * lock that that one waits for.
	 */
	PERFGUARD_A_STACK_TID,
	/* The system call that the thread was in; absent for none. */
	PERFGUARD_A_STACK_SYSCALL,
	/* Address of the futex that it waited for. */
	PERFGUARD_A_STACK_LOCK,
	/*
	 * The thread that the words there name as the holder of the lock,
	 * where they do and it is one of the process.
	 */
	PERFGUARD_A_STACK_HOLDER,

	__PERFGUARD_A_STACK_MAX,
	PERFGUARD_A_STACK_MAX = (__PERFGUARD_A_STACK_MAX - 1)
};

enum {
	/* Counts from 1 without a gap, each ring for itself. */
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
	 * Time of the unit so far, or in all; of a wait, the time in the call.
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
	 * The armed profile, if there is one; without it there is no type
	 * either.
	 */
	PERFGUARD_A_RECORD_PROFILE_ID,
	/* The type inferred; absent for none. */
	PERFGUARD_A_RECORD_TYPE_ID,
	/*
	 * How far its score is ahead of the next one's; 4 stand for a factor
	 * of two in likelihood.
	 */
	PERFGUARD_A_RECORD_MARGIN,
	/* What the guards took in this unit; not part of elapsed. */
	PERFGUARD_A_RECORD_CHECK_NS,
	/*
	 * The contexts that the unit met, an array of struct perfguard_met in
	 * the order of the profile; of what the profile does not know, the
	 * first few.
	 */
	PERFGUARD_A_RECORD_MET,
	/* The unit fits no type; the one told is the closest. */
	PERFGUARD_A_RECORD_IS_NOVEL,
	/*
	 * A guard in a context of this event loop is shed, so that the type is
	 * less sure than planned.
	 */
	PERFGUARD_A_RECORD_IS_THINNED,
	/* What the wait call returned, of a wait. */
	PERFGUARD_A_RECORD_RESULT,

	__PERFGUARD_A_RECORD_MAX,
	PERFGUARD_A_RECORD_MAX = (__PERFGUARD_A_RECORD_MAX - 1)
};

enum {
	PERFGUARD_A_HOOK_SYSCALL = 1,
	PERFGUARD_A_HOOK_NAME,
	/* By ftrace direct call; a kretprobe serves where this is absent. */
	PERFGUARD_A_HOOK_DIRECT,
	/* Waits the kretprobe could not follow. */
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
	/* Sequence number the next alert will have. */
	PERFGUARD_A_STATS_NEXT_ALERT,
	PERFGUARD_A_STATS_NEXT_WAIT,
	/* Records not made for want of memory. */
	PERFGUARD_A_STATS_LOST_MEMORY,
	/* Records that left the alert ring for newer ones. */
	PERFGUARD_A_STATS_LOST_OVERWRITTEN,
	/* Stacks given up because the thread moved on while they were read. */
	PERFGUARD_A_STATS_TORN_STACKS,
	/* Memory the records of both rings take now. */
	PERFGUARD_A_STATS_RING_BYTES,
	PERFGUARD_A_STATS_HOOK,
	PERFGUARD_A_STATS_PAD,
	/* Sites of all targets. */
	PERFGUARD_A_STATS_SITES,
	/*
	 * Events of the training stream for which there was no room, since
	 * loading.
	 */
	PERFGUARD_A_STATS_STREAM_LOST,
	/*
	 * Stacks of late units for which there was no room until the next
	 * record.
	 */
	PERFGUARD_A_STATS_CROWDED_STACKS,

	__PERFGUARD_A_STATS_MAX,
	PERFGUARD_A_STATS_MAX = (__PERFGUARD_A_STATS_MAX - 1)
};

enum {
	PERFGUARD_A_SITE_TARGET_ID = 1,
	/*
	 * An open file of the caller, one that the target's processes map: the
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
	/* Given by the module, never used again while it is loaded. */
	PERFGUARD_A_PROFILE_ID = 1,
	/* The user's name for it, such as the path of its file. */
	PERFGUARD_A_PROFILE_NAME,
	/* Chosen by the user, to know the same contents again. */
	PERFGUARD_A_PROFILE_HASH,
	PERFGUARD_A_PROFILE_FLAGS,
	/*
	 * An open file of the caller that becomes the next object. The first
	 * one is the executable.
	 */
	PERFGUARD_A_PROFILE_OBJECT_FD,
	/*
	 * An array of struct perfguard_course, which is appended, like the
	 * next ones.
	 */
	PERFGUARD_A_PROFILE_COURSES,
	/* struct perfguard_boundary. */
	PERFGUARD_A_PROFILE_BOUNDARIES,
	/* struct perfguard_guard. */
	PERFGUARD_A_PROFILE_GUARDS,
	/* struct perfguard_type. */
	PERFGUARD_A_PROFILE_TYPES,
	/* struct perfguard_known_context. */
	PERFGUARD_A_PROFILE_CONTEXTS,
	/* struct perfguard_weight. */
	PERFGUARD_A_PROFILE_WEIGHTS,
	/* The target it is armed for; absent while it is being loaded. */
	PERFGUARD_A_PROFILE_TARGET_ID,
	/* Processes of the target. */
	PERFGUARD_A_PROFILE_PROCESSES,
	PERFGUARD_A_PROFILE_PAD,
	/*
	 * Index of the first guard that could not be probed, if arming failed
	 * by it.
	 */
	PERFGUARD_A_PROFILE_REFUSED_GUARD,
	/* The errno. */
	PERFGUARD_A_PROFILE_REFUSED_ERROR,
	PERFGUARD_A_PROFILE_NR_GUARDS,
	PERFGUARD_A_PROFILE_NR_TYPES,
	PERFGUARD_A_PROFILE_NR_CONTEXTS,
	/* Guards that are shed just now. */
	PERFGUARD_A_PROFILE_NR_SHED,
	/* Units that ended, of all types. */
	PERFGUARD_A_PROFILE_UNITS,
	/* Units among them that fit no type. */
	PERFGUARD_A_PROFILE_NOVEL,
	/* Guard hits in units, in a context that the profile does not know. */
	PERFGUARD_A_PROFILE_UNKNOWN_HITS,
	/* Guard hits outside of units. */
	PERFGUARD_A_PROFILE_STRAY_HITS,
	/* Memory that it takes, about. */
	PERFGUARD_A_PROFILE_BYTES,
	/* CLOCK_REALTIME when it was armed. */
	PERFGUARD_A_PROFILE_ARMED_NS,
	/*
	 * What guarding may take of the target's CPU time, in millionths.
	 * Guards are shed so that it takes no more. Absent for no limit; then
	 * a guard is shed that is hit far more often than planned.
	 */
	PERFGUARD_A_PROFILE_BUDGET_PPM,
	/*
	 * The price on this machine of a hit of a guard whose instruction the
	 * kernel carries out, but for the module's handler, which measures
	 * itself. The sender has measured it, like the next four; a budget
	 * needs those of hits.
	 */
	PERFGUARD_A_PROFILE_KERNEL_HIT_NS,
	/* The same where the module carries the instruction out. */
	PERFGUARD_A_PROFILE_MODULE_HIT_NS,
	/* The same where the kernel single-steps it. */
	PERFGUARD_A_PROFILE_STEPPED_HIT_NS,
	/* The price of a hooked call that is no boundary. */
	PERFGUARD_A_PROFILE_CALL_NS,
	/* What the end of a unit and the begin of the next add to it. */
	PERFGUARD_A_PROFILE_UNIT_NS,
	/* CPU time of the target since the profile was armed. */
	PERFGUARD_A_PROFILE_CPU_NS,
	/*
	 * What the handler of guards' hits took since then, measured by
	 * itself.
	 */
	PERFGUARD_A_PROFILE_CHECK_NS,
	/* What hits took since then, the handler and by the prices. */
	PERFGUARD_A_PROFILE_GUARDS_NS,
	/*
	 * What hooked calls and units took since then, by the prices, and
	 * where they went an unusual way by the clock. Nothing can be shed of
	 * it.
	 */
	PERFGUARD_A_PROFILE_BOUNDARIES_NS,
	/*
	 * The same three of the last second or so that the governor looked at.
	 */
	PERFGUARD_A_PROFILE_LAST_CPU_NS,
	PERFGUARD_A_PROFILE_LAST_GUARDS_NS,
	PERFGUARD_A_PROFILE_LAST_BOUNDARIES_NS,
	/*
	 * What it took to tell late units, and those that fit no type, since
	 * the profile was armed: in their threads, and by the watch.
	 */
	PERFGUARD_A_PROFILE_TELLING_NS,
	/* The same of the last second or so. */
	PERFGUARD_A_PROFILE_LAST_TELLING_NS,

	__PERFGUARD_A_PROFILE_MAX,
	PERFGUARD_A_PROFILE_MAX = (__PERFGUARD_A_PROFILE_MAX - 1)
};

enum {
	PERFGUARD_A_GUARD_PROFILE_ID = 1,
	PERFGUARD_A_GUARD_INDEX,
	PERFGUARD_A_GUARD_OBJECT,
	PERFGUARD_A_GUARD_OFFSET,
	PERFGUARD_A_GUARD_STATE,
	PERFGUARD_A_GUARD_WAY,
	PERFGUARD_A_GUARD_HITS,
	/* Hits whose instruction was single-stepped. */
	PERFGUARD_A_GUARD_STEPPED,
	/* How often it was shed. */
	PERFGUARD_A_GUARD_SHEDS,
	PERFGUARD_A_GUARD_PAD,
	/*
	 * What it took of the target's CPU time when it was looked at last, in
	 * millionths; of a shed guard, before it was shed.
	 */
	PERFGUARD_A_GUARD_SHARE_PPM,

	__PERFGUARD_A_GUARD_MAX,
	PERFGUARD_A_GUARD_MAX = (__PERFGUARD_A_GUARD_MAX - 1)
};

/*
 * A type of an armed profile. The sums are over its units that were in time:
 * its normal course.
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
	 * Change the threshold or the flags of a target. A thread sees the
	 * flags when it enters its next wait call.
	 */
	PERFGUARD_CMD_TARGET_SET,
	/*
	 * Watch a target no longer; without an id, any target. Returns when
	 * none of its threads is in the module any more, and with the last
	 * target when every hook is off. EINPROGRESS after a second if threads
	 * in uninterruptible sleep are: the watching has ended then too, but
	 * the module stays in use until they wake.
	 */
	PERFGUARD_CMD_TARGET_DEL,
	/* The targets and their counters. */
	PERFGUARD_CMD_TARGET_GET,
	/* The processes that are watched. */
	PERFGUARD_CMD_PROCESS_GET,
	/*
	 * Say which waits of an image are those of its event loops. Replaces
	 * all loops of the image at once; a loop id that stays keeps its sums.
	 */
	PERFGUARD_CMD_LOOP_SET,
	/*
	 * The event loops of audits and the sums over their units; what
	 * threads do that a profile guards is in the sums of its types.
	 */
	PERFGUARD_CMD_LOOP_GET,
	/* The alerts from a sequence number on, with their stacks. */
	PERFGUARD_CMD_ALERT_GET,
	/* An alert was made; its content but the stacks. */
	PERFGUARD_CMD_ALERT_NTF,
	/*
	 * The waits recorded for targets with the discover flag, like alert-
	 * get.
	 */
	PERFGUARD_CMD_WAIT_GET,
	/* Counters of the module as a whole, and its hooks. */
	PERFGUARD_CMD_STATS_GET,
	/*
	 * Tell hits of these sites in the training stream, of the target's
	 * threads only. Other processes that map the file are not touched.
	 * Sites can be added before the program or library is mapped. A site
	 * that cannot be probed is told in refused and does not stop the
	 * others; where nothing maps the file yet, the kernel looks at its
	 * instruction later, and the site may stay without hits.
	 */
	PERFGUARD_CMD_SITE_ADD,
	/* Take all sites of a target off. */
	PERFGUARD_CMD_SITE_DEL,
	/*
	 * Begin to load a profile. It is dropped when the socket is closed
	 * before it was armed.
	 */
	PERFGUARD_CMD_PROFILE_NEW,
	/* Append to a profile that is being loaded. */
	PERFGUARD_CMD_PROFILE_ADD,
	/*
	 * Check a loaded profile and guard its executable by it: all of it, or
	 * nothing is changed. Where the executable is guarded already, the new
	 * profile takes the place of the old one without a gap. Ends with
	 * target-del. With a target-id that target is guarded instead,
	 * whatever it watches: one that the same socket made, and that nothing
	 * guards yet. Ends with the target, or with profile-del. Of a budget,
	 * and of the prices by which the module keeps to it, the profile-get
	 * tells what became.
	 */
	PERFGUARD_CMD_PROFILE_ARM,
	/* The profiles that are armed or being loaded. */
	PERFGUARD_CMD_PROFILE_GET,
	/* The guards of an armed profile and their counters. */
	PERFGUARD_CMD_GUARD_GET,
	/* The types of an armed profile and the sums over their units. */
	PERFGUARD_CMD_TYPE_GET,
	/*
	 * Drop a profile that the same socket loads, or armed for a target of
	 * its own. Such a target is watched on, without a profile.
	 */
	PERFGUARD_CMD_PROFILE_DEL,

	__PERFGUARD_CMD_MAX,
	PERFGUARD_CMD_MAX = (__PERFGUARD_CMD_MAX - 1)
};

#define PERFGUARD_MCGRP_ALERTS	"alerts"

#endif /* _UAPI_LINUX_PERFGUARD_H */
