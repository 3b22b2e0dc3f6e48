// SPDX-License-Identifier: GPL-2.0

#include "probe/code.h"

#include "probe/trial.h"

#include <linux/cred.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/string.h>

#include <linux/perfguard.h>

/**
 * pguard_code_open() - open a file to read its code
 * @path: the file
 *
 * Context: may sleep.
 * Return: the file, to be given back by __fput_sync(); or ERR_PTR().
 */
struct file *pguard_code_open(const struct path *path)
{
	struct file *file = dentry_open(path, O_RDONLY | O_LARGEFILE, current_cred());

	if (!IS_ERR(file) && !(file->f_mode & FMODE_CAN_READ)) {
		__fput_sync(file);
		return ERR_PTR(-EINVAL);
	}
	return file;
}

/*
 * What the kernel refuses in any case.  It looks only when a process maps the
 * file, and is silent then if none did at first: the breakpoint never comes.
 */
static bool is_refused(const u8 *bytes, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++) {
		switch (bytes[i]) {
		case 0x26: case 0x2e: case 0x36: case 0x3e:	/* es, cs, ss, ds */
		case 0xf0:					/* lock */
			return true;
		case 0x64: case 0x65: case 0x66: case 0x67:
		case 0xf2: case 0xf3:
			continue;
		default:
			return bytes[i] == 0xcc;		/* int3 */
		}
	}
	return true;
}

/**
 * pguard_code_read() - look at the instruction at a place in a file
 * @file: from pguard_code_open()
 * @offset: of its first byte
 * @ret: filled in
 *
 * Context: may sleep.
 * Return: 0; -EINVAL beyond the end of the file; -ENOTSUPP for what no kernel
 * puts a breakpoint on; an error of reading.
 */
int pguard_code_read(struct file *file, u64 offset, struct pguard_code *ret)
{
	u8 bytes[EMULATE_MAX_LENGTH];
	loff_t position = offset;
	ssize_t size;

	if (offset > S64_MAX)
		return -EINVAL;
	size = kernel_read(file, bytes, sizeof(bytes), &position);
	if (size <= 0)
		return size ?: -EINVAL;
	if (is_refused(bytes, size))
		return -ENOTSUPP;
	if (pguard_emulate_by_kernel(bytes, size))
		ret->way = PERFGUARD_STEP_MODE_KERNEL;
	else if (pguard_trial == PERFGUARD_TRIAL_ONCE &&
		 !pguard_emulate_prepare(&ret->emulation, bytes, size))
		ret->way = PERFGUARD_STEP_MODE_MODULE;
	else
		ret->way = PERFGUARD_STEP_MODE_STEPPED;
	return 0;
}

/**
 * pguard_code_window() - can a jump take the place of the instruction at a place in a file
 * @file: from pguard_code_open()
 * @offset: of its first byte
 * @insn: takes what stands there; what is beyond the end of the file is 0
 * @ret: filled in
 *
 * Context: may sleep.
 * Return: 0; -EOPNOTSUPP; an error of reading.
 */
int pguard_code_window(struct file *file, u64 offset, u8 insn[EMULATE_MAX_LENGTH],
		       struct pguard_window *ret)
{
	loff_t position = offset;
	ssize_t size;

	memset(insn, 0, EMULATE_MAX_LENGTH);
	size = kernel_read(file, insn, EMULATE_MAX_LENGTH, &position);
	return size < 0 ? size : pguard_window_prepare(ret, insn, size);
}
