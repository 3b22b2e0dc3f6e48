// SPDX-License-Identifier: GPL-2.0

#include "request/connection.h"

#include "lib/charge.h"

#include <linux/hash.h>
#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <net/sock.h>

static u64 key_of(const struct pguard_connection *connection)
{
	return pguard_connection_key(connection->sk, connection->id);
}

static u32 hash_key(const void *key, u32 length, u32 seed)
{
	return hash_64(*(const u64 *)key, 32) ^ seed;
}

static u32 hash_connection(const void *object, u32 length, u32 seed)
{
	return hash_64(key_of(object), 32) ^ seed;
}

/* As the default does, without a call. */
static int differs(struct rhashtable_compare_arg *argument, const void *object)
{
	return key_of(object) != *(const u64 *)argument->key;
}

static const struct rhashtable_params params = {
	.head_offset = offsetof(struct pguard_connection, node),
	.key_len = sizeof(u64),
	.hashfn = hash_key,
	.obj_hashfn = hash_connection,
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

/*
 * Take a connection whose socket is closed, or of which nothing more is to come, out of the table,
 * into a list by its request's @gone.
 */
static void take_out(struct pguard_connection_table *table, struct pguard_connection *connection,
		     void *argument)
{
	struct pguard_connection **list = argument;

	lockdep_assert_held(&table->walk);
	spin_lock(&connection->lock);
	if ((!sock_flag(connection->sk, SOCK_DEAD) &&
	     !pguard_connection_is_over(table, connection)) ||
	    rhashtable_remove_fast(&table->hash, &connection->node, params))
		goto out;
	/* No thread knows those by datagrams again. */
	if (pguard_connection_is_datagram(connection))
		atomic_dec(&table->datagrams);
	else
		WRITE_ONCE(table->removed, table->removed + 1);
	pguard_connection_close(table, connection);
	connection->request.gone = *list;
	*list = connection;
out:
	spin_unlock(&connection->lock);
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

/* What was open with those that are closed, or over, ends, and they go. */
static void sweep(struct pguard_connection_table *table)
{
	struct pguard_connection *gone = NULL, *connection;

	visit(table, take_out, &gone);
	WRITE_ONCE(table->swept, atomic_read(&table->hash.nelems));
	/* Who looked before has them, and their sockets, still. */
	if (gone)
		synchronize_rcu();
	while ((connection = gone)) {
		gone = connection->request.gone;
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
	/* 0 is of a connection that none had. */
	if (!++table->reports)
		table->reports = 1;
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
	table->seed = get_random_u32();
	mutex_init(&table->walk);
	INIT_DELAYED_WORK(&table->sweep, sweep_work);
	pguard_late_requests_init(&table->late, watch);
	pguard_handovers_init(&table->handovers);
	pguard_socket_names_init(&table->names);
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

/* The connection of a pguard_connection_key(), or NULL.  Context: any; RCU. */
struct pguard_connection *pguard_connection_find(struct pguard_connection_table *table, u64 key)
{
	return rhashtable_lookup(&table->hash, &key, params);
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

/* Add it, or free it: there may be one already, which is returned, or no room. */
static struct pguard_connection *add(struct pguard_connection_table *table,
				     struct pguard_connection *connection)
{
	u64 key = key_of(connection);
	struct pguard_connection *other =
		rhashtable_lookup_get_insert_key(&table->hash, &key, &connection->node, params);

	if (!other) {
		sweep_soon(table);
		return connection;
	}
	/* Not the last reference: the caller keeps the socket open. */
	sock_put(connection->sk);
	kfree(connection);
	return IS_ERR(other) ? NULL : other;
}

static struct pguard_connection *connection_alloc(struct sock *sk)
{
	struct pguard_connection *connection =
		kzalloc(sizeof(*connection), GFP_NOWAIT | PGUARD_GFP_CHARGED);

	if (!connection)
		return NULL;
	spin_lock_init(&connection->lock);
	sock_hold(sk);
	connection->sk = sk;
	return connection;
}

static noinline struct pguard_connection *connection_new(struct pguard_connection_table *table,
							 struct sock *sk)
{
	struct pguard_connection *connection = connection_alloc(sk);

	if (connection) {
		connection->id = atomic_inc_return(&table->next_id) &
				 ~(PGUARD_DATAGRAM_ID | PGUARD_ASKER_ID);
		if (pguard_is_datagram(sk))
			connection->role = PGUARD_CONNECTION_DATAGRAMS;
		connection = add(table, connection);
	}
	if (!connection)
		atomic64_inc(&table->refused);
	return connection;
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
	return pguard_connection_find(table, (u64)sk) ?: connection_new(table, sk);
}

/**
 * pguard_connection_add_asker() - add the connection of the requests of a peer that asks, too
 * @table: of the target
 * @peer: in it
 *
 * Its socket is kept open by the caller.
 *
 * Context: any but interrupts; does not sleep.
 * Return: false if there is no room for it.
 */
bool pguard_connection_add_asker(struct pguard_connection_table *table,
				 const struct pguard_connection *peer)
{
	struct pguard_connection *connection = connection_alloc(peer->sk);

	if (connection) {
		connection->id = peer->id | PGUARD_ASKER_ID;
		connection->role = PGUARD_CONNECTION_CLIENT;
		rcu_read_lock();
		connection = add(table, connection);
		rcu_read_unlock();
	}
	if (!connection)
		atomic64_inc(&table->refused);
	return connection;
}

static struct pguard_connection *remote_new(struct pguard_connection_table *table, struct sock *sk,
					    u32 id, const struct pguard_remote *remote)
{
	struct pguard_connection *connection, *ret = NULL;

	if (atomic_inc_return(&table->datagrams) <= PGUARD_MAX_DATAGRAMS)
		connection = connection_alloc(sk);
	else
		connection = NULL;
	if (connection) {
		connection->id = id;
		connection->host = remote->host;
		connection->port = remote->port;
		ret = add(table, connection);
	}
	if (!ret || ret != connection)
		atomic_dec(&table->datagrams);
	return ret;
}

/**
 * pguard_connection_get_remote() - the connection of somebody by datagrams, made if there is none
 * @table: of the target
 * @sk: the socket; open, and kept so by the caller
 * @remote: the other side
 *
 * Context: any but interrupts; RCU; does not sleep.
 * Return: the connection, or NULL if there is no room for it.
 */
struct pguard_connection *pguard_connection_get_remote(struct pguard_connection_table *table,
						       struct sock *sk,
						       const struct pguard_remote *remote)
{
	u32 id = jhash2((const u32 *)remote, sizeof(*remote) / sizeof(u32), table->seed) |
		 PGUARD_DATAGRAM_ID;
	struct pguard_connection *ret =
		pguard_connection_find(table, pguard_connection_key(sk, id)) ?:
		remote_new(table, sk, id, remote);

	/* One in 2^31 is taken for another one. */
	if (ret && ret->port == remote->port && ipv6_addr_equal(&ret->host, &remote->host))
		return ret;
	atomic64_inc(&table->refused);
	return NULL;
}
