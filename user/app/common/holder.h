/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who audits, trains or records: the module knows of such a target only that it goes
 * with a socket.  So each pg-collect that has one keeps a line about it in a file of
 * HOLDER_DIRECTORY, which is locked for as long as it lives, and which others read.
 */
#ifndef _USER_APP_COMMON_HOLDER_H
#define _USER_APP_COMMON_HOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOLDER_DIRECTORY "/run/perfguard"

struct holder {
	char verb[12];
	char stage[12]; /* of a training; "" if there is none */
	uint32_t pid;
	uint32_t uid; /* who logged in, or else who runs it */
	uint64_t since_ns; /* when the stage began, CLOCK_REALTIME */
};

/* Return: a descriptor for the next two, which take 0, too; 0 if none could be made, which is no error. */
int holder_begin(uint32_t target_id, const char *verb);
void holder_note(int fd, const char *verb, const char *stage);
void holder_end(int fd, uint32_t target_id);

/* Return: true if somebody is alive who holds the target, and *@ret is that. */
bool holder_find(uint32_t target_id, struct holder *ret);

/* "'pg-collect train', process 12 of root"; at most @size bytes. */
const char *holder_text(const struct holder *holder, char *text, size_t size);

#endif /* _USER_APP_COMMON_HOLDER_H */
