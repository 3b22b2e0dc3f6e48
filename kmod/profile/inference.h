/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a thread's unit is, as far as its guards have shown.
 *
 * Made when the thread comes to the own wait of a profile's event loop for the
 * first time, and made again when it changes to another loop or profile.  Only
 * the thread itself writes it; others read it in an RCU section, and what they
 * find may be of two moments.
 */
#ifndef _KMOD_PROFILE_INFERENCE_H
#define _KMOD_PROFILE_INFERENCE_H

#include "lib/account.h"
#include "lib/noted-hit.h"
#include "profile/finding.h"
#include "profile/profile.h"

#include <linux/init.h>

enum { PGUARD_UNKNOWN_KEPT = 4 };

/* A hit in a context that the profile does not know. */
struct pguard_unknown {
	u32 guard;
	u32 depth;
};

/**
 * struct pguard_uncached_scores - what only units need that leave the verdict cache
 * @verdict: by @state
 * @state: of infer.h; means nothing if @verdict is not the unit's
 */
struct pguard_uncached_scores {
	struct pguard_verdict verdict;
	struct infer_state state;
};

/**
 * struct pguard_inference - of one thread in one event loop
 * @profile: referenced
 * @loop: the loop; in the profile, or if that is an audit in the thread's image
 * @cache: of the loop, when the unit began
 * @verdict: what it met so far says of it: in the verdict cache; or that of @own, where the
 *	verdict cache has none and could take none; or that of the loop where there is no @own
 * @checks: ticks of pguard_clock() that guards took in this unit
 * @frame: stack pointer of the loop's frame, 0 if not known; the thread's alone
 * @own: made when a unit needs it first, or NULL
 * @unknown: the first ones of @nr_unknown; the same
 * @nr_unknown: hits in contexts that the profile does not know, in this unit
 * @is_marked: an event of this unit was met
 * @judged: the verdict by which a guard last asked whether it is late; NULL if none did
 * @quiet: until it has run for so many ticks they need not ask again, by that verdict
 * @is_quiet: it is late, but must not be reported now
 * @is_batched: the wait before it returned several events, and its own is not the first
 * @has_event: there is an @event
 * @hits: by hit slot of the context; only of those met in this unit
 * @event: one, if the loop has event calls: counters when the one began that the
 *	thread is in, if it is not the first of its unit
 */
struct pguard_inference {
	struct pguard_profile *profile;
	struct pguard_loop *loop;
	struct pguard_verdict_cache *cache;
	const struct pguard_verdict *verdict;
	u64 checks;
	const struct pguard_verdict *judged;
	u64 quiet;
	union {
		u64 frame;
		struct rcu_head rcu;
	};
	struct pguard_uncached_scores *own;
	struct pguard_unknown *unknown;
	/* What each unit begins with as 0, in one store. */
	struct_group(begins,
		u32 nr_unknown;
		bool is_marked;
		bool is_quiet;
		bool is_batched;
		u8 unused;
	);
	bool has_event;
	u8 hits[PGUARD_NR_HIT_SLOTS];
	struct pguard_mark event[];
};

/* What a hit asks for. */
enum pguard_meeting {
	PGUARD_MEETING_DONE,
	PGUARD_MEETING_CROWDED, /* the loop is to get a larger verdict cache: pguard_governor */
	PGUARD_MEETING_LOST,	/* the unit is not followed for lack of memory */
};

struct pguard_inference *pguard_inference_new(struct pguard_profile *profile,
					      struct pguard_loop *loop, gfp_t gfp);
void pguard_inference_free(struct pguard_inference *inference);

/* A unit begins. */
static __always_inline void pguard_inference_begin(struct pguard_inference *inference)
{
	/* Pairs with pguard_verdict_grow(). */
	inference->cache = READ_ONCE(inference->loop->cache);
	WRITE_ONCE(inference->verdict, pguard_verdict_cache_begin(inference->cache));
	inference->checks = 0;
	memset(&inference->begins, 0, sizeof(inference->begins));
	inference->judged = NULL;
}

/* How much longer than its type's limits the unit may be in what has its CPU time in it, ns. */
static inline u64 pguard_inference_added_ns(const struct pguard_inference *inference,
					    const struct pguard_account *account)
{
	const struct pguard_loop *loop = inference->loop;

	return (account->interrupted ? loop->interrupt_ns : 0) +
	       (READ_ONCE(inference->is_batched) ? loop->batch_ns : 0);
}

enum pguard_meeting pguard_inference_meet(struct pguard_inference *inference,
					  const struct infer_slot *slot);
void pguard_inference_meet_unknown(struct pguard_inference *inference, u32 guard, u32 depth);

/* The unit hit a guard in a context that it met, once more. */
static __always_inline void pguard_inference_meet_again(struct pguard_inference *inference,
							u32 hit_slot)
{
	u8 *hits = &inference->hits[hit_slot];

	if (likely(*hits < U8_MAX))
		++*hits;
}

/* The unit hit a guard, and its verdict cache knows what that means. */
static __always_inline void pguard_inference_follow(struct pguard_inference *inference,
						    const struct pguard_transition *transition)
{
	const struct pguard_verdict *to = pguard_verdict_cache_at(inference->cache, transition);

	if (to == inference->verdict) {
		pguard_inference_meet_again(inference, transition->hit_slot);
		return;
	}
	inference->hits[transition->hit_slot] = 1;
	/* The thread may have made it just now; pairs with pguard_inference_judge(). */
	smp_store_release(&inference->verdict, to);
}

/*
 * Returns true if a unit that ended, and began at @start, only lacks hits, possibly because
 * guards of its type are shed, or were when it began.
 */
static __always_inline bool
pguard_inference_is_excused(const struct pguard_inference *inference, u64 start)
{
	const struct pguard_verdict *verdict = inference->verdict;

	if (verdict->fit != INFER_FIT_SHORT)
		return false;
	/* Pairs with pguard_shed_restore(): if none is any more, it is known since when. */
	return smp_load_acquire(&inference->profile->degraded[verdict->type]) ||
	       start <= READ_ONCE(inference->loop->changed);
}

/*
 * Returns true if a unit that has ended on the fast path, so of some type, after @elapsed ns is
 * in time, wherever its time went; if not, nothing is known.
 */
static __always_inline bool pguard_inference_is_soon(const struct pguard_inference *inference,
						     u64 elapsed)
{
	return elapsed <= READ_ONCE(inference->loop->ticks[inference->verdict->final].soon_ns);
}

/**
 * pguard_inference_noted_key() - the context of a hit that a landing has noted
 * @inference: of any thread; in an RCU section if it is another's
 * @hit: it; the program may write to it meanwhile
 * @key: set to it, as infer_key(); may be no context's
 *
 * Context: any.
 * Return: false if it is of no guard of the profile.
 */
static __always_inline bool
pguard_inference_noted_key(const struct pguard_inference *inference,
			   const struct pguard_noted_hit *hit, u64 *key)
{
	const struct pguard_profile *profile = inference->profile;
	u32 guard = READ_ONCE(hit->what) - profile->noted->first;

	if (unlikely(guard >= profile->nr_guards))
		return false;
	*key = profile->noted->keys[guard] + READ_ONCE(inference->frame) - READ_ONCE(hit->sp);
	return *key >> 32 == guard;
}

u64 pguard_inference_soon(const struct pguard_inference *inference,
			  const struct pguard_verdict *verdict);
void pguard_inference_judge(const struct pguard_inference *inference,
			    const struct pguard_verdict *verdict,
			    const struct pguard_account *account, struct pguard_finding *ret);
bool pguard_inference_judge_end(const struct pguard_inference *inference,
				const struct pguard_account *account, struct pguard_finding *ret);
bool pguard_inference_is_novel(const struct pguard_inference *inference, u64 start);
u32 pguard_inference_margin(const struct pguard_inference *inference,
			    const struct pguard_verdict *verdict, bool is_final);
u32 pguard_inference_met(const struct pguard_inference *inference,
			 const struct pguard_verdict *verdict, struct perfguard_met *ret, u32 room);
u32 pguard_inference_type_id(const struct pguard_inference *inference, u16 type);

int pguard_inference_init(void);
void pguard_inference_deinit(void);

#endif /* _KMOD_PROFILE_INFERENCE_H */
