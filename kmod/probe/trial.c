// SPDX-License-Identifier: GPL-2.0

/*
 * If a handler moves the instruction pointer, the kernel is to take the instruction as
 * executed.  Kernels without commit 4363264111e1 (6.18, and stable releases since late 2025)
 * execute it once more, and the program goes on with wrong values.  A version number does
 * not say which: distributions take single commits.  So the module tries it out when it is loaded,
 * and carries out nothing unless it was right.
 *
 * The trial is a program of four instructions, in a file in memory that nobody else sees:
 *
 *	xor %edi, %edi
 *	inc %edi		carried out by the module; the kernel would step it
 *	mov $60, %eax		here another probe looks at %edi
 *	syscall			exit
 */

#include "probe/trial.h"

#include "probe/code.h"

#include <linux/completion.h>
#include <linux/elf.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/ptrace.h>
#include <linux/umh.h>
#include <linux/uprobes.h>

#include <linux/perfguard.h>

enum {
	BASE = 0x400000,	/* address of the file's first byte */
	AT_INC = 2,		/* in the code */
	AT_LOOK = 4,
	PATIENCE = 10 * HZ,
};

/* The program's file. */
struct trial_file {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	u8 code[11];
};

static const struct trial_file program = {
	.header = {
		.e_ident = {
			ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
			ELFCLASS64, ELFDATA2LSB, EV_CURRENT,
		},
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_entry = BASE + offsetof(struct trial_file, code),
		.e_phoff = offsetof(struct trial_file, segment),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
	},
	.segment = {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_vaddr = BASE,
		.p_paddr = BASE,
		.p_filesz = sizeof(struct trial_file),
		.p_memsz = sizeof(struct trial_file),
		.p_align = PAGE_SIZE,
	},
	.code = { 0x31, 0xff, 0xff, 0xc7, 0xb8, 60, 0, 0, 0, 0x0f, 0x05 },
};

u32 pguard_trial __ro_after_init = PERFGUARD_TRIAL_FAILED;
u32 pguard_trial_error __ro_after_init;

static struct pguard_emulation inc;
static struct file *file;
static char path[32] = "/proc/self/fd/";

static u32 nr_carried_out;
static unsigned long result;	/* %edi */
static DECLARE_COMPLETION(is_over);
/* The helper calls us no more; it may, some time after it was given up. */
static DECLARE_COMPLETION(is_gone);
static bool has_helper;

static int inc_handler(PGUARD_UPROBE_HANDLER_ARGS)
{
	nr_carried_out += pguard_emulate(&inc, regs);
	return 0;
}

static int look_handler(PGUARD_UPROBE_HANDLER_ARGS)
{
	result = regs->di;
	complete(&is_over);
	return 0;
}

static struct {
	struct uprobe_consumer consumer;
	struct uprobe *handle;
	loff_t offset;
} probes[] = {
	{ { .handler = inc_handler }, NULL, offsetof(struct trial_file, code) + AT_INC },
	{ { .handler = look_handler }, NULL, offsetof(struct trial_file, code) + AT_LOOK },
};

static void probes_off(u32 nr)
{
	while (nr--)
		pguard_uprobe_unregister(probes[nr].handle, file_inode(file), probes[nr].offset,
					 &probes[nr].consumer);
	pguard_uprobe_sync();
}

static int probes_on(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		probes[i].handle = pguard_uprobe_register(file_inode(file), probes[i].offset,
							  &probes[i].consumer);
		if (!IS_ERR(probes[i].handle))
			continue;
		probes_off(i);
		return PTR_ERR(probes[i].handle);
	}
	return 0;
}

/* In the process that is to be the program: the file has no name but that of a descriptor. */
static int helper_init(struct subprocess_info *info, struct cred *cred)
{
	int fd = get_unused_fd_flags(O_CLOEXEC);

	if (fd < 0)
		return fd;
	fd_install(fd, get_file(file));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return 0;
}

static void helper_cleanup(struct subprocess_info *info)
{
	fput(file);
	complete(&is_gone);
}

/* Execute the program.  Return: 0, or an error; who waits for it can be killed. */
static int program_start(void)
{
	/* They stay: the helper may be late. */
	static char *argv[2] = { "perfguard" }, *envp[1];
	struct subprocess_info *info = call_usermodehelper_setup(
		path, argv, envp, GFP_KERNEL, helper_init, helper_cleanup, NULL);

	if (!info)
		return -ENOMEM;
	get_file(file);
	has_helper = true;
	return call_usermodehelper_exec(info, UMH_WAIT_EXEC | UMH_KILLABLE);
}

static int program_wait(void)
{
	long left = wait_for_completion_killable_timeout(&is_over, PATIENCE);

	if (left <= 0)
		return left ?: -ETIMEDOUT;
	/* The kernel stepped the instruction, or somebody else was at the file. */
	return nr_carried_out == 1 ? 0 : -EINVAL;
}

static int file_try(void)
{
	loff_t position = 0;
	ssize_t size = kernel_write(file, &program, sizeof(program), &position);
	int ret;

	if (size != sizeof(program))
		return size < 0 ? size : -EIO;
	ret = probes_on();
	if (ret)
		return ret;
	ret = program_start() ?: program_wait();
	probes_off(ARRAY_SIZE(probes));
	return ret;
}

/* Return: 0 if the trial was made, and its result is known. */
static int __init trial_make(void)
{
	int ret = pguard_emulate_prepare(&inc, program.code + AT_INC, AT_LOOK - AT_INC);

	if (ret)
		return ret;
	file = pguard_memory_file("perfguard");
	if (IS_ERR(file))
		return PTR_ERR(file);
	ret = file_try();
	fput(file);
	return ret;
}

/**
 * pguard_trial_init() - make the trial
 *
 * Whatever comes of it, the module can be loaded.
 *
 * Context: may sleep, up to ten seconds, killable.
 * Return: 0
 */
int __init pguard_trial_init(void)
{
	int ret = trial_make();

	if (ret)
		pguard_trial_error = -ret;
	else if (result == 1)
		pguard_trial = PERFGUARD_TRIAL_ONCE;
	else
		pguard_trial = PERFGUARD_TRIAL_AGAIN;
	return 0;
}

/* A helper that was given up may still come by.  Context: may sleep. */
void pguard_trial_deinit(void)
{
	if (has_helper)
		wait_for_completion(&is_gone);
}
