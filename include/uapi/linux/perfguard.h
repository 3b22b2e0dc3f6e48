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
	 * target's threads there.
	 */
	PERFGUARD_TARGET_FLAGS_RECORD = 1U << 4,
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
	/* Alerts not made because of the rate limit. */
	PERFGUARD_A_TARGET_SUPPRESSED,
	/*
	 * Processes or threads that could not be watched for want of memory or
	 * room.
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
	/* Bytes copied from the stack pointer upwards. */
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
	/* Watch an executable or a process. */
	PERFGUARD_CMD_TARGET_NEW = 1,
	/* Change the threshold or the flags of a target. */
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
	/* The event loops and the sums over their units. */
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

	__PERFGUARD_CMD_MAX,
	PERFGUARD_CMD_MAX = (__PERFGUARD_CMD_MAX - 1)
};

#define PERFGUARD_MCGRP_ALERTS	"alerts"

#endif /* _UAPI_LINUX_PERFGUARD_H */
