// SPDX-License-Identifier: GPL-2.0

#include "probe.h"

#include "compat.h"
#include "image.h"
#include "site.h"

#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/netlink.h>
#include <linux/path.h>
#include <linux/sched/signal.h>
#include <linux/uprobes.h>
#include <linux/workqueue.h>

/* A breakpoint in every memory that the filter accepts. */
struct probe {
	struct uprobe_consumer consumer;
	struct uprobe *handle;
	u64 offset;
	struct pguard_site site;
};

/**
 * struct batch - probes that were ordered together
 * @list: in target.probes; pguard_control
 * @path: keeps the inode
 * @inode: of the lowest layer, to which the kernel ties its breakpoints
 * @nr: how many probes are on
 */
struct batch {
	struct list_head list;
	struct path path;
	struct inode *inode;
	u32 nr;
	struct probe probes[];
};

/* Of all targets; pguard_control. */
static u32 nr_probes;

/*
 * Runs in the thread, which may sleep.  A probe must not be put on or taken
 * off from here: the kernel waits for us then.
 */
static int probe_handler(PGUARD_UPROBE_HANDLER_ARGS)
{
	struct probe *probe = container_of(self, struct probe, consumer);

	return pguard_site_hit(&probe->site, regs) ? UPROBE_HANDLER_REMOVE : 0;
}

/*
 * Asked when a probe is put on, for each memory that maps the file; when a
 * memory maps the file; and when the handler wants the breakpoint removed.
 */
static bool probe_filter(PGUARD_UPROBE_FILTER_ARGS)
{
	struct probe *probe = container_of(self, struct probe, consumer);

	return pguard_site_wants(&probe->site, mm);
}

static int site_check(const struct perfguard_site *site, const struct inode *inode)
{
	if (site->id > PERFGUARD_MAX_SITE_ID || site->sp_delta > PGUARD_MAX_DISTANCE)
		return -EINVAL;
	return site->offset < (u64)i_size_read(inode) ? 0 : -EINVAL;
}

static int probe_add(struct probe *probe, struct pguard_target *target,
		     const struct perfguard_site *site, struct inode *inode, u32 flags)
{
	int ret = site_check(site, inode);

	if (ret)
		return ret;
	/* A registration that failed may have left something in it. */
	memset(probe, 0, sizeof(*probe));
	probe->consumer.handler = probe_handler;
	probe->consumer.filter = probe_filter;
	probe->offset = site->offset;
	probe->site.target = target;
	probe->site.id = site->id;
	probe->site.sp_delta = site->sp_delta;
	probe->site.one_shot = flags & PERFGUARD_SITE_FLAGS_ONE_SHOT;
	probe->handle = pguard_uprobe_register(inode, site->offset, &probe->consumer);
	return PTR_ERR_OR_ZERO(probe->handle);
}

static int wish_check(const struct pguard_probe_wish *wish, struct netlink_ext_ack *extack)
{
	const struct inode *inode = file_inode(wish->file);

	if (!S_ISREG(inode->i_mode)) {
		NL_SET_ERR_MSG(extack, "the file with the sites is not a regular file");
		return -EINVAL;
	}
	if (wish->file->f_path.mnt->mnt_flags & MNT_NOEXEC ||
	    inode->i_sb->s_iflags & SB_I_NOEXEC) {
		NL_SET_ERR_MSG(extack, "nothing in this file system can be executed");
		return -EACCES;
	}
	if (!wish->nr || wish->nr > PERFGUARD_SITES_PER_REQUEST) {
		NL_SET_ERR_MSG(extack, "no sites, or too many for one request");
		return -EINVAL;
	}
	if (wish->nr > PERFGUARD_MAX_SITES - nr_probes) {
		NL_SET_ERR_MSG(extack, "too many sites");
		return -ENOSPC;
	}
	return 0;
}

static void batch_free(struct batch *batch, struct pguard_target *target)
{
	path_put(&batch->path);
	pguard_target_put(target);
	kvfree(batch);
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
int pguard_probes_add(struct pguard_target *target, const struct pguard_probe_wish *wish,
		      struct perfguard_site_refusal *refused, u32 *ret_nr_refused,
		      struct netlink_ext_ack *extack)
{
	struct batch *batch;
	u32 i;
	int ret;

	*ret_nr_refused = 0;
	ret = wish_check(wish, extack);
	if (ret)
		return ret;
	batch = kvzalloc(struct_size(batch, probes, wish->nr), GFP_KERNEL);
	if (!batch)
		return -ENOMEM;
	batch->path = wish->file->f_path;
	path_get(&batch->path);
	batch->inode = d_real_inode(batch->path.dentry);
	kref_get(&target->kref);

	for (i = 0; i < wish->nr; i++) {
		ret = fatal_signal_pending(current) ? -EINTR :
			probe_add(&batch->probes[batch->nr], target, &wish->sites[i],
				  batch->inode, wish->flags);
		if (ret)
			refused[(*ret_nr_refused)++] = (struct perfguard_site_refusal){
				.id = wish->sites[i].id,
				.error = -ret,
			};
		else
			batch->nr++;
		cond_resched();
	}
	if (!batch->nr) {
		batch_free(batch, target);
		return 0;
	}
	list_add_tail(&batch->list, &target->probes);
	target->nr_sites += batch->nr;
	nr_probes += batch->nr;
	return 0;
}

/* The last one first: the kernel looks for it from the end they were put on. */
static void batch_off(struct batch *batch)
{
	struct probe *probe;
	u32 i;

	for (i = batch->nr; i--;) {
		probe = &batch->probes[i];
		pguard_uprobe_unregister(probe->handle, batch->inode, probe->offset,
					 &probe->consumer);
		cond_resched();
	}
}

/**
 * pguard_probes_del() - take all probes of a target off
 *
 * Afterwards no handler runs for them.
 *
 * Context: may sleep, long if many processes map the files; pguard_control
 * held.
 */
void pguard_probes_del(struct pguard_target *target)
{
	struct batch *batch, *next;

	if (list_empty(&target->probes))
		return;
	list_for_each_entry_reverse(batch, &target->probes, list)
		batch_off(batch);
	/* One wait for all of them. */
	pguard_uprobe_sync();
	list_for_each_entry_safe(batch, next, &target->probes, list) {
		list_del(&batch->list);
		nr_probes -= batch->nr;
		batch_free(batch, target);
	}
	target->nr_sites = 0;
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
			pguard_probes_del(target);
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
void pguard_probe_deinit(void)
{
	flush_work(&tidy_work);
}
