// SPDX-License-Identifier: GPL-2.0

#include "probes.h"

#include "code.h"
#include "compat.h"
#include "image.h"
#include "probe.h"
#include "profile.h"

#include <linux/file.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/netlink.h>
#include <linux/path.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

/**
 * struct batch - probes that were ordered together
 * @list: in target.probes; pguard_control
 * @profile: whose guards they are, in its order, referenced; else NULL, and
 * @path: keeps the file
 * @nr: how many they are
 */
struct batch {
	struct list_head list;
	struct pguard_profile *profile;
	struct path path;
	u32 nr;
	struct pguard_probe probes[];
};

/* Of all targets; pguard_control. */
static u32 nr_probes;

/*
 * Put the next probe of a batch on at site @i of @wish, which is in @code too,
 * or an error.  An instruction that cannot be read is stepped; and one that is
 * hit once, or seldom more, may be.
 */
static int site_add(struct batch *batch, struct pguard_target *target,
		    const struct pguard_probes_wish *wish, u32 i, struct file *code)
{
	struct pguard_probe *probe = &batch->probes[batch->nr];
	const struct perfguard_site *site = &wish->sites[i];

	if (fatal_signal_pending(current))
		return -EINTR;
	if (site->id > PERFGUARD_MAX_SITE_ID || site->sp_delta > PGUARD_MAX_DISTANCE)
		return -EINVAL;
	memset(probe, 0, sizeof(*probe));
	probe->inode = d_real_inode(wish->file->f_path.dentry);
	probe->offset = site->offset;
	probe->site.target = target;
	probe->site.id = site->id;
	probe->site.sp_delta = site->sp_delta;
	probe->site.one_shot = wish->flags & PERFGUARD_SITE_FLAGS_ONE_SHOT;
	if (probe->site.one_shot || IS_ERR(code) ||
	    pguard_code_read(code, site->offset, &probe->code))
		probe->code.way = PERFGUARD_GUARD_WAY_STEPPED;
	return pguard_probe_register(probe);
}

/**
 * pguard_probes_file_check() - can there be probes in a file
 *
 * Context: any.
 * Return: 0, or an error told in @extack.
 */
int pguard_probes_file_check(const struct file *file, struct netlink_ext_ack *extack)
{
	const struct inode *inode = file_inode(file);

	if (!S_ISREG(inode->i_mode)) {
		NL_SET_ERR_MSG(extack, "the file with the sites is not a regular file");
		return -EINVAL;
	}
	if (file->f_path.mnt->mnt_flags & MNT_NOEXEC ||
	    inode->i_sb->s_iflags & SB_I_NOEXEC) {
		NL_SET_ERR_MSG(extack, "nothing in this file system can be executed");
		return -EACCES;
	}
	return 0;
}

static int check_room(u32 nr, struct netlink_ext_ack *extack)
{
	if (nr <= PERFGUARD_MAX_SITES - nr_probes)
		return 0;
	NL_SET_ERR_MSG(extack, "too many sites");
	return -ENOSPC;
}

static int wish_check(const struct pguard_probes_wish *wish, struct netlink_ext_ack *extack)
{
	int ret = pguard_probes_file_check(wish->file, extack);

	if (ret)
		return ret;
	if (!wish->nr || wish->nr > PERFGUARD_SITES_PER_REQUEST) {
		NL_SET_ERR_MSG(extack, "no sites, or too many for one request");
		return -EINVAL;
	}
	return check_room(wish->nr, extack);
}

static struct batch *batch_new(struct pguard_target *target, u32 nr)
{
	struct batch *batch = kvzalloc(struct_size(batch, probes, nr), GFP_KERNEL);

	if (batch)
		kref_get(&target->kref);
	return batch;
}

static void batch_free(struct batch *batch, struct pguard_target *target)
{
	if (batch->profile)
		pguard_profile_put(batch->profile);
	else
		path_put(&batch->path);
	pguard_target_put(target);
	kvfree(batch);
}

static void batch_list(struct batch *batch, struct pguard_target *target)
{
	list_add_tail(&batch->list, &target->probes);
	target->nr_sites += batch->nr;
	nr_probes += batch->nr;
}

static void batch_unlist(struct batch *batch, struct pguard_target *target)
{
	list_del(&batch->list);
	target->nr_sites -= batch->nr;
	nr_probes -= batch->nr;
}

/**
 * pguard_probes_add() - put probes on at the sites of a file
 * @target: whose threads are told
 * @wish: where
 * @refused: takes the sites that cannot be probed; room for all of the wish
 * @ret_nr_refused: how many they are
 * @extack: takes the reason of a refusal of the whole
 *
 * Context: may sleep, long if many processes map the file; pguard_control held.
 * Return: 0, also if some sites or all were refused; an error with nothing
 * changed.
 */
int pguard_probes_add(struct pguard_target *target, const struct pguard_probes_wish *wish,
		      struct perfguard_site_refusal *refused, u32 *ret_nr_refused,
		      struct netlink_ext_ack *extack)
{
	struct batch *batch;
	struct file *code;
	u32 i;
	int ret;

	*ret_nr_refused = 0;
	ret = wish_check(wish, extack);
	if (ret)
		return ret;
	batch = batch_new(target, wish->nr);
	if (!batch)
		return -ENOMEM;
	batch->path = wish->file->f_path;
	path_get(&batch->path);
	code = pguard_code_open(&batch->path);

	for (i = 0; i < wish->nr; i++) {
		ret = site_add(batch, target, wish, i, code);
		if (ret)
			refused[(*ret_nr_refused)++] = (struct perfguard_site_refusal){
				.id = wish->sites[i].id,
				.error = -ret,
			};
		else
			batch->nr++;
		cond_resched();
	}
	if (!IS_ERR(code))
		fput(code);
	if (!batch->nr) {
		batch_free(batch, target);
		return 0;
	}
	batch_list(batch, target);
	return 0;
}

/* The last one first: the kernel looks for it from the end they were put on. */
static void batch_off(struct batch *batch)
{
	u32 i;

	for (i = batch->nr; i--;) {
		pguard_probe_unregister(&batch->probes[i]);
		cond_resched();
	}
}

static int guard_add(struct batch *batch, struct pguard_target *target, u32 i,
		     struct file *const *files)
{
	struct pguard_profile *profile = batch->profile;
	struct pguard_guard *guard = &profile->guards[i];
	struct pguard_probe *probe = &batch->probes[i];
	int ret;

	if (fatal_signal_pending(current))
		return -EINTR;
	probe->inode = profile->objects[guard->site.object].inode;
	probe->offset = guard->site.offset;
	probe->site.target = target;
	probe->site.profile = profile;
	probe->site.is_event = profile->guards[i].is_event;
	probe->site.id = i;
	probe->site.sp_delta = guard->site.sp_delta;
	ret = pguard_code_read(files[guard->site.object], probe->offset, &probe->code);
	if (ret)
		return ret;
	guard->way = probe->code.way;
	guard->state = PERFGUARD_GUARD_STATE_ACTIVE;
	return pguard_probe_register(probe);
}

/* Put the probes of a profile's guards on, up to the first that is refused. */
static int guards_add(struct batch *batch, struct pguard_target *target,
		      struct file *const *files)
{
	struct pguard_profile *profile = batch->profile;
	int ret;

	for (; batch->nr < profile->nr_guards; batch->nr++) {
		ret = guard_add(batch, target, batch->nr, files);
		if (ret == -EINTR)
			return ret;
		if (ret) {
			profile->refused_guard = batch->nr;
			profile->refused_error = -ret;
			return ret;
		}
		cond_resched();
	}
	return 0;
}

static void files_close(struct file **files, u32 nr)
{
	while (nr--)
		fput(files[nr]);
	kfree(files);
}

/* The objects of a profile, opened to read their code; or ERR_PTR(). */
static struct file **files_open(const struct pguard_profile *profile,
				struct netlink_ext_ack *extack)
{
	struct file **files = kcalloc(profile->nr_objects, sizeof(*files), GFP_KERNEL);
	u32 i;
	int ret;

	if (!files)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < profile->nr_objects; i++) {
		files[i] = pguard_code_open(&profile->objects[i].path);
		if (!IS_ERR(files[i]))
			continue;
		NL_SET_ERR_MSG(extack, "an object of the profile cannot be read");
		ret = PTR_ERR(files[i]);
		files_close(files, i);
		return ERR_PTR(ret);
	}
	return files;
}

static int batch_guard(struct batch *batch, struct pguard_target *target,
		       struct netlink_ext_ack *extack)
{
	struct file **files = files_open(batch->profile, extack);
	int ret;

	if (IS_ERR(files))
		return PTR_ERR(files);
	ret = guards_add(batch, target, files);
	files_close(files, batch->profile->nr_objects);
	return ret;
}

/**
 * pguard_probes_guard() - put the probes of a profile's guards on
 * @target: whose threads are guarded
 * @profile: with its tables, not armed yet
 * @extack: takes the reason of a refusal
 *
 * Context: may sleep, long if many processes map the files; pguard_control
 * held.
 * Return: 0; or an error with none of them on, and the guard that was refused
 * told in the profile.
 */
int pguard_probes_guard(struct pguard_target *target, struct pguard_profile *profile,
			struct netlink_ext_ack *extack)
{
	struct batch *batch;
	int ret = check_room(profile->nr_guards, extack);

	if (ret)
		return ret;
	batch = batch_new(target, profile->nr_guards);
	if (!batch)
		return -ENOMEM;
	batch->profile = profile;
	kref_get(&profile->kref);
	ret = batch_guard(batch, target, extack);
	if (!ret) {
		batch_list(batch, target);
		return 0;
	}
	if (batch->nr) {
		batch_off(batch);
		pguard_probe_sync();
	}
	batch_free(batch, target);
	if (profile->refused_error)
		NL_SET_ERR_MSG(extack, "a guard cannot be probed");
	return ret;
}

/* Take those batches off that @want has, with one wait for all of them. */
static void batches_del(struct pguard_target *target,
			bool (*want)(const struct batch *batch, const void *argument),
			const void *argument)
{
	struct batch *batch, *next;
	bool any = false;

	list_for_each_entry_reverse(batch, &target->probes, list) {
		if (!want(batch, argument))
			continue;
		batch_off(batch);
		any = true;
	}
	if (!any)
		return;
	pguard_probe_sync();
	list_for_each_entry_safe(batch, next, &target->probes, list) {
		if (!want(batch, argument))
			continue;
		batch_unlist(batch, target);
		batch_free(batch, target);
	}
}

static bool batch_is_of(const struct batch *batch, const void *profile)
{
	return batch->profile == profile;
}

static bool batch_is_any(const struct batch *batch, const void *unused)
{
	return true;
}

/**
 * pguard_probes_del() - take probes of a target off
 * @target: the target
 * @profile: whose guards; NULL for the sites to record
 *
 * Afterwards no handler runs for them.
 *
 * Context: may sleep, long if many processes map the files; pguard_control
 * held.
 */
void pguard_probes_del(struct pguard_target *target, const struct pguard_profile *profile)
{
	batches_del(target, batch_is_of, profile);
}

/* pguard_probes_del() of all there are. */
void pguard_probes_del_all(struct pguard_target *target)
{
	batches_del(target, batch_is_any, NULL);
}

static struct pguard_probe *guard_probe(const struct pguard_target *target,
				 const struct pguard_profile *profile, u32 guard)
{
	struct batch *batch;

	list_for_each_entry(batch, &target->probes, list)
		if (batch->profile == profile)
			return &batch->probes[guard];
	return NULL;
}

/**
 * pguard_probes_on() - put one guard of an armed profile on again
 *
 * Context: as pguard_probes_guard(); pguard_probe_sync() was called since it
 * was taken off.
 * Return: 0, also if it is on; or an error.
 */
int pguard_probes_on(struct pguard_target *target, const struct pguard_profile *profile,
		    u32 guard)
{
	struct pguard_probe *probe = guard_probe(target, profile, guard);

	if (!probe)
		return -ENOENT;
	return probe->is_on ? 0 : pguard_probe_register(probe);
}

/* Take one guard off.  Context: as pguard_probes_del(). */
void pguard_probes_off(struct pguard_target *target, const struct pguard_profile *profile,
		      u32 guard)
{
	struct pguard_probe *probe = guard_probe(target, profile, guard);

	if (probe)
		pguard_probe_unregister(probe);
}

/*
 * A target that is one process is not to come again once it has ended.  While
 * an exec replaces it, with preemption off, it is out of the table.
 */
static bool target_is_over(const struct pguard_target *target)
{
	if (target->inode || list_empty(&target->probes) || atomic_read(&target->nr_processes))
		return false;
	synchronize_rcu();
	return !atomic_read(&target->nr_processes);
}

static void tidy(struct work_struct *work)
{
	struct pguard_target *target;

	mutex_lock(&pguard_control);
	list_for_each_entry(target, &pguard_targets, list)
		if (target_is_over(target))
			pguard_probes_del_all(target);
	mutex_unlock(&pguard_control);
}

static DECLARE_WORK(tidy_work, tidy);

/**
 * pguard_probes_tidy() - a watched process ended
 *
 * The probes of a target that has none any more, and gets none, are taken off
 * by a work.
 *
 * Context: any.
 */
void pguard_probes_tidy(void)
{
	queue_work(system_unbound_wq, &tidy_work);
}

/* The module goes: no process is watched any more. */
void pguard_probes_deinit(void)
{
	flush_work(&tidy_work);
}
