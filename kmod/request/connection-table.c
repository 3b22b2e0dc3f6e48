// SPDX-License-Identifier: GPL-2.0

#include "request/connection.h"

#include "lib/charge.h"

#include <linux/hash.h>
#include <linux/rhashtable.h>
#include <net/sock.h>

static u32 hash_sk(const void *key, u32 length, u32 seed)
{
	return hash_ptr(*(void *const *)key, 32) ^ seed;
}

/* As the default does, without a call. */
static int differs(struct rhashtable_compare_arg *argument, const void *object)
{
	const struct pguard_connection *connection = object;

	return connection->sk != *(struct sock *const *)argument->key;
}

static const struct rhashtable_params params = {
	.head_offset = offsetof(struct pguard_connection, node),
	.key_offset = offsetof(struct pguard_connection, sk),
	.key_len = sizeof(struct sock *),
	.hashfn = hash_sk,
	.obj_cmpfn = differs,
	/* It takes twice as many. */
	.max_size = PGUARD_MAX_CONNECTIONS / 2,
	.automatic_shrinking = true,
};

enum { SWEEP_LEAST = 1024, VISITS = 256 };

/* Nobody uses it any more.  Context: may sleep, as some sockets' ends do. */
static void connection_free(void *pointer, void *unused)
{
	struct pguard_connection *connection = pointer;

	sock_put(connection->sk);
	kfree(connection);
}

/*
 * Visit the connections, with pauses: a table may have tens of thousands of them.  While it
 * grows or shrinks, some are visited twice.
 */
static void visit(struct pguard_connection_table *table,
		  void (*one)(struct pguard_connection_table *table,
			      struct pguard_connection *connection, void *argument),
		  void *argument)
{
	struct pguard_connection *connection;
	struct rhashtable_iter iter;
	u32 nr = 0;

	rhashtable_walk_enter(&table->hash, &iter);
	rhashtable_walk_start(&iter);
	while ((connection = rhashtable_walk_next(&iter))) {
		if (!IS_ERR(connection))
			one(table, connection, argument);
		if (++nr % VISITS)
			continue;
		rhashtable_walk_stop(&iter);
		cond_resched();
		rhashtable_walk_start(&iter);
	}
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
}

/* Take a connection whose socket is closed out of the table, into a list by @gone. */
static void take_out(struct pguard_connection_table *table, struct pguard_connection *connection,
		     void *argument)
{
	struct pguard_connection **list = argument;

	lockdep_assert_held(&table->walk);
	if (!sock_flag(connection->sk, SOCK_DEAD) ||
	    rhashtable_remove_fast(&table->hash, &connection->node, params))
		return;
	WRITE_ONCE(table->removed, table->removed + 1);
	connection->gone = *list;
	*list = connection;
}

/* Add the request that was answered, but is not over, to a report. */
static void report(struct pguard_connection_table *table, struct pguard_connection *connection,
		   void *argument)
{
	lockdep_assert_held(&table->walk);
	if (connection->reported == table->reports)
		return;
	connection->reported = table->reports;
	pguard_connection_report(connection, argument);
}

static void forget(struct pguard_connection_table *table, struct pguard_connection *connection,
		   void *unused)
{
	spin_lock(&connection->lock);
	WRITE_ONCE(connection->is_open, false);
	spin_unlock(&connection->lock);
}

/*
 * Requests are not followed any more, so the end of those that are open would not be seen.
 * Context: may sleep.
 */
void pguard_connection_table_forget(struct pguard_connection_table *table)
{
	visit(table, forget, NULL);
}

struct look {
	u64 soonest;	/* ticks, as the next one */
	u64 next;
};

static void look(struct pguard_connection_table *table, struct pguard_connection *connection,
		 void *argument)
{
	struct look *look = argument;

	look->next = min(look->next, pguard_connection_look(table, connection, look->soonest));
}

/**
 * pguard_connection_table_look() - look for requests that are to be reported
 * @table: to whose late requests they are added
 * @soonest: in how many ticks one that begins now may be late
 *
 * Context: may sleep.
 * Return: in how many ticks the next one can be due; 0: some found no room; U64_MAX: none can.
 */
u64 pguard_connection_table_look(struct pguard_connection_table *table, u64 soonest)
{
	struct look state = { soonest, U64_MAX };

	visit(table, look, &state);
	return state.next;
}

/* What was open with those whose sockets are closed ends, and they go. */
static void sweep(struct pguard_connection_table *table)
{
	struct pguard_connection *gone = NULL, *connection;

	visit(table, take_out, &gone);
	WRITE_ONCE(table->swept, atomic_read(&table->hash.nelems));
	for (connection = gone; connection; connection = connection->gone)
		pguard_connection_close(table, connection);
	/* Who looked before has them, and their sockets, still. */
	if (gone)
		synchronize_rcu();
	while ((connection = gone)) {
		gone = connection->gone;
		connection_free(connection, NULL);
	}
}

/**
 * pguard_connection_table_read() - the requests up to now
 * @table: by whose connections they came
 * @ret: filled in; those that were answered count, whether they are over or not
 *
 * Context: may sleep, for a grace period.
 */
void pguard_connection_table_read(struct pguard_connection_table *table,
				  struct pguard_request_report *ret)
{
	mutex_lock(&table->walk);
	sweep(table);
	pguard_request_sums_read(&table->sums, ret);
	table->reports++;
	visit(table, report, ret);
	mutex_unlock(&table->walk);
}

static void sweep_work(struct work_struct *work)
{
	struct pguard_connection_table *table =
		container_of(to_delayed_work(work), struct pguard_connection_table, sweep);

	mutex_lock(&table->walk);
	sweep(table);
	mutex_unlock(&table->walk);
	if (READ_ONCE(table->swept))
		queue_delayed_work(system_dfl_wq, &table->sweep, HZ);
}

/**
 * pguard_connection_table_new() - a table for a target that wants requests
 * @target: outlives it
 * @watch: the work of the table's late requests
 *
 * Context: may sleep.
 * Return: the table, or NULL for lack of memory.
 */
struct pguard_connection_table *pguard_connection_table_new(struct pguard_target *target,
							    work_func_t watch)
{
	struct pguard_connection_table *table =
		kvzalloc(sizeof(*table), GFP_KERNEL | PGUARD_GFP_CHARGED);

	if (!table)
		return NULL;
	table->target = target;
	mutex_init(&table->walk);
	INIT_DELAYED_WORK(&table->sweep, sweep_work);
	pguard_late_requests_init(&table->late, watch);
	pguard_handovers_init(&table->handovers);
	if (pguard_request_sums_init(&table->sums))
		goto err_free;
	if (rhashtable_init(&table->hash, &params))
		goto err_sums;
	return table;

err_sums:
	pguard_request_sums_deinit(&table->sums);
err_free:
	kvfree(table);
	return NULL;
}

/* No thread comes by it any more; NULL is none.  Context: may sleep. */
void pguard_connection_table_free(struct pguard_connection_table *table)
{
	if (!table)
		return;
	cancel_delayed_work_sync(&table->sweep);
	cancel_delayed_work_sync(&table->late.watch);
	rhashtable_free_and_destroy(&table->hash, connection_free, NULL);
	pguard_request_sums_deinit(&table->sums);
	kvfree(table);
}

/* The connection of a socket, or NULL.  Context: any; RCU. */
struct pguard_connection *pguard_connection_find(struct pguard_connection_table *table,
						 const struct sock *sk)
{
	return rhashtable_lookup(&table->hash, &sk, params);
}

/* Many sockets may have been closed since the last sweep. */
static void sweep_soon(struct pguard_connection_table *table)
{
	u32 nr = atomic_read(&table->hash.nelems), swept = READ_ONCE(table->swept);

	if (nr > 2 * swept + SWEEP_LEAST)
		mod_delayed_work(system_dfl_wq, &table->sweep, 0);
	else
		queue_delayed_work(system_dfl_wq, &table->sweep, HZ);
}

static noinline struct pguard_connection *connection_new(struct pguard_connection_table *table,
							 struct sock *sk)
{
	struct pguard_connection *connection, *other;

	connection = kzalloc(sizeof(*connection), GFP_NOWAIT | PGUARD_GFP_CHARGED);
	if (!connection)
		goto refused;
	spin_lock_init(&connection->lock);
	connection->id = atomic_inc_return(&table->next_id);
	sock_hold(sk);
	connection->sk = sk;
	other = rhashtable_lookup_get_insert_fast(&table->hash, &connection->node, params);
	if (!other) {
		sweep_soon(table);
		return connection;
	}
	/* Not the last reference: the caller keeps the socket open. */
	sock_put(sk);
	kfree(connection);
	if (!IS_ERR(other))
		return other;
refused:
	atomic64_inc(&table->refused);
	return NULL;
}

/**
 * pguard_connection_get() - the connection of a socket, made if there is none
 * @table: of the target
 * @sk: open, and kept so by the caller
 *
 * Context: any but interrupts; RCU; does not sleep.
 * Return: the connection, or NULL if there is no room for it.
 */
struct pguard_connection *pguard_connection_get(struct pguard_connection_table *table,
						struct sock *sk)
{
	return pguard_connection_find(table, sk) ?: connection_new(table, sk);
}
