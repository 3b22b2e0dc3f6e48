/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Profiles: what a target's units are, and the tables that give their types.
 *
 * A profile is loaded piece by piece by one socket, then checked and armed as a
 * whole.  From then on its tables do not change, except for verdict caches and hit slots.  Its
 * target points to it (RCU), and so does each thread that it guards: a thread
 * changes to a newer profile at its next boundary, and until then goes on with
 * the old one.
 *
 * Counters are per CPU, written with preemption off, and read by anyone without
 * a lock: each word is right by itself.
 */
#ifndef _KMOD_PROFILE_PROFILE_H
#define _KMOD_PROFILE_PROFILE_H

#include <linux/cache.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/path.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include <linux/perfguard.h>
#include <perfguard/infer.h>
#include <perfguard/request-part.h>

#include "profile/budget-state.h"
#include "profile/limits.h"
#include "profile/verdict-cache.h"

struct file;
struct inode;
struct pguard_probe;
struct pguard_staging;
struct pguard_target;

enum {
	PGUARD_MAX_PROFILES = 128,
	PGUARD_MAX_OBJECTS = 256,	/* of a profile */
	PGUARD_MAX_DISTANCE = 64 * 1024,	/* of a return address from SP at a wait */
	PGUARD_MAX_RISE = 1024 * 1024,
};

/* A file with code of the program; @inode is that of the lowest layer. */
struct pguard_object {
	struct path path;
	struct inode *inode;
};

/**
 * struct pguard_type_sums - sums over the units of a type that were in time
 *
 * Those that may be of no type, as they met a context that the profile does not have, do not count.
 * @late and what begins with it are of those that were not, @novel of both; @starved of those
 * that would have been late if the run queue counted, @stopped of those that would have been if
 * it counted that they were stopped; ns.  Of a late unit the parts count for
 * no more than eight times their limits, so that one does not outweigh all others.
 */
struct pguard_type_sums {
	u64 units;
	u64 elapsed;
	u64 cpu;
	u64 runqueue;
	u64 block_io;
	u64 min_faults;
	u64 maj_faults;
	u64 late;
	u64 late_elapsed;
	u64 late_cpu;
	u64 late_blocked;
	u64 novel;
	u64 starved;
	u64 stopped;
};

enum { PGUARD_NR_TIMES = PERFGUARD_TIMES_REQUEST_HELD };

/* How long a type's units were, and requests that they read: by enum perfguard_times, less 1, the netlink spec's histograms. */
struct pguard_type_times {
	u32 nr[PGUARD_NR_TIMES][PERFGUARD_TIMES_BUCKETS];
};

/**
 * struct pguard_audit_sums - sums over the units of a loop that is audited
 * @type: those that were late are among its units
 * @max: the longest unit, ns
 * @stopped: how long units were stopped, ns
 * @has_block_io: some unit had it accounted
 * @hist: units by time
 */
struct pguard_audit_sums {
	struct pguard_type_sums type;
	u64 max;
	u64 stopped;
	bool has_block_io;
	u64 hist[PERFGUARD_HIST_BUCKETS];
};

/**
 * struct pguard_guard_sums - how often a guard was hit
 * @hits: all hits of the target's threads; what a CPU counts is without @noted
 * @stepped: those whose instruction the kernel single-steps; what a CPU counts is only
 *	where the module could not carry it out or left it to the kernel, as elsewhere it
 *	is all or none
 * @noted: those that landings have noted, which are counted in struct pguard_profile_cpu
 */
struct pguard_guard_sums {
	u64 hits;
	u64 stepped;
	u64 noted;
};

/**
 * struct pguard_profile_sums - of a profile as a whole
 * @units: that ended
 * @novel: that fit no type
 * @unknown_hits: in a unit, in a context that the profile does not know
 * @stray_hits: outside of units, or with a stack that is not the thread's
 * @checks: ticks of pguard_clock() that guards' hits took, of units that ended
 *	and outside of units
 * @unit_equivalents: what else took about as much as the two ends of a unit: the account of one
 *	that left its CPU, the way to another end than the fast path, a call by which an
 *	event may begin, one that needed to be distinguished from such ones, a wait that ended
 *	no unit
 * @longer: ticks that places took which were looked up in full, and units that ended
 *	the slow path and were not reported, in addition to the cost model's
 */
struct pguard_profile_sums {
	u64 units;
	u64 novel;
	u64 unknown_hits;
	u64 stray_hits;
	u64 checks;
	u64 unit_equivalents;
	u64 longer;
};

/* What one CPU counts. */
struct pguard_profile_cpu {
	struct pguard_profile_sums sums;
	struct pguard_type_sums *types;		/* by type of the profile */
	/* The same; or NULL.  Where there are many types, CPUs share it, and may lose a unit. */
	struct pguard_type_times *times;
	u64 *noted;				/* hits by guard, if some of them jump; else NULL */
} ____cacheline_aligned_in_smp;

enum { PGUARD_NR_HIT_SLOTS = 48, PGUARD_NO_HIT_SLOT = 0xff }; /* they are bits of a word */

/**
 * struct pguard_hit_slots - which of a thread's counters a context of a loop has
 * @of: by context; PGUARD_NO_HIT_SLOT for those that never occurred
 * @nr_given: so far, without a lock; none is taken back
 */
struct pguard_hit_slots {
	u8 *of;
	atomic_t nr_given;
};

/**
 * struct pguard_limit_ticks - what the limits of a type come to by the clock, in its ticks
 * @soon: who takes no more is not late, wherever its time goes
 * @within: nor who takes less and stays on its CPU; some seconds' worth at most
 * @soon_ns: @soon in ns, or U64_MAX
 * @first: bucket of a unit-time histogram, halved, which is the first of the type's times
 * @request_first: the same of each part of requests that its units read
 * @request: no such request takes more; 0 of a part without a limit
 */
struct pguard_limit_ticks {
	u64 soon;
	u64 soon_ns;
	u32 within;
	u16 first;
	u32 request_first[REQUEST_NR_PARTS];
	struct request_parts request;
};

/**
 * struct pguard_loop - an event loop of a profile
 * @id: number of the loop: in its profile, or if it is audited in its image
 * @bit: its own among those of the profile
 * @has_empty: what lies between two waits without an event is no unit
 * @first_type: index in the profile of its first type
 * @nr_shed: of its contexts, those of guards that are shed; as that of the profile
 * @changed: pguard_clock() when a guard of them was last put off or on; the same
 * @has_event_calls: some of its wait sites are
 * @guards_jump: those of the profile do, where they can
 * @is_life: it has no wait; its units are the lives of threads, from a start site on
 * @table: its part of the profile's types, contexts and weights
 * @limits: of its types
 * @ticks: of its types, what follows from those
 * @widest: of each part the largest limit
 * @novel: of a unit that met a context that is not in @table
 * @interrupt_ns: how much longer a unit may be that was interrupted
 * @batch_ns: the same of one that is batched, see struct pguard_inference
 * @hit_slots: of its contexts
 * @cache: what was found out by it; replaced by a larger one under the target lock
 * @audit: what an audit counts of it; NULL in a profile that was loaded
 * @lost: about units that were not followed for lack of memory: any type is
 *	possible; in no verdict cache
 */
struct pguard_loop {
	u32 id;
	u32 bit;
	bool has_empty;
	bool has_event_calls;
	bool guards_jump;
	bool is_life;
	u32 first_type;
	u32 nr_shed;
	u64 changed;
	struct infer_table table;
	const struct pguard_limits *limits;
	const struct pguard_limit_ticks *ticks;
	struct pguard_limits widest;
	struct pguard_limits novel;
	u64 interrupt_ns;
	u64 batch_ns;
	struct pguard_hit_slots hit_slots;
	struct pguard_verdict_cache *cache;
	struct pguard_audit_sums __percpu *audit;
	struct pguard_cached_verdict lost;
};

/**
 * struct pguard_wait_site - a system call of an event loop, as its call path shows it
 * @loop: the loop
 * @inode: file with the code that the call returns to; NULL if @return_address is in memory
 * @return_address: where the call that leads to the system call returns to: an offset into
 *	the file, or a run-time address
 * @syscall: its number
 * @distance: from the stack pointer to the slot of the return address, bytes
 * @rise: from the stack pointer to the loop's frame; 0 if that is not known
 * @role: enum perfguard_boundary_role, of a call
 */
struct pguard_wait_site {
	struct pguard_loop *loop;
	const struct inode *inode;
	u64 return_address;
	u32 syscall;
	u32 distance;
	u32 rise;
	u32 role;
};

/* The wait sites of a profile, or of an audited image; they do not change. */
struct pguard_wait_sites {
	struct rcu_head rcu;
	refcount_t refs;
	u32 nr;
	struct pguard_wait_site site[];
};

/**
 * struct pguard_guard - a guard site
 * @site: as it was loaded
 * @state: enum perfguard_guard_state; the target lock for writing, READ_ONCE
 * @way: enum perfguard_step_mode; does not change while it is armed
 * @events: a bit for each loop of which it is an event site
 * @starts: the loop of which it is a start site, or NULL; an event site of that, too
 * @sheds: how often it was shed; the same
 * @sums: what each CPU counts
 * @share: what it took of the target's CPU time, in millionths; the same
 * @has_contexts: its hits may say something
 * @is_shared: the kernel steps what the module would carry out, for another user of the
 *	place; WRITE_ONCE with the target lock, READ_ONCE
 */
struct pguard_guard {
	struct perfguard_guard site;
	u32 state;
	u32 way;
	u32 events;
	u32 sheds;
	struct pguard_guard_sums __percpu *sums;
	u32 share;
	bool has_contexts;
	bool is_shared;
	struct pguard_loop *starts;
	/* private: the governor's */
	u32 rounds;
	u32 pause;
	unsigned long shed_at;
	u64 hits;
	u64 stepped;
	u64 noted;
};

/**
 * struct pguard_noted_guards - the guards of a profile of which some jump where they can
 * @first: what the hits of the first guard are noted as; the others follow
 * @keys: by guard: infer_key() of it, for a landing's stack pointer of 0 and a frame at 0
 * @jumps: by guard: its number among those of its file that can jump, or PGUARD_NO_JUMP
 */
struct pguard_noted_guards {
	u32 first;
	u64 *keys;
	u32 *jumps;
};

#define PGUARD_NO_JUMP	U32_MAX

/* Who carries out its instruction now: enum perfguard_step_mode. */
static inline u32 pguard_guard_step_mode(const struct pguard_guard *guard)
{
	return READ_ONCE(guard->is_shared) ? PERFGUARD_STEP_MODE_STEPPED : guard->way;
}

/**
 * struct pguard_profile - a loaded or armed profile
 * @list: of all profiles; pguard_control, like all that is not said otherwise,
 *	and pguard_profiles_lock
 * @id: never used again; 0 of an audit, which is in no list
 * @owner: number of the netlink socket that loads it; 0 once it is armed
 * @orphan: that socket is closed and the profile goes with it
 * @is_arming: an order arms it, and alone may change or drop it meanwhile
 * @staging: what is loaded, NULL once it is armed
 * @name: the user's, @hash too
 * @flags: enum perfguard_profile_flags
 * @target: it is armed for, or NULL; valid while it is armed; READ_ONCE
 * @nr_shed: guards that are shed; the target lock for writing, READ_ONCE
 * @degraded: by type, of the contexts that it is a candidate of, those of guards that
 *	are shed; the same
 * @sites: the wait sites of its loops; an audit has those of each image (image.h)
 * @least_limit: no unit is late before, of whatever type, ns; 0 if none ever is
 * @request_least: the smallest limit of a part of requests, ticks; 0 if no type has one
 * @request_most: the largest of each part, of the types that have limits
 * @noted: NULL if no guards jump
 * @probes: of its guards, those that are shed as well; NULL without; the target lock
 * @cpus: by CPU number, nr_cpu_ids of them
 * @times: @nr_times times those of each type, which the CPUs have in turn; NULL of an audit,
 *	or without memory
 * @left: hits of the CPU until its batch is complete
 * @refused_guard: the first that could not be probed, when arming failed by it
 * @refused_error: the errno, positive; 0 for none
 * @bytes: memory it takes, about; the target lock for writing, READ_ONCE
 *
 * The other @tables do not change once it is armed, and can be read by whoever holds a
 * reference or RCU.
 */
struct pguard_profile {
	struct list_head list;
	u64 owner;
	u32 id;
	bool orphan;
	bool is_arming;
	struct pguard_staging *staging;
	char *name;
	u64 hash;
	u32 flags;
	u32 nr_objects;
	u32 nr_loops;
	u32 nr_guards;
	u32 nr_types;
	u32 nr_contexts;
	u32 nr_weights;
	u32 nr_times;
	u32 nr_shed;
	u64 least_limit;
	u64 request_least;
	struct request_parts request_most;
	u64 armed_ns;
	struct pguard_target *target;
	struct pguard_object *objects;

	struct_group(tables,
		struct pguard_loop *loops;
		struct pguard_wait_sites *sites;
		struct pguard_guard *guards;
		struct infer_type *types;
		struct pguard_limits *limits; /* by type, as the next */
		struct pguard_limit_ticks *ticks;
		struct infer_context *contexts;
		struct infer_weight *weights;
		void *room; /* of the loops' tables and hit slots */
		u32 *degraded;
		struct pguard_profile_cpu *cpus;
		struct pguard_type_times *times;
		s32 __percpu *left;
		struct pguard_noted_guards *noted;
		size_t bytes;
	);
	struct pguard_probe *probes;
	u32 refused_guard;
	u32 refused_error;
	/* private: */
	/* Away from what every hit reads: the allowance is written by all CPUs. */
	struct pguard_budget_state budget ____cacheline_aligned_in_smp;
	struct kref kref;
	struct rcu_work work;
};

/* All profiles; see struct pguard_profile. */
extern struct list_head pguard_profiles;
extern spinlock_t pguard_profiles_lock;
/* Frees profiles, and images: what has to sleep, after a grace period. */
extern struct workqueue_struct *pguard_free_wq;

struct pguard_profile *pguard_profile_alloc(void);
struct pguard_profile *pguard_profile_new(const char *name, u64 owner);
struct pguard_profile *pguard_profile_find(u32 id);
struct pguard_profile *pguard_profile_get_armed(u32 id);
void pguard_profile_drop(struct pguard_profile *profile);
int pguard_profile_add_object(struct pguard_profile *profile, const struct file *file);
void *pguard_profile_room(size_t bytes);
struct pguard_wait_sites *pguard_wait_sites_new(u32 nr);
void pguard_wait_sites_put(struct pguard_wait_sites *sites);
int pguard_profile_make_noted(struct pguard_profile *profile, u32 first);
int pguard_profile_make_counters(struct pguard_profile *profile);
void pguard_profile_free_tables(struct pguard_profile *profile);

void pguard_sums_add(void *ret, const void *sums, size_t size);
void pguard_profile_sum(const struct pguard_profile *profile, struct pguard_profile_sums *ret);
void pguard_profile_sum_guard(const struct pguard_profile *profile, u32 guard,
			      struct pguard_guard_sums *ret);
void pguard_profile_sum_type(const struct pguard_profile *profile, u32 type,
			     struct pguard_type_sums *ret);

void pguard_profile_sum_times(const struct pguard_profile *profile, u32 type,
			      struct pguard_type_times *ret);

struct pguard_limit_ticks pguard_verdict_ticks(const struct pguard_limits *limits,
					       const struct request_parts *request_ns);
void pguard_verdict_limits(const struct pguard_loop *loop, const struct infer_state *state,
			   struct pguard_limits *ret);
void pguard_verdict_make(struct pguard_verdict *verdict, const struct pguard_loop *loop,
			 const struct infer_state *state);
void pguard_verdict_make_known(struct pguard_cached_verdict *known, const struct pguard_loop *loop,
			       const struct infer_state *state);
size_t pguard_verdict_make_first(struct pguard_loop *loop);
size_t pguard_verdict_grow(struct pguard_loop *loop);

struct pguard_profile *pguard_audit_new(struct pguard_target *target);
void pguard_audit_set_threshold(struct pguard_profile *audit, u64 threshold_ns);
int pguard_audit_loop_init(const struct pguard_profile *audit, struct pguard_loop *loop, u32 id);
void pguard_audit_sum(const struct pguard_loop *loop, struct pguard_audit_sums *ret);

/* From when on an audit's units are late, ns; 0 if they never are.  Context: any. */
static inline u64 pguard_audit_threshold(const struct pguard_profile *audit)
{
	return READ_ONCE(audit->types->threshold_ns);
}

/* Returns true if it is what a target without a profile goes by. */
static inline bool pguard_profile_is_audit(const struct pguard_profile *profile)
{
	return !profile->id;
}

/* Returns true if its target goes by it now, or it is an audit.  If not, its guards are going. */
static __always_inline bool pguard_profile_is_armed(const struct pguard_profile *profile)
{
	return READ_ONCE(profile->target);
}

/* Any context: what has to sleep is left to a work. */
void pguard_profile_put(struct pguard_profile *profile);
void pguard_profile_flush(void);

/* The counters of this CPU.  Preemption is off. */
static __always_inline struct pguard_profile_cpu *
pguard_profile_this_cpu(const struct pguard_profile *profile)
{
	return &profile->cpus[smp_processor_id()];
}

int pguard_profile_init(void);
void pguard_profile_deinit(void);

#endif /* _KMOD_PROFILE_PROFILE_H */
