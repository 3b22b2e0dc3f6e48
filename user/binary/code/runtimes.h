/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The runtimes of languages that a file can have in it, or call: by functions of their
 * programming interfaces, which it exports or imports.
 */
#ifndef _USER_BINARY_CODE_RUNTIMES_H
#define _USER_BINARY_CODE_RUNTIMES_H

#include <libelf.h>
#include <stdint.h>

enum runtime_kind {
	RUNTIME_INTERPRETER, /* its own functions run while it carries out a program */
	RUNTIME_EMBEDDED, /* the same; most programs that have it do other work most of the time */
	RUNTIME_COMPILER, /* it makes code as it runs, which is in no file */
};

struct language_runtime {
	const char *name;
	enum runtime_kind kind;
	const char *symbols[4]; /* any of these */
	const char *running[4]; /* of an interpreter: its functions below which it carries out programs */
};

#define RUNTIMES_NR 12

extern const struct language_runtime runtimes[RUNTIMES_NR];

/* The name of the interpreter that carries out a program in @function, or NULL. */
const char *runtimes_interpreter(const char *function);

/* A set of runtimes: bit N stands for runtimes[N]. */
uint32_t runtimes_find(Elf *elf);

#endif /* _USER_BINARY_CODE_RUNTIMES_H */
