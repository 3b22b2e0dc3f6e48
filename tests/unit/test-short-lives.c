// SPDX-License-Identifier: GPL-2.0
/* When threads that end are most of a program's work. */

#include "app/audit/short-lives.h"
#include "tap.h"

int main(void)
{
	plan(9);
	ok(short_lives_are_most(400, 2, 400), "a thread for each request, which one thread accepts");
	ok(short_lives_are_most(400, 2, 0), "or none that has units");
	ok(short_lives_are_most(400, 2, 500), "and some background work");
	ok(!short_lives_are_most(400, 2, 790), "a thread for each connection, of one request");
	ok(!short_lives_are_most(400, 2, 4400), "a thread for each connection, of ten requests");
	ok(!short_lives_are_most(20, 2, 10000), "beside much work, helpers do not matter");
	ok(!short_lives_are_most(8, 2, 0), "a few threads say nothing");
	ok(!short_lives_are_most(100, 100, 3), "a pool that ends was there before");
	ok(!short_lives_are_most(3, 100, 0), "a pool that is there is no matter");
	return tap_status();
}
