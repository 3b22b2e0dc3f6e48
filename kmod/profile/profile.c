// SPDX-License-Identifier: GPL-2.0

#include "profile/profile.h"

#include "profile/staging.h"

#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <linux/vmalloc.h>

LIST_HEAD(pguard_profiles);
DEFINE_SPINLOCK(pguard_profiles_lock);

struct workqueue_struct *pguard_free_wq;
static u32 next_profile_id = 1;		/* pguard_control */

/* A profile in no list, with one reference; or NULL. */
struct pguard_profile *pguard_profile_alloc(void)
{
	struct pguard_profile *profile = kzalloc(sizeof(*profile), GFP_KERNEL | __GFP_NOWARN);

	if (!profile)
		return NULL;
	kref_init(&profile->kref);
	INIT_LIST_HEAD(&profile->list);
	return profile;
}

/**
 * pguard_profile_new() - begin to load a profile
 * @name: the user's, is copied
 * @owner: number of the socket that does it
 *
 * Context: may sleep; pguard_control held.
 * Return: the profile with an empty staging, held by the list, until
 * pguard_profile_drop(); or ERR_PTR().
 */
struct pguard_profile *pguard_profile_new(const char *name, u64 owner)
{
	struct pguard_profile *profile;
	u32 nr = 0;

	list_for_each_entry(profile, &pguard_profiles, list)
		nr++;
	if (nr >= PGUARD_MAX_PROFILES)
		return ERR_PTR(-ENOSPC);
	profile = pguard_profile_alloc();
	if (!profile)
		return ERR_PTR(-ENOMEM);
	profile->name = kstrdup(name, GFP_KERNEL | __GFP_NOWARN);
	profile->staging = kzalloc(sizeof(*profile->staging), GFP_KERNEL);
	if (!profile->name || !profile->staging) {
		pguard_profile_put(profile);
		return ERR_PTR(-ENOMEM);
	}
	profile->id = next_profile_id++;
	profile->owner = owner;
	spin_lock(&pguard_profiles_lock);
	list_add_tail(&profile->list, &pguard_profiles);
	spin_unlock(&pguard_profiles_lock);
	return profile;
}

/* The profile with this id, or NULL.  Context: pguard_control held. */
struct pguard_profile *pguard_profile_find(u32 id)
{
	struct pguard_profile *profile;

	list_for_each_entry(profile, &pguard_profiles, list)
		if (profile->id == id)
			return profile;
	return NULL;
}

/**
 * pguard_profile_get_armed() - reference an armed profile
 * @id: of it
 *
 * Context: any.
 * Return: the profile, to be given back by pguard_profile_put(); or NULL.
 */
struct pguard_profile *pguard_profile_get_armed(u32 id)
{
	struct pguard_profile *profile, *ret = NULL;

	spin_lock(&pguard_profiles_lock);
	list_for_each_entry(profile, &pguard_profiles, list)
		/* Pairs with publish(): its tables are there. */
		if (profile->id == id && smp_load_acquire(&profile->target))
			ret = profile;
	if (ret)
		kref_get(&ret->kref);
	spin_unlock(&pguard_profiles_lock);
	return ret;
}

/* Take a profile out of the list, which gives its reference back.  Context: pguard_control. */
void pguard_profile_drop(struct pguard_profile *profile)
{
	spin_lock(&pguard_profiles_lock);
	list_del_init(&profile->list);
	spin_unlock(&pguard_profiles_lock);
	WRITE_ONCE(profile->target, NULL);
	pguard_profile_put(profile);
}

/**
 * pguard_profile_add_object() - a file becomes the next object
 *
 * Context: pguard_control held.
 * Return: 0; -ENOSPC if there are too many; -EEXIST if it is one already; -ENOMEM.
 */
int pguard_profile_add_object(struct pguard_profile *profile, const struct file *file)
{
	struct inode *inode = d_real_inode(file->f_path.dentry);
	struct pguard_object *object;
	size_t size;
	u32 i;

	if (profile->nr_objects >= PGUARD_MAX_OBJECTS)
		return -ENOSPC;
	for (i = 0; i < profile->nr_objects; i++)
		if (profile->objects[i].inode == inode)
			return -EEXIST;
	size = (profile->nr_objects + 1) * sizeof(*object);
	object = krealloc(profile->objects, size, GFP_KERNEL | __GFP_NOWARN);
	if (!object)
		return -ENOMEM;
	profile->objects = object;
	object += profile->nr_objects++;
	object->path = file->f_path;
	path_get(&object->path);
	object->inode = inode;
	return 0;
}

/**
 * pguard_profile_room() - zeroed memory for a table
 * @bytes: that it takes
 *
 * A large one is of whole pages, not of a power of two of them.
 *
 * Context: may sleep.
 * Return: the memory, at a multiple of a cache line, to be given to kvfree(); or NULL.
 */
void *pguard_profile_room(size_t bytes)
{
	if (bytes > PAGE_SIZE)
		return __vmalloc(bytes, GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN);
	return kzalloc(roundup_pow_of_two(max_t(size_t, bytes, SMP_CACHE_BYTES)),
		       GFP_KERNEL | __GFP_NOWARN);
}

/**
 * pguard_wait_sites_new() - room for wait sites
 * @nr: how many there may be
 *
 * Context: may sleep.
 * Return: none yet, with a reference for the caller; or NULL.
 */
struct pguard_wait_sites *pguard_wait_sites_new(u32 nr)
{
	struct pguard_wait_sites *sites;

	sites = kvzalloc(struct_size(sites, site, nr), GFP_KERNEL | __GFP_NOWARN);
	if (sites)
		refcount_set(&sites->refs, 1);
	return sites;
}

/* Context: any; freed after a grace period; @sites may be NULL. */
void pguard_wait_sites_put(struct pguard_wait_sites *sites)
{
	if (sites && refcount_dec_and_test(&sites->refs))
		kvfree_rcu(sites, rcu);
}

/* All types' times of as many CPUs as this is room for, bytes, and of one in any case. */
enum { MAX_TIMES = 8 * 1024 * 1024 };

/*
 * Make what counts how long the units of the types are.  Without memory they are not counted:
 * it serves to learn better limits, and nothing depends on it.
 */
static void make_times(struct pguard_profile *profile)
{
	size_t size = profile->nr_types * sizeof(struct pguard_type_times);
	int cpu;

	profile->nr_times = clamp_t(size_t, MAX_TIMES / size, 1, nr_cpu_ids);
	profile->times = kvcalloc(profile->nr_times, size, GFP_KERNEL | __GFP_NOWARN);
	if (!profile->times)
		return;
	profile->bytes += profile->nr_times * size;
	for_each_possible_cpu(cpu)
		profile->cpus[cpu].times =
			&profile->times[cpu % profile->nr_times * profile->nr_types];
}

/**
 * pguard_profile_make_counters() - make the counters of all CPUs
 *
 * A guard's are a piece of their own, as the kernel's per-CPU allocator gives no
 * more than 32 KiB; types have plain arrays.
 *
 * Context: may sleep; the guards and types are there.
 * Return: 0 or -ENOMEM; what is there then goes by pguard_profile_free_tables().
 */
int pguard_profile_make_counters(struct pguard_profile *profile)
{
	size_t types = profile->nr_types * sizeof(struct pguard_type_sums);
	struct pguard_profile_cpu *sums;
	struct pguard_guard *guard;
	int cpu;

	for (guard = profile->guards; guard < profile->guards + profile->nr_guards; guard++) {
		guard->sums = alloc_percpu_gfp(struct pguard_guard_sums,
					       GFP_KERNEL | __GFP_NOWARN);
		if (!guard->sums)
			return -ENOMEM;
		profile->bytes += num_possible_cpus() * sizeof(*guard->sums);
		cond_resched();
	}
	profile->left = alloc_percpu_gfp(s32, GFP_KERNEL | __GFP_NOWARN);
	profile->cpus = kvcalloc(nr_cpu_ids, sizeof(*profile->cpus), GFP_KERNEL | __GFP_NOWARN);
	profile->degraded = kvcalloc(profile->nr_types, sizeof(*profile->degraded),
				    GFP_KERNEL | __GFP_NOWARN);
	if (!profile->left || !profile->cpus || !profile->degraded)
		return -ENOMEM;
	profile->bytes += nr_cpu_ids * sizeof(*profile->cpus) +
			  profile->nr_types * sizeof(*profile->degraded);
	for_each_possible_cpu(cpu) {
		sums = &profile->cpus[cpu];
		sums->types = kvzalloc_node(types, GFP_KERNEL | __GFP_NOWARN, cpu_to_node(cpu));
		if (!sums->types)
			return -ENOMEM;
		profile->bytes += types;
	}
	if (!pguard_profile_is_audit(profile) && profile->nr_types)
		make_times(profile);
	return 0;
}

/**
 * pguard_profile_make_noted() - some guards of a profile that is not armed yet are to jump
 * @profile: with its counters
 * @first: what the hits of the first guard are noted as
 *
 * Context: may sleep.
 * Return: 0, and profile->noted has none that jumps; -ENOMEM, and what is there goes with the tables.
 */
int pguard_profile_make_noted(struct pguard_profile *profile, u32 first)
{
	u32 nr = profile->nr_guards;
	int cpu;

	profile->noted = kzalloc(sizeof(*profile->noted), GFP_KERNEL);
	if (!profile->noted)
		return -ENOMEM;
	profile->noted->first = first;
	profile->noted->keys = pguard_profile_room(nr * sizeof(u64));
	profile->noted->jumps = pguard_profile_room(nr * sizeof(u32));
	if (!profile->noted->keys || !profile->noted->jumps)
		return -ENOMEM;
	memset(profile->noted->jumps, 0xff, nr * sizeof(u32));
	for_each_possible_cpu(cpu) {
		profile->cpus[cpu].noted = pguard_profile_room(nr * sizeof(u64));
		if (!profile->cpus[cpu].noted)
			return -ENOMEM;
		profile->bytes += nr * sizeof(u64);
	}
	return 0;
}

/* Free what pguard_tables_make() made.  Context: may sleep; nobody uses them. */
void pguard_profile_free_tables(struct pguard_profile *profile)
{
	struct pguard_verdict_cache *cache;
	u32 i;
	int cpu;

	if (profile->cpus)
		for_each_possible_cpu(cpu) {
			kvfree(profile->cpus[cpu].types);
			kvfree(profile->cpus[cpu].noted);
		}
	if (profile->guards)
		for (i = 0; i < profile->nr_guards; i++)
			free_percpu(profile->guards[i].sums);
	for (i = 0; profile->loops && i < profile->nr_loops; i++) {
		while ((cache = profile->loops[i].cache)) {
			profile->loops[i].cache = cache->older;
			kvfree(cache);
		}
	}
	free_percpu(profile->left);
	kvfree(profile->degraded);
	kvfree(profile->cpus);
	kvfree(profile->times);
	kvfree(profile->loops);
	pguard_wait_sites_put(profile->sites);
	kvfree(profile->guards);
	if (profile->noted) {
		kvfree(profile->noted->keys);
		kvfree(profile->noted->jumps);
	}
	kfree(profile->noted);
	kvfree(profile->types);
	kvfree(profile->limits);
	kvfree(profile->ticks);
	kvfree(profile->contexts);
	kvfree(profile->weights);
	kvfree(profile->room);
	memset(&profile->tables, 0, sizeof(profile->tables));
}

/* Add @size bytes of what one CPU counts, all of them words.  Context: any. */
void pguard_sums_add(void *ret, const void *sums, size_t size)
{
	const u64 *from = sums;
	u64 *to = ret;
	size_t i;

	for (i = 0; i < size / sizeof(*to); i++)
		to[i] += READ_ONCE(from[i]);
}

/* What all CPUs counted.  Context: any; the caller holds an armed profile, also in the next two. */
void pguard_profile_sum(const struct pguard_profile *profile, struct pguard_profile_sums *ret)
{
	int cpu;

	memset(ret, 0, sizeof(*ret));
	for_each_possible_cpu(cpu)
		pguard_sums_add(ret, &profile->cpus[cpu].sums, sizeof(*ret));
}

void pguard_profile_sum_guard(const struct pguard_profile *profile, u32 guard,
			      struct pguard_guard_sums *ret)
{
	int cpu;

	memset(ret, 0, sizeof(*ret));
	for_each_possible_cpu(cpu)
		pguard_sums_add(ret, per_cpu_ptr(profile->guards[guard].sums, cpu), sizeof(*ret));
	if (profile->guards[guard].way == PERFGUARD_STEP_MODE_STEPPED)
		ret->stepped = ret->hits;
	if (!profile->noted)
		return;
	for_each_possible_cpu(cpu)
		ret->noted += READ_ONCE(profile->cpus[cpu].noted[guard]);
	ret->hits += ret->noted;
}

void pguard_profile_sum_type(const struct pguard_profile *profile, u32 type,
			     struct pguard_type_sums *ret)
{
	int cpu;

	memset(ret, 0, sizeof(*ret));
	for_each_possible_cpu(cpu)
		pguard_sums_add(ret, &profile->cpus[cpu].types[type], sizeof(*ret));
}

/* The same of how long its units were; 0 if that is not counted. */
void pguard_profile_sum_times(const struct pguard_profile *profile, u32 type,
			      struct pguard_type_times *ret)
{
	const u32 *from;
	u32 *to, i, j;

	memset(ret, 0, sizeof(*ret));
	for (i = 0; profile->times && i < profile->nr_times; i++) {
		from = profile->times[i * profile->nr_types + type].nr[0];
		to = ret->nr[0];
		for (j = 0; j < sizeof(*ret) / sizeof(*to); j++)
			to[j] += READ_ONCE(from[j]);
	}
}

static void profile_free(struct work_struct *work)
{
	struct pguard_profile *profile =
		container_of(to_rcu_work(work), struct pguard_profile, work);

	while (profile->nr_objects)
		path_put(&profile->objects[--profile->nr_objects].path);
	pguard_profile_free_tables(profile);
	pguard_staging_free(profile->staging);
	kfree(profile->objects);
	kfree(profile->name);
	kfree(profile);
}

static void profile_release(struct kref *kref)
{
	struct pguard_profile *profile = container_of(kref, struct pguard_profile, kref);

	/* Who found it by RCU may still look at it. */
	INIT_RCU_WORK(&profile->work, profile_free);
	queue_rcu_work(pguard_free_wq, &profile->work);
}

/* Give a reference back.  Context: any: what has to sleep is left to a work. */
void pguard_profile_put(struct pguard_profile *profile)
{
	kref_put(&profile->kref, profile_release);
}

/**
 * pguard_profile_flush() - wait until the profiles and images that nobody holds are gone
 *
 * With them, their files can be unmounted.
 *
 * Context: may sleep.
 */
void pguard_profile_flush(void)
{
	rcu_barrier();
	flush_workqueue(pguard_free_wq);
}

int __init pguard_profile_init(void)
{
	pguard_free_wq = alloc_workqueue("perfguard_free", WQ_PERCPU, 0);
	return pguard_free_wq ? 0 : -ENOMEM;
}

/* No profile and no image is left but works on their way. */
void pguard_profile_deinit(void)
{
	/* An image gives an audit back. */
	pguard_profile_flush();
	pguard_profile_flush();
	destroy_workqueue(pguard_free_wq);
}
