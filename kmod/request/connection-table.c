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

/* As the default does, but for a call. */
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

enum { SWEEP_LEAST = 1024 };

static void connection_free(void *pointer, void *unused)
{
	struct pguard_connection *connection = pointer;

	sock_put(connection->sk);
	kfree_rcu(connection, rcu);
}

/* Its socket is closed: what was open with it ends, and it goes.  Context: RCU. */
static void connection_remove(struct pguard_connection_table *table,
			      struct pguard_connection *connection)
{
	/* Or another one does it just now. */
	if (rhashtable_remove_fast(&table->hash, &connection->node, params))
		return;
	pguard_connection_close(table, connection);
	/* Who still sees the number that was is waited for. */
	WRITE_ONCE(table->removed, table->removed + 1);
	connection_free(connection, NULL);
}

/* Take out the connections whose sockets are closed; @each is called for the others, if any. */
static void sweep(struct pguard_connection_table *table,
		  void (*each)(struct pguard_connection *, struct pguard_request_report *),
		  struct pguard_request_report *report)
{
	struct pguard_connection *connection;
	struct rhashtable_iter iter;

	rhashtable_walk_enter(&table->hash, &iter);
	rhashtable_walk_start(&iter);
	while ((connection = rhashtable_walk_next(&iter))) {
		/* The table grew or shrank: the walk goes on, and sees some of them twice. */
		if (IS_ERR(connection))
			continue;
		if (sock_flag(connection->sk, SOCK_DEAD))
			connection_remove(table, connection);
		else if (each)
			each(connection, report);
	}
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
	WRITE_ONCE(table->swept, atomic_read(&table->hash.nelems));
}

/**
 * pguard_connection_table_read() - the requests up to now
 * @table: by whose connections they came
 * @ret: filled in; those that were answered count, whether they are over or not
 *
 * Context: may sleep.
 */
void pguard_connection_table_read(struct pguard_connection_table *table,
				  struct pguard_request_report *ret)
{
	sweep(table, NULL, NULL);
	pguard_request_sums_read(&table->sums, ret);
	sweep(table, pguard_connection_tell, ret);
}

static void sweep_work(struct work_struct *work)
{
	struct pguard_connection_table *table =
		container_of(to_delayed_work(work), struct pguard_connection_table, sweep);

	sweep(table, NULL, NULL);
	if (READ_ONCE(table->swept))
		queue_delayed_work(system_dfl_wq, &table->sweep, HZ);
}

/* Return: a table for a target that wants requests, or NULL.  Context: may sleep. */
struct pguard_connection_table *pguard_connection_table_new(void)
{
	struct pguard_connection_table *table =
		kvzalloc(sizeof(*table), GFP_KERNEL | PGUARD_GFP_CHARGED);

	if (!table)
		return NULL;
	INIT_DELAYED_WORK(&table->sweep, sweep_work);
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

	sweep_soon(table);
	connection = kzalloc(sizeof(*connection), GFP_NOWAIT | PGUARD_GFP_CHARGED);
	if (!connection)
		goto refused;
	spin_lock_init(&connection->lock);
	connection->id = atomic_inc_return(&table->next_id);
	connection->sk = sk;
	other = rhashtable_lookup_get_insert_fast(&table->hash, &connection->node, params);
	if (!other) {
		/* Nobody takes it out before: the caller keeps the socket open. */
		sock_hold(sk);
		return connection;
	}
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
