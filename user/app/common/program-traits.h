/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What can be expected of a program, by its file and the libraries it has loaded: before anything
 * is put into it.
 */
#ifndef _USER_APP_COMMON_PROGRAM_TRAITS_H
#define _USER_APP_COMMON_PROGRAM_TRAITS_H

#include <stdbool.h>

#include "app/common/check-report.h"
#include "app/common/selector.h"

/* Print what is found of the program that @selector has resolved.  Returns 0 or an exit code. */
int program_traits_check(struct findings *findings, const struct selector *selector);

/* Say in one line, if it is so, that units of the program are not what they are in others. */
void program_traits_note(const struct selector *selector);

/* The same for who is to train on it.  Returns 0, or CMD_FAILED if that cannot be, reported. */
int program_traits_admit(const struct selector *selector);

/* As the first, of the file @fd at @path, which the caller keeps. */
void program_traits_note_file(int fd, const char *path);

#endif /* _USER_APP_COMMON_PROGRAM_TRAITS_H */
