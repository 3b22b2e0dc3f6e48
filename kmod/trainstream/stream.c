// SPDX-License-Identifier: GPL-2.0

#include "trainstream/stream.h"

#include "target/hit-ring.h"
#include "target/thread.h"

#include <linux/capability.h>
#include <linux/cpu.h>
#include <linux/fs.h>
#include <linux/irq_work.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

enum {
	TICK = HZ / 20,			/* how long an event may wait unnoticed */
	BELLS = 4,			/* a reader is woken so often in one round */
	MIB = 1024 * 1024,
	MAX_MIB = 1024,			/* per CPU */
};

static unsigned int stream_mib = 32;

static int stream_mib_set(const char *value, const struct kernel_param *param)
{
	return param_set_uint_minmax(value, param, 1, MAX_MIB);
}

static const struct kernel_param_ops stream_mib_ops = {
	.set = stream_mib_set,
	.get = param_get_uint,
};

module_param_cb(stream_mib, &stream_mib_ops, &stream_mib, 0644);
MODULE_PARM_DESC(stream_mib,
		 "MiB of the training stream for each CPU, taken while it is open (1 to 1024)");

/**
 * struct ring - the events of one CPU
 * @head: events written since the opening; the writer's
 * @dropped: events that found no room since the module was loaded; the writer's
 * @events: NULL for a CPU that was not there at the opening
 * @tail: events read; the reader's
 * @lost: events that found no room and are not reported yet; who reports them takes
 *	them
 */
struct ring {
	u64 head;
	u64 dropped;
	struct perfguard_event *events;
	u64 tail ____cacheline_aligned_in_smp;
	atomic64_t lost;
};

static DEFINE_PER_CPU_ALIGNED(struct ring, rings);
static u32 ring_events;		/* in each ring, a power of 2 */

u32 pguard_stream_opening;
static u32 nr_openings;
static u64 opened_ns;		/* as task_struct.start_time */

/* Something is there that is worth to wake the reader for. */
static bool ripe;
static DECLARE_WAIT_QUEUE_HEAD(readers);
static DEFINE_MUTEX(read_lock);		/* one reader at a time */
static int next_cpu;			/* where it begins; @read_lock */

static void tick(struct work_struct *work);
static DECLARE_DELAYED_WORK(tick_work, tick);

static void wake_readers(void)
{
	WRITE_ONCE(ripe, true);
	wake_up_interruptible_poll(&readers, EPOLLIN | EPOLLRDNORM);
}

static void wakeup_ring(struct irq_work *work)
{
	wake_readers();
}

/* A thread that writes an event may be in a place where it must not wake. */
static DEFINE_IRQ_WORK(wakeup, wakeup_ring);

static bool has_events(void)
{
	const struct ring *ring;
	int cpu;

	for_each_possible_cpu(cpu) {
		ring = per_cpu_ptr(&rings, cpu);
		if (READ_ONCE(ring->head) != READ_ONCE(ring->tail) || atomic64_read(&ring->lost))
			return true;
	}
	return false;
}

/* The reader is not woken for each event but when some time has gone. */
static void tick(struct work_struct *work)
{
	if (has_events())
		wake_readers();
	if (pguard_stream_is_open())
		queue_delayed_work(system_dfl_wq, &tick_work, TICK);
}

static bool ring_has_room(const struct ring *ring, u32 nr)
{
	/* Pairs with ring_copy(): what was there has been read. */
	u64 tail = smp_load_acquire(&ring->tail);

	return ring->events && ring->head - tail + nr <= ring_events;
}

static struct perfguard_event *ring_at(const struct ring *ring, u64 head)
{
	return &ring->events[head & (ring_events - 1)];
}

static u32 event_what(u32 kind, u32 number)
{
	return kind << 28 | number;
}

/* The first event of a thread, just before the one that follows; 1 if we saw it start. */
static struct perfguard_event event_start(const struct pguard_thread *thread, u64 now)
{
	return (struct perfguard_event){
		.time_ns = now - 1,
		.value = (u32)current->tgid | (u64)thread->image->id << 32,
		.tid = thread->tid,
		.what = event_what(PERFGUARD_EVENT_KIND_START,
				   current->start_time > READ_ONCE(opened_ns)),
	};
}

static struct perfguard_event event_lost(u64 now, u64 lost)
{
	return (struct perfguard_event){
		.time_ns = now,
		.value = lost,
		.what = event_what(PERFGUARD_EVENT_KIND_LOST, 0),
	};
}

static void ring_publish(struct ring *ring, u64 head)
{
	if (unlikely((ring->head ^ head) & (ring_events / BELLS)))
		irq_work_queue(&wakeup);
	/* Who sees the new head sees the events. */
	smp_store_release(&ring->head, head);
}

/* Write at @head that @lost events had no room, if there are some; returns the head behind that. */
static u64 ring_put_lost(struct ring *ring, u64 head, u64 lost, u64 now)
{
	/* The reader may have reported them meanwhile. */
	if (unlikely(lost))
		lost = atomic64_xchg(&ring->lost, 0);
	if (unlikely(lost))
		*ring_at(ring, head++) = event_lost(now, lost);
	return head;
}

static void ring_drop(struct ring *ring, u32 nr)
{
	atomic64_add(nr, &ring->lost);
	WRITE_ONCE(ring->dropped, ring->dropped + nr);
}

/* Write an event, and before it what has to be; false if there is no room. */
static bool ring_put(struct ring *ring, struct pguard_thread *thread, u32 opening,
		     const struct perfguard_event *event)
{
	bool is_first = thread->opening != opening;
	u64 lost = atomic64_read(&ring->lost);
	u64 head = ring->head;

	if (!ring_has_room(ring, 1 + is_first + !!lost))
		return false;
	head = ring_put_lost(ring, head, lost, event->time_ns);
	if (unlikely(is_first)) {
		*ring_at(ring, head++) = event_start(thread, event->time_ns);
		thread->opening = opening;
	}
	*ring_at(ring, head++) = *event;
	ring_publish(ring, head);
	return true;
}

/**
 * pguard_stream_put() - record an event of current
 * @thread: of current; stays while we are here
 * @kind: enum perfguard_event_kind
 * @number: of 28 bits, as the kind has it
 * @sp: as the kind has it
 * @value: the same
 *
 * Context: current, not in an interrupt; does not sleep.
 * Return: true if it was written; false while the stream is closed.
 */
bool pguard_stream_put(struct pguard_thread *thread, u32 kind, u32 number, u64 sp, u64 value)
{
	struct perfguard_event event = {
		.sp = sp,
		.value = value,
		.tid = thread->tid,
		.what = event_what(kind, number),
	};
	struct ring *ring;
	bool ret = false;
	u32 opening;

	preempt_disable_notrace();
	/* Pairs with stream_start(): the rings are in place. */
	opening = smp_load_acquire(&pguard_stream_opening);
	if (!opening)
		goto out;
	ring = this_cpu_ptr(&rings);
	/* Two events, if this is the first.  The clocks of CPUs may differ by some ns. */
	event.time_ns = max_t(u64, ktime_get_ns(), thread->event_time + 2);
	thread->event_time = event.time_ns;
	ret = ring_put(ring, thread, opening, &event);
	if (unlikely(!ret))
		ring_drop(ring, 1);
out:
	preempt_enable_notrace();
	return ret;
}

/**
 * pguard_stream_put_noted() - record hits of current that landings have noted
 * @thread: of current, which the stream knows
 * @run: they, with values, which stood on the stack at the function's entry; the program may write
 *	to them meanwhile
 *
 * Those of guards are left out.  Their times are those of now, one after another.
 *
 * Context: as pguard_stream_put().
 */
void pguard_stream_put_noted(struct pguard_thread *thread, const struct pguard_hit_run *run)
{
	struct ring *ring;
	u64 now, head;
	u32 what, i;

	preempt_disable_notrace();
	ring = this_cpu_ptr(&rings);
	/* Pairs with stream_start(): the rings are in place. */
	if (!smp_load_acquire(&pguard_stream_opening))
		goto out;
	if (!ring_has_room(ring, run->nr + 1)) {
		ring_drop(ring, run->nr);
		goto out;
	}
	now = max_t(u64, ktime_get_ns(), thread->event_time + 2);
	head = ring_put_lost(ring, ring->head, atomic64_read(&ring->lost), now);
	for (i = run->nr; i--; now++) {
		what = READ_ONCE(run->hits[i].what);
		if (what & PGUARD_NOTED_IS_GUARD)
			continue;
		*ring_at(ring, head++) = (struct perfguard_event){
			.time_ns = now,
			.sp = pguard_noted_sp(READ_ONCE(run->hits[i].sp), what),
			.value = READ_ONCE(run->values[i]),
			.tid = thread->tid,
			.what = event_what(PERFGUARD_EVENT_KIND_HIT, pguard_noted_id(what)),
		};
	}
	thread->event_time = now;
	ring_publish(ring, head);
out:
	preempt_enable_notrace();
}

/* An event of current was lost before it came here.  Context: as pguard_stream_put(). */
void pguard_stream_lose(void)
{
	preempt_disable_notrace();
	ring_drop(this_cpu_ptr(&rings), 1);
	preempt_enable_notrace();
}

/* Returns true if an event of current was recorded since the stream was opened. */
bool pguard_stream_knows(const struct pguard_thread *thread)
{
	return thread->opening && thread->opening == READ_ONCE(pguard_stream_opening);
}

/* Record that current's state goes, if the stream knows it.  Context: as pguard_stream_put(). */
void pguard_stream_end(struct pguard_thread *thread)
{
	if (pguard_stream_knows(thread))
		pguard_stream_put(thread, PERFGUARD_EVENT_KIND_END, 0, 0, 0);
}

/* Events that found no room since the module was loaded; any context. */
u64 pguard_stream_lost(void)
{
	u64 ret = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		ret += READ_ONCE(per_cpu_ptr(&rings, cpu)->dropped);
	return ret;
}

static void rings_free(void)
{
	struct ring *ring;
	int cpu;

	for_each_possible_cpu(cpu) {
		ring = per_cpu_ptr(&rings, cpu);
		vfree(ring->events);
		ring->events = NULL;
		ring->head = 0;
		ring->tail = 0;
		atomic64_set(&ring->lost, 0);
	}
}

/* A CPU that comes later gets none; its events are counted as lost. */
static int rings_alloc(void)
{
	size_t size = ring_events * sizeof(struct perfguard_event);
	struct ring *ring;
	int cpu, ret = 0;

	cpus_read_lock();
	for_each_online_cpu(cpu) {
		ring = per_cpu_ptr(&rings, cpu);
		ring->events = __vmalloc(size, GFP_KERNEL | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
		if (!ring->events) {
			ret = -ENOMEM;
			break;
		}
	}
	cpus_read_unlock();
	return ret;
}

/* Calls of start and stop are serialized by @taken; pguard_control is held. */
static int stream_start(void)
{
	u32 mib = rounddown_pow_of_two(READ_ONCE(stream_mib));
	int ret;

	ring_events = mib * (MIB / sizeof(struct perfguard_event));
	ret = rings_alloc();
	if (ret) {
		rings_free();
		return ret;
	}
	WRITE_ONCE(ripe, false);
	nr_openings += nr_openings == U32_MAX ? 2 : 1;
	WRITE_ONCE(opened_ns, ktime_get_ns());
	/* Who sees it open sees the rings. */
	smp_store_release(&pguard_stream_opening, nr_openings);
	queue_delayed_work(system_dfl_wq, &tick_work, TICK);
	pguard_targets_unsettle(PERFGUARD_TARGET_FLAGS_RECORD);
	return 0;
}

/* What was not read is gone; nobody reads any more. */
static void stream_stop(void)
{
	WRITE_ONCE(pguard_stream_opening, 0);
	cancel_delayed_work_sync(&tick_work);
	/* Writers have preemption off. */
	synchronize_rcu();
	irq_work_sync(&wakeup);
	rings_free();
}

/* Copy what is between tail and head, at most @nr events; how many, or an error. */
static long ring_copy(struct ring *ring, char __user *buffer, size_t nr, u64 head)
{
	size_t done = 0;

	while (ring->tail != head && done < nr) {
		u32 at = ring->tail & (ring_events - 1);
		size_t some = min3((size_t)(head - ring->tail), nr - done,
				   (size_t)(ring_events - at));

		if (copy_to_user(buffer + done * sizeof(*ring->events), &ring->events[at],
				 some * sizeof(*ring->events)))
			return -EFAULT;
		/* The writer may have the room back. */
		smp_store_release(&ring->tail, ring->tail + some);
		done += some;
	}
	return done;
}

/*
 * Read a ring.  Drops that no event has followed are reported here: those counted
 * before we looked for events came before all that we did not see.
 */
static long ring_read(struct ring *ring, char __user *buffer, size_t nr)
{
	u64 lost = atomic64_read(&ring->lost);
	struct perfguard_event event;
	long done;
	u64 head;

	smp_rmb(); /* the drops before the events */
	head = smp_load_acquire(&ring->head);
	done = ring_copy(ring, buffer, nr, head);
	if (done < 0 || done == nr || !lost || ring->tail != head ||
	    atomic64_cmpxchg(&ring->lost, lost, 0) != lost)
		return done;
	event = event_lost(ktime_get_ns(), lost);
	if (copy_to_user(buffer + done * sizeof(event), &event, sizeof(event))) {
		atomic64_add(lost, &ring->lost);
		return done ?: -EFAULT;
	}
	return done + 1;
}

/*
 * Copy what events there are to the user: bytes, or an error.  Begins with another CPU
 * each time, so that none is forgotten where the buffer is small.
 */
static ssize_t stream_read(char __user *buffer, size_t size)
{
	size_t nr = size / sizeof(struct perfguard_event), done = 0;
	long ret = 0;
	u32 i;

	if (mutex_lock_interruptible(&read_lock))
		return -ERESTARTSYS;
	WRITE_ONCE(ripe, false);
	for (i = 0; i < nr_cpu_ids && done < nr; i++) {
		next_cpu = (next_cpu + 1) % nr_cpu_ids;
		if (!cpu_possible(next_cpu))
			continue;
		ret = ring_read(per_cpu_ptr(&rings, next_cpu),
				buffer + done * sizeof(struct perfguard_event), nr - done);
		if (ret < 0)
			break;
		done += ret;
	}
	/* A full buffer leaves some behind. */
	if (done == nr)
		WRITE_ONCE(ripe, true);
	mutex_unlock(&read_lock);
	return done ? done * sizeof(struct perfguard_event) : min(ret, 0L);
}

/* Somebody has the device open. */
static atomic_t taken = ATOMIC_INIT(0);

static int device_open(struct inode *inode, struct file *file)
{
	int ret;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (atomic_cmpxchg(&taken, 0, 1))
		return -EBUSY;
	ret = mutex_lock_killable(&pguard_control) ? -EINTR : 0;
	if (!ret) {
		ret = stream_start();
		mutex_unlock(&pguard_control);
	}
	if (ret)
		atomic_set(&taken, 0);
	return ret ?: nonseekable_open(inode, file);
}

static int device_release(struct inode *inode, struct file *file)
{
	stream_stop();
	atomic_set(&taken, 0);
	return 0;
}

static ssize_t device_read(struct file *file, char __user *buffer, size_t size, loff_t *offset)
{
	ssize_t ret;

	if (size < sizeof(struct perfguard_event))
		return -EINVAL;
	while (!(ret = stream_read(buffer, size))) {
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		ret = wait_event_interruptible(readers, READ_ONCE(ripe));
		if (ret)
			break;
	}
	return ret;
}

static __poll_t device_poll(struct file *file, struct poll_table_struct *table)
{
	poll_wait(file, &readers, table);
	return READ_ONCE(ripe) ? EPOLLIN | EPOLLRDNORM : 0;
}

static const struct file_operations device_fops = {
	.owner = THIS_MODULE,
	.open = device_open,
	.release = device_release,
	.read = device_read,
	.poll = device_poll,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = PERFGUARD_FAMILY_NAME,
	.mode = 0600,
	.fops = &device_fops,
};

int __init pguard_stream_init(void)
{
	return misc_register(&device);
}

void pguard_stream_deinit(void)
{
	misc_deregister(&device);
}
