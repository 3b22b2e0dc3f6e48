// SPDX-License-Identifier: GPL-2.0

#include "probe/probe-set.h"

#include "inline/region.h"
#include "lib/noted-hit.h"
#include "lib/refuse.h"
#include "probe/code.h"
#include "probe/inlining.h"
#include "probe/probe.h"
#include "profile/profile.h"
#include "target/image.h"
#include "target/target-lock.h"

#include <linux/file.h>
#include <linux/fs.h>
#include <linux/jhash.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/netlink.h>
#include <linux/path.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

/**
 * struct batch - probes that were ordered together
 * @list: in target.probes
 * @target: whose threads come by them, referenced
 * @profile: whose guards they are, in its order, referenced; else NULL, and
 * @path: keeps the file
 * @inlinings: by object of the profile, else one, those of its sites that are to jump, or NULL; kept
 *	until its target goes
 * @nr_inlinings: how many
 * @room: for so many, among all probes there may be
 * @nr: how many they are
 */
struct batch {
	struct list_head list;
	struct pguard_target *target;
	struct pguard_profile *profile;
	struct path path;
	struct pguard_inlining **inlinings;
	u32 nr_inlinings;
	u32 room;
	u32 nr;
	struct pguard_probe probes[];
};

enum {
	TIDY_AGAIN = HZ / 10,
};

/* Of all targets, and those to come for which there is room; pguard_control. */
static u32 nr_probes;

/*
 * Put the next probe of a batch on at site @i of @spec, which is in @code too,
 * or an error.  An instruction that cannot be read is stepped; and one that is
 * hit once, or seldom more, may be.
 */
static int site_add(struct batch *batch, const struct pguard_probe_set_spec *spec, u32 i,
		    struct file *code)
{
	struct pguard_probe *probe = &batch->probes[batch->nr];
	const struct perfguard_site *site = &spec->sites[i];

	if (READ_ONCE(*spec->is_cancelled))
		return -EINTR;
	if (site->id > PERFGUARD_MAX_SITE_ID || site->sp_delta > PGUARD_MAX_DISTANCE)
		return -EINVAL;
	*probe = (struct pguard_probe){
		.inode = d_real_inode(spec->file->f_path.dentry),
		.offset = site->offset,
		.site.target = batch->target,
		.site.id = site->id,
		.site.sp_delta = site->sp_delta,
		.site.one_shot = spec->flags & PERFGUARD_SITE_FLAGS_ONE_SHOT,
		.site.jumps = batch->nr_inlinings ? pguard_inlining_jumps(batch->inlinings[0]) : NULL,
	};
	if (probe->site.one_shot || IS_ERR(code) ||
	    pguard_code_read(code, site->offset, &probe->code))
		probe->code.way = PERFGUARD_STEP_MODE_STEPPED;
	return pguard_probe_register(probe);
}

/**
 * pguard_probe_set_file_check() - can there be probes in a file
 *
 * Context: any.
 * Return: 0, or an error with a text in @extack.
 */
int pguard_probe_set_file_check(const struct file *file, struct netlink_ext_ack *extack)
{
	const struct inode *inode = file_inode(file);

	if (!S_ISREG(inode->i_mode))
		return pguard_refuse(extack, -EINVAL,
				     "the file with the sites is not a regular file");
	if (file->f_path.mnt->mnt_flags & MNT_NOEXEC ||
	    inode->i_sb->s_iflags & SB_I_NOEXEC)
		return pguard_refuse(extack, -EACCES,
				     "nothing in this file system can be executed");
	return 0;
}

static int spec_check(const struct pguard_probe_set_spec *spec, struct netlink_ext_ack *extack)
{
	int ret = pguard_probe_set_file_check(spec->file, extack);

	if (ret)
		return ret;
	if (!spec->nr || spec->nr > PERFGUARD_SITES_PER_REQUEST)
		return pguard_refuse(extack, -EINVAL, "no sites, or too many for one request");
	return 0;
}

/* Has room before its probes go on: meanwhile others want some, too.  Or ERR_PTR(). */
static struct batch *batch_new(struct pguard_target *target, u32 room,
			       struct netlink_ext_ack *extack)
{
	struct batch *batch = kvzalloc(struct_size(batch, probes, room), GFP_KERNEL | __GFP_NOWARN);
	bool has_room;

	if (!batch)
		return ERR_PTR(-ENOMEM);
	mutex_lock(&pguard_control);
	has_room = room <= PERFGUARD_MAX_SITES - nr_probes;
	if (has_room)
		nr_probes += room;
	mutex_unlock(&pguard_control);
	if (!has_room) {
		kvfree(batch);
		return ERR_PTR(pguard_refuse(extack, -ENOSPC, "too many sites"));
	}
	kref_get(&target->kref);
	batch->target = target;
	batch->room = room;
	return batch;
}

static void batch_free(struct batch *batch)
{
	if (batch->profile)
		pguard_profile_put(batch->profile);
	else
		path_put(&batch->path);
	mutex_lock(&pguard_control);
	nr_probes -= batch->room;
	mutex_unlock(&pguard_control);
	pguard_target_put(batch->target);
	kfree(batch->inlinings);
	kvfree(batch);
}

/* Its probes are on. */
static void batch_list(struct batch *batch)
{
	mutex_lock(&pguard_control);
	list_add_tail(&batch->list, &batch->target->probes);
	batch->target->nr_sites += batch->nr;
	nr_probes -= batch->room - batch->nr;
	batch->room = batch->nr;
	mutex_unlock(&pguard_control);
}

/* Put the probes of all sites on that can be; returns the number of the others. */
static u32 sites_add(struct batch *batch, const struct pguard_probe_set_spec *spec,
		     struct perfguard_site_refusal *refused)
{
	struct file *code = pguard_code_open(&batch->path);
	u32 i, nr_refused = 0;
	int ret;

	for (i = 0; i < spec->nr; i++) {
		ret = site_add(batch, spec, i, code);
		if (ret)
			refused[nr_refused++] = (struct perfguard_site_refusal){
				.id = spec->sites[i].id,
				.error = -ret,
			};
		else
			batch->nr++;
		cond_resched();
	}
	if (!IS_ERR(code))
		__fput_sync(code);
	return nr_refused;
}

/* One more of them, if the instruction allows it; the caller says what its hits are noted as. */
static struct pguard_jump *jumps_add(struct pguard_jumps *jumps, struct file *code, u64 offset,
				     u32 sp_delta)
{
	struct pguard_jump *jump = &jumps->list[jumps->nr];

	if (pguard_code_window(code, offset, jump->insn, &jump->window))
		return NULL;
	jump->offset = offset;
	jump->sp_delta = sp_delta;
	/* By then the call in the site's place has pushed. */
	if (jump->window.kind == WINDOW_CALL)
		jump->sp_delta += sizeof(u64);
	jumps->nr++;
	return jump;
}

/* Those of the sites whose instruction allows it, by their order; or ERR_PTR(). */
static struct pguard_jumps *jumps_find(const struct pguard_probe_set_spec *spec)
{
	struct file *code = pguard_code_open(&spec->file->f_path);
	const struct perfguard_site *site;
	struct pguard_jumps *jumps;
	struct pguard_jump *jump;

	if (IS_ERR(code))
		return ERR_CAST(code);
	jumps = pguard_jumps_alloc(spec->nr);
	if (!jumps) {
		__fput_sync(code);
		return ERR_PTR(-ENOMEM);
	}
	jumps->inode = d_real_inode(spec->file->f_path.dentry);
	for (site = spec->sites; site < spec->sites + spec->nr; site++) {
		/* What the note reads there must not fault, whatever the distance is said to be. */
		if (site->sp_delta > PGUARD_NOTED_MAX_DELTA || site->sp_delta % 8 ||
		    site->id > PGUARD_NOTED_MAX_ID)
			continue;
		jump = jumps_add(jumps, code, site->offset, site->sp_delta);
		if (jump)
			jump->what = pguard_noted_site(site->id, jump->sp_delta);
		cond_resched();
	}
	__fput_sync(code);
	return jumps;
}

static int inlinings_alloc(struct batch *batch, u32 nr)
{
	batch->inlinings = kcalloc(nr, sizeof(*batch->inlinings), GFP_KERNEL);
	if (!batch->inlinings)
		return -ENOMEM;
	batch->nr_inlinings = nr;
	return 0;
}

/* @jumps are taken over, or ERR_PTR(). */
static int inlining_add(struct batch *batch, u32 i, struct pguard_jumps *jumps)
{
	if (IS_ERR(jumps))
		return PTR_ERR(jumps);
	if (!jumps->nr) {
		pguard_jumps_free(jumps);
		return 0;
	}
	batch->inlinings[i] = pguard_inlining_get(batch->target, jumps);
	return batch->inlinings[i] ? 0 : -ENOMEM;
}

/* Their probes are on. */
static void batch_begin(struct batch *batch)
{
	u32 i;

	for (i = 0; i < batch->nr_inlinings; i++)
		if (batch->inlinings[i])
			pguard_inlining_begin(batch->inlinings[i]);
}

/* Before the first probe is on: sites point to it. */
static int batch_inline(struct batch *batch, const struct pguard_probe_set_spec *spec)
{
	if (!(spec->flags & PERFGUARD_SITE_FLAGS_INLINE) ||
	    spec->flags & PERFGUARD_SITE_FLAGS_ONE_SHOT)
		return 0;
	return inlinings_alloc(batch, 1) ?: inlining_add(batch, 0, jumps_find(spec));
}

/**
 * pguard_probe_set_add() - put probes on at the sites of a file
 * @target: whose threads are recorded
 * @spec: where
 * @refused: takes the sites that cannot be probed; room for all of the spec
 * @ret_nr_refused: how many they are
 * @extack: takes the reason of a refusal of the whole
 *
 * Context: a worker; may sleep, long if many processes map the file; current holds
 * the lock of the target, and pguard_control is not held.
 * Return: 0, also if some sites or all were refused; an error with nothing
 * changed.
 */
int pguard_probe_set_add(struct pguard_target *target, const struct pguard_probe_set_spec *spec,
			 struct perfguard_site_refusal *refused, u32 *ret_nr_refused,
			 struct netlink_ext_ack *extack)
{
	struct batch *batch;
	int ret;

	pguard_target_assert_locked(target);
	ret = spec_check(spec, extack);
	if (ret)
		return ret;
	batch = batch_new(target, spec->nr, extack);
	if (IS_ERR(batch))
		return PTR_ERR(batch);
	batch->path = spec->file->f_path;
	path_get(&batch->path);
	ret = batch_inline(batch, spec);
	if (ret) {
		batch_free(batch);
		return ret;
	}
	*ret_nr_refused = sites_add(batch, spec, refused);
	if (!batch->nr) {
		batch_free(batch);
		return 0;
	}
	batch_begin(batch);
	batch_list(batch);
	return 0;
}

/* The last one first: the kernel looks for it from the end they were put on. */
static void batch_off(struct batch *batch)
{
	u32 i;

	for (i = 0; i < batch->nr_inlinings; i++)
		pguard_inlining_end(batch->inlinings[i]);
	for (i = batch->nr; i--;) {
		pguard_probe_unregister(&batch->probes[i]);
		cond_resched();
	}
}

/* The jumps of the file of guard @i, or NULL. */
static struct pguard_jumps *guard_jumps(const struct batch *batch, u32 i)
{
	u32 object = batch->profile->guards[i].site.object;

	return batch->nr_inlinings ? pguard_inlining_jumps(batch->inlinings[object]) : NULL;
}

/* By what the notes of a profile's hits differ from those of one with other guards. */
static u32 guards_tag(const struct pguard_profile *profile)
{
	u32 i, tag = 0;

	for (i = 0; i < profile->nr_guards; i++)
		tag = jhash(&profile->guards[i].site, sizeof(profile->guards[i].site), tag);
	return pguard_noted_guards(tag);
}

/*
 * Those of a file's guards that can jump; or ERR_PTR().  Where an event or a life may begin
 * the thread has to come into the kernel.
 */
static struct pguard_jumps *guards_find(const struct pguard_profile *profile, u32 object,
					struct file *code)
{
	struct pguard_jumps *jumps = pguard_jumps_alloc(profile->nr_guards);
	struct pguard_noted_guards *noted = profile->noted;
	const struct pguard_guard *guard;
	struct pguard_jump *jump;
	u32 i;

	if (!jumps)
		return ERR_PTR(-ENOMEM);
	jumps->inode = profile->objects[object].inode;
	for (i = 0; i < profile->nr_guards; i++) {
		guard = &profile->guards[i];
		if (guard->site.object != object || guard->events || guard->starts)
			continue;
		jump = jumps_add(jumps, code, guard->site.offset, guard->site.sp_delta);
		if (!jump)
			continue;
		jump->what = noted->first + i;
		noted->jumps[i] = jumps->nr - 1;
		noted->keys[i] = infer_key(i, 0) - PGUARD_NOTED_BELOW - jump->sp_delta;
		cond_resched();
	}
	return jumps;
}

/* Have guards of a profile that is not armed yet jump where they can. */
static int guards_inline(struct batch *batch, struct file *const *files)
{
	struct pguard_profile *profile = batch->profile;
	int ret = inlinings_alloc(batch, profile->nr_objects);
	u32 i;

	if (!ret)
		ret = pguard_profile_make_noted(profile, guards_tag(profile));
	for (i = 0; !ret && i < profile->nr_objects; i++)
		ret = inlining_add(batch, i, guards_find(profile, i, files[i]));
	return ret;
}

/* Put the probe of guard @i on, the next one of its batch. */
static int guard_add(struct batch *batch, u32 i, struct file *const *files)
{
	struct pguard_profile *profile = batch->profile;
	struct pguard_guard *guard = &profile->guards[i];
	struct pguard_probe *probe = &batch->probes[i];
	int ret;

	probe->inode = profile->objects[guard->site.object].inode;
	probe->offset = guard->site.offset;
	probe->site = (struct pguard_site){
		.target = batch->target,
		.profile = profile,
		.sums = guard->sums,
		.left = profile->left,
		.events = guard->events,
		.starts = guard->starts,
		.has_contexts = guard->has_contexts,
		.id = i,
		.sp_delta = guard->site.sp_delta,
		.key = infer_key(i, 0) - guard->site.sp_delta,
		.jumps = guard_jumps(batch, i),
		.jump = profile->noted ? profile->noted->jumps[i] : PGUARD_NO_JUMP,
	};
	ret = pguard_code_read(files[guard->site.object], probe->offset, &probe->code);
	if (ret)
		return ret;
	guard->way = probe->code.way;
	guard->state = PERFGUARD_GUARD_STATE_ACTIVE;
	return pguard_probe_register(probe);
}

/* Put the probes of a profile's guards on, up to the first that is refused. */
static int guards_add(struct batch *batch, struct file *const *files, const bool *is_cancelled)
{
	int ret;

	for (; batch->nr < batch->profile->nr_guards; batch->nr++) {
		if (READ_ONCE(*is_cancelled))
			return -EINTR;
		ret = guard_add(batch, batch->nr, files);
		if (ret)
			return ret;
		cond_resched();
	}
	return 0;
}

/* Who asks for the profile sees why it is not armed. */
static void guard_refuse(struct pguard_profile *profile, u32 guard, int error,
			 struct netlink_ext_ack *extack)
{
	mutex_lock(&pguard_control);
	profile->refused_guard = guard;
	profile->refused_error = -error;
	mutex_unlock(&pguard_control);
	NL_SET_ERR_MSG(extack, "a guard cannot be probed");
}

static void files_close(struct file **files, u32 nr)
{
	while (nr--)
		__fput_sync(files[nr]);
	kfree(files);
}

/* The objects of a profile, opened to read their code; or ERR_PTR(). */
static struct file **files_open(const struct pguard_profile *profile,
				struct netlink_ext_ack *extack)
{
	struct file **files = kcalloc(profile->nr_objects, sizeof(*files),
				      GFP_KERNEL | __GFP_NOWARN);
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

static int batch_guard(struct batch *batch, const bool *is_cancelled,
		       struct netlink_ext_ack *extack)
{
	struct file **files = files_open(batch->profile, extack);
	int ret = 0;

	if (IS_ERR(files))
		return PTR_ERR(files);
	if (batch->profile->flags & PERFGUARD_PROFILE_FLAGS_INLINE)
		ret = guards_inline(batch, files);
	if (!ret)
		ret = guards_add(batch, files, is_cancelled);
	if (!ret)
		batch_begin(batch);
	else if (ret != -EINTR)
		guard_refuse(batch->profile, batch->nr, ret, extack);
	files_close(files, batch->profile->nr_objects);
	return ret;
}

/**
 * pguard_probe_set_guard() - put the probes of a profile's guards on
 * @target: whose threads are guarded
 * @profile: with its tables, not armed yet
 * @is_cancelled: set when it is not wanted any more; READ_ONCE
 * @extack: takes the reason of a refusal
 *
 * Context: as pguard_probe_set_add().
 * Return: 0, and profile->probes points to them; or an error with none of them on, and
 * the guard that was refused reported in the profile.
 */
int pguard_probe_set_guard(struct pguard_target *target, struct pguard_profile *profile,
			   const bool *is_cancelled, struct netlink_ext_ack *extack)
{
	struct batch *batch;
	int ret;

	pguard_target_assert_locked(target);
	batch = batch_new(target, profile->nr_guards, extack);
	if (IS_ERR(batch))
		return PTR_ERR(batch);
	batch->profile = profile;
	kref_get(&profile->kref);
	ret = batch_guard(batch, is_cancelled, extack);
	if (!ret) {
		profile->probes = batch->probes;
		batch_list(batch);
		return 0;
	}
	if (batch->nr) {
		batch_off(batch);
		pguard_probe_sync();
	}
	batch_free(batch);
	return ret;
}

/*
 * Take batches off, those of @profile or all, with one wait for all of them.  They
 * are in the list until the last one is off.
 */
static void batches_del(struct pguard_target *target, const struct pguard_profile *profile,
			bool is_all)
{
	struct batch *batch, *next;
	bool any = false;
	LIST_HEAD(off);

	pguard_target_assert_locked(target);
	list_for_each_entry_reverse(batch, &target->probes, list) {
		if (!is_all && batch->profile != profile)
			continue;
		batch_off(batch);
		any = true;
	}
	if (!any)
		return;
	pguard_probe_sync();
	mutex_lock(&pguard_control);
	list_for_each_entry_safe(batch, next, &target->probes, list) {
		if (!is_all && batch->profile != profile)
			continue;
		list_move(&batch->list, &off);
		target->nr_sites -= batch->nr;
		if (batch->profile)
			batch->profile->probes = NULL;
	}
	mutex_unlock(&pguard_control);
	list_for_each_entry_safe(batch, next, &off, list)
		batch_free(batch);
}

/**
 * pguard_probe_set_del() - take probes of a target off
 * @target: the target
 * @profile: whose guards; NULL for the sites to record
 *
 * Afterwards no handler runs for them.  The profile may go with its guards.
 *
 * Context: as pguard_probe_set_add().
 */
void pguard_probe_set_del(struct pguard_target *target, const struct pguard_profile *profile)
{
	batches_del(target, profile, false);
}

/* pguard_probe_set_del() of all there are. */
void pguard_probe_set_del_all(struct pguard_target *target)
{
	batches_del(target, NULL, true);
	pguard_inlining_forget(target);
}

/**
 * pguard_probe_set_look() - another user of a guard's place may have come or gone
 * @profile: whose guards; they are on
 *
 * Context: any; the lock of the target is held.
 */
void pguard_probe_set_look(struct pguard_profile *profile)
{
	u32 i;

	for (i = 0; i < profile->nr_guards; i++)
		pguard_probe_look(&profile->probes[i]);
}

/*
 * A target that is one process is not to come again once it has ended.  Whether
 * it has probes is known under its lock.
 */
static bool target_seems_over(const struct pguard_target *target)
{
	return !target->inode && !atomic_read(&target->nr_processes);
}

/* While an exec replaces it, with preemption off, it is out of the table. */
static void target_tidy(struct pguard_target *target)
{
	if (list_empty(&target->probes))
		return;
	synchronize_rcu();
	if (target_seems_over(target))
		pguard_probe_set_del_all(target);
}

static void tidy(struct work_struct *work);
static DECLARE_DELAYED_WORK(tidy_work, tidy);

static void tidy(struct work_struct *work)
{
	if (pguard_target_lock_each(target_seems_over, target_tidy))
		queue_delayed_work(system_dfl_wq, &tidy_work, TIDY_AGAIN);
}

/**
 * pguard_probe_set_tidy() - a watched process ended
 *
 * The probes of a target that has none any more, and gets none, are taken off
 * by a work.
 *
 * Context: any.
 */
void pguard_probe_set_tidy(void)
{
	mod_delayed_work(system_dfl_wq, &tidy_work, 0);
}

/* The module goes: there is no target. */
void pguard_probe_set_deinit(void)
{
	cancel_delayed_work_sync(&tidy_work);
}
