/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What training saw of a program: the raw material of a profile.
 *
 * It is independent of where the program was loaded, and mergeable: joining
 * the samples of two runs is commutative and associative, for all counts are
 * sums and what is bounded is a bottom-k sample by hash.  Everything else in a
 * profile (types, guards, thresholds) is derived from it by a pure function.
 *
 * Plain data; indices refer to the arrays of the same struct samples.
 */
#ifndef _USER_DATA_SAMPLES_H
#define _USER_DATA_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/perfguard.h>
#include <perfguard/request-part.h>

enum {
	/* Of the unit variants of a loop, those with the smallest hashes stay. */
	SAMPLES_MAX_UNITS = 20000,
	/* Of its trees likewise, and those of the variants. */
	SAMPLES_MAX_TREES = 20000,
	/* The largest times of a sketch are kept exactly. */
	SAMPLES_NR_LARGEST = 64,
	SAMPLES_NONE = UINT32_MAX,
};

/* A file with code: the program itself is the first one. */
struct samples_object {
	char *path;
	char *build_id; /* lower-case hex; "" if the file has none */
	uint8_t *code; /* its fingerprints, packed (fingerprint.h); NULL: none are kept */
	uint32_t code_size; /* bytes */
};

/* What a guard of a function costs: flags. */
enum samples_cost {
	SAMPLES_COST_CHEAP = 0, /* a breakpoint at its site, which is not single-stepped */
	SAMPLES_COST_STEPPED = 1 << 0, /* it is */
	SAMPLES_COST_WINDOW = 1 << 1, /* there is room for a jump, see window-site.h */
	SAMPLES_COST_ALL = SAMPLES_COST_STEPPED | SAMPLES_COST_WINDOW,
};

struct samples_function {
	uint32_t object;
	uint64_t offset; /* in the file, of the first byte */
	uint32_t size; /* bytes */
	uint64_t site; /* in the file, where a guard would be */
	uint32_t sp_delta; /* SP at entry less SP at the site, bytes */
	uint32_t cost; /* enum samples_cost; whether there is a window is known if hits were recorded by jumps */
	char *name; /* NULL if the file has none for it */
};

enum samples_role {
	/* The loop's own wait: its entry ends a unit, its return begins one. */
	SAMPLES_ROLE_WAIT,
	/*
	 * A system call that each event begins with.  A second one without a
	 * wait in between ends a unit and begins the next, at its entry, if it
	 * does not fail.
	 */
	SAMPLES_ROLE_EVENT_CALL,
	/* The same by a probe at a function's site. */
	SAMPLES_ROLE_EVENT_SITE,
	/*
	 * By a probe, too: threads start with this function, and each does one unit, which
	 * is its life.  Of a loop that has no wait.
	 */
	SAMPLES_ROLE_START_SITE,
};

struct samples_boundary {
	enum samples_role role;
	uint32_t syscall; /* not at a site */
	uint32_t object; /* of the return address */
	uint64_t return_offset; /* in the file, of the return address */
	uint32_t distance; /* from SP at the call to the slot that holds it */
	uint32_t rise; /* WAIT: SP of the loop frame less SP at the call; 0: not known */
	uint32_t function; /* EVENT_SITE and START_SITE only */
};

/* It is a probe at a function's site, and no system call. */
static inline bool samples_is_site(const struct samples_boundary *boundary)
{
	return boundary->role == SAMPLES_ROLE_EVENT_SITE ||
	       boundary->role == SAMPLES_ROLE_START_SITE;
}

/* By this a loop has units, whatever events it has. */
static inline bool samples_begins_units(const struct samples_boundary *boundary)
{
	return boundary->role == SAMPLES_ROLE_WAIT || boundary->role == SAMPLES_ROLE_START_SITE;
}

/* An event loop: what its threads do is cut at its boundaries. */
struct samples_loop {
	uint64_t hash; /* of its first wait or start; distinguishes loops of two runs */
	uint32_t nr_boundaries;
	struct samples_boundary *boundaries;
	uint32_t function; /* that owns the loop; SAMPLES_NONE if not known */
	/*
	 * What lies between two waits without an event is no unit: it only
	 * brings the rest of what the first wait began to bring.
	 */
	bool has_empty;
	char comm[16]; /* of a thread that runs it */
	uint64_t units;
	uint64_t cut_off; /* units without an end, or with lost events: in no sum */
	uint64_t foreign_stack; /* hits with SP outside of the thread's stack */
	/* Events that no boundary parts from the one before: both are one unit.  0 if few. */
	uint64_t unmarked;
};

/* A call path as a node of a trie; node 0 is the loop and has no function. */
struct samples_node {
	uint32_t parent; /* always a smaller index */
	uint32_t function;
};

/* A distinct call tree: the set of its paths, as the nodes they end in. */
struct samples_tree {
	uint64_t hash; /* of the functions' build ids and offsets */
	uint32_t loop;
	uint32_t nr_leaves;
	uint32_t *leaves; /* nodes, rising */
	uint64_t units[2]; /* learnt from, and held back; see samples_half() */
};

struct samples_hit {
	uint32_t function;
	uint32_t depth; /* SP of the loop frame less SP at entry, bytes */
	uint16_t count; /* in the unit, saturating */
	uint8_t quarter; /* of the unit's events, in which it was first, 0 to 3 */
};

/* A variant of unit: units with equal hits in a tree count together. */
struct samples_unit {
	uint64_t hash;
	uint32_t tree;
	uint32_t nr_hits;
	struct samples_hit *hits; /* in the order in which they were first */
	uint64_t units[2]; /* as above */
	uint64_t least_ns; /* that one of them took, with every call traced; 0: not known */
};

/* How long units took; mergeable in any order, so its sums are integers that saturate. */
struct samples_times {
	uint64_t nr;
	uint64_t sum_ns;
	unsigned __int128 sum_squares; /* ns^2 */
	uint64_t hist[PERFGUARD_HIST_BUCKETS]; /* as the netlink spec has it */
	uint32_t nr_largest;
	uint64_t largest_ns[SAMPLES_NR_LARGEST]; /* falling */
};

/* Of a unit's time, as enum perfguard_part of the netlink spec has them. */
enum samples_part {
	SAMPLES_OWN, /* all but the run queue */
	SAMPLES_CPU,
	SAMPLES_BLOCKED,
	SAMPLES_BLOCK_IO,
	SAMPLES_NR_PARTS,
};

/* What adds to the time of some units, whatever their type (find-added.h). */
enum samples_cause {
	SAMPLES_INTERRUPT, /* the CPU had one meanwhile, or the unit changed its CPU */
	SAMPLES_BATCH, /* the wait returned several events, of which this is not the first */
	SAMPLES_NR_CAUSES,
};

/*
 * How long each part of the units' time was.  What is not known of a unit, because its
 * account was not kept, is in none but SAMPLES_OWN.
 */
struct samples_parts {
	struct samples_times of[SAMPLES_NR_PARTS];
	uint64_t added_ns[SAMPLES_NR_CAUSES]; /* was taken off those with the cause */
	/*
	 * The same of each part of requests that such units have read, until their last answer,
	 * by enum perfguard_request_part, less 1.
	 */
	struct samples_times requests[REQUEST_NR_PARTS];
};

/* The guards that were on in a timing run. */
struct samples_guards {
	uint64_t hash;
	uint32_t nr;
	uint32_t *functions; /* rising */
};

/* Units of a timing run that met the same contexts took this long. */
struct samples_timing {
	uint64_t hash; /* of guards, loop and hits */
	uint32_t guards;
	uint32_t loop;
	uint32_t nr_hits;
	bool is_carried; /* it is of another build, and no unit of this one confirms it */
	struct samples_hit *hits; /* quarter and count are not used */
	uint64_t nr_contexts_hit; /* sum over the units: all hits, repeated ones too */
	struct samples_parts times[2]; /* learnt from, and held back */
};

/*
 * A limit of all of the time of a unit, by the clock, that people have set: a service-level
 * objective.  It is of a call tree, which later runs may put to another type.
 */
struct samples_objective {
	uint64_t tree; /* hash; 0: of all types */
	uint64_t limit_ns;
};

struct samples {
	struct samples_object *objects;
	struct samples_function *functions;
	struct samples_loop *loops;
	struct samples_node *nodes;
	struct samples_tree *trees;
	struct samples_unit *units;
	struct samples_guards *guards;
	struct samples_timing *timings;
	struct samples_objective *objectives; /* by tree, rising */
	uint32_t nr_objects;
	uint32_t nr_functions;
	uint32_t nr_loops;
	uint32_t nr_nodes; /* with node 0 */
	uint32_t nr_trees;
	uint32_t nr_units;
	uint32_t nr_guards;
	uint32_t nr_timings;
	uint32_t nr_objectives;
	uint64_t runs; /* training runs that were joined */
	uint64_t lost; /* events for which there was no room */
};

/*
 * The sum of counts, which stays at the largest value instead of beginning
 * again: in whatever order such a sum is made, the result is the same.
 */
static inline uint64_t sum_saturating(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* The lesser of two times, either of which may be 0: not known. */
static inline uint64_t least_time(uint64_t a, uint64_t b)
{
	return a - 1 < b - 1 ? a : b;
}

/*
 * Returns 0 if unit @index of the @nr of a loop in a run, in the order of time, is
 * learnt from, 1 if it is held back.  Every second of 64 intervals is held back, so that
 * both halves see all that a load does that changes with time.
 */
static inline unsigned int samples_half(uint64_t index, uint64_t nr)
{
	return nr ? (unsigned int)(index * 64 / nr) % 2 : 0;
}

/*
 * Add copies of these objects and functions; those of empty samples keep their
 * numbers.  Returns 0, -E2BIG or -ENOMEM; samples_deinit() frees what was copied.
 */
int samples_copy_code(struct samples *samples, const struct samples_object *objects,
		      uint32_t nr_objects, const struct samples_function *functions,
		      uint32_t nr_functions);

void samples_free_code(struct samples_object *objects, uint32_t nr_objects,
		       struct samples_function *functions, uint32_t nr_functions);

/* By build ID, and by path where there is none; as strcmp(). */
int samples_compare_objects(const struct samples_object *a, const struct samples_object *b);

/* They are the same place in the code, whatever is known of the rise. */
bool samples_is_same_boundary(const struct samples_boundary *a, const struct samples_boundary *b);

/* Add a boundary that the loop does not have yet.  Returns 0 or -ENOMEM. */
int samples_add_boundary(struct samples_loop *loop, const struct samples_boundary *boundary);

/* The objective's limit of the tree with this hash, 0 of all types; 0 if there is none. */
uint64_t samples_objective(const struct samples *samples, uint64_t tree);

/*
 * Set the objective of the tree with this hash, 0 of all types, in place of the one that is
 * there; no limit (0) takes it off.  Returns 0 or -ENOMEM.
 */
int samples_set_objective(struct samples *samples, uint64_t tree, uint64_t limit_ns);

/* Each is of a function of the samples, and in a quarter. */
bool samples_are_hits(const struct samples *samples, const struct samples_hit *hits, uint32_t nr);

/* Each number is larger than the one before, and all are below @end. */
bool samples_are_rising(const uint32_t *numbers, uint32_t nr, uint32_t end);

/* No index in trees, units, guard sets and timings leads out of range; guard sets rise. */
bool samples_are_sound(const struct samples *samples);

/*
 * Hashes of what samples hold: 64 bits, made of build ids, file offsets and
 * counts alone, so that the same thing has the same hash in each run, on each
 * machine, at whatever index and load address.  They order things and find
 * them; whether two are the same is decided by what they are made of.
 */

/* Of the build id; of the path, where there is none. */
uint64_t samples_hash_object(const struct samples_object *object);

/*
 * Set the hash of every loop, tree, unit, guard set and timing of @samples,
 * whose indices must be in range.  A loop's is the smallest of its waits'; a
 * tree's and a guard set's do not depend on the order of their members, a
 * timing's not on counts and quarters.  Returns 0 or -ENOMEM.
 */
int samples_hash_all(struct samples *samples);

/* Free all it holds. */
void samples_deinit(struct samples *samples);

#endif /* _USER_DATA_SAMPLES_H */
