#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The commands of the pages for users: each is known, and so is each of its options.

What a code block has is a command if it begins with a prompt, or if the first line of a block
without one begins with a command; the tutorial's are run, too (tests/vm/guest/79-tutorial.py).
"""

import os
import pathlib
import re
import shlex
import subprocess

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
COLLECT = os.environ.get("PG_COLLECT", str(TOP / "pg-collect"))
PAGES = ["README.md"] + [f"Documentation/{name}.md" for name in (
    "tutorial", "production", "runtimes", "runbook", "troubleshooting", "install", "service")]

# Programs of others, and what is not looked at of them: their options.
OTHERS = set("""apt cat cd chmod cp curl dkms echo head ip journalctl kill mkdir mokutil modprobe
    nginx readlink reboot rmmod seq sleep systemctl tail tee touch wrk xargs""".split())
OTHER_OPTIONS = {"--force", "--all", "--now", "--import", "--test-key", "--sb-state"}
MODULE_PARAMETERS = re.findall(r"module_param\((\w+)", "".join(
    path.read_text() for path in (TOP / "kmod").glob("**/*.c")))


def options_of_verbs():
    """The options of each verb, with the name of their value or ""."""
    found = {}
    lines = subprocess.run([COLLECT, "--list-options"], capture_output=True, text=True,
                           check=True).stdout
    for line in lines.splitlines():
        verb, option, value = line.split("\t")[:3]
        found.setdefault(verb, {"--help": ""})
        if option:
            found[verb][option] = value
    return found


VERBS = options_of_verbs()
TARGETS = set(re.findall(r"^([a-z][\w-]*(?: [a-z][\w-]*)*):(?!=)", "".join(
    path.read_text() for path in [TOP / "Makefile", *TOP.glob("*/*.mk"), *TOP.glob("*/*/*.mk")]),
    re.MULTILINE))
TARGETS = {word for target in TARGETS for word in target.split()}
TARGETS |= {word for line in re.findall(r"^\.PHONY: ((?:.*\\\n)*.*)", (TOP / "Makefile").read_text(),
                                        re.MULTILINE) for word in line.replace("\\", " ").split()}


def wrong_collect(words):
    """What is wrong with an invocation of pg-collect, its own name left out; or None."""
    if words and words[0] in ("--version", "--help", "help"):
        return None
    if not words or words[0] not in VERBS:
        return f"no verb {words[:1]}"
    known, rest = VERBS[words[0]], iter(words[1:])
    for word in rest:
        if word == "--":
            break
        if not word.startswith("-") or word == "-":
            continue
        name = word.split("=")[0]
        if name not in known:
            return f"{words[0]} has no option {name}"
        if known[name] and "=" not in word and next(rest, None) is None:
            return f"{words[0]} {name} lacks its value"
    return None


def wrong_script(words):
    path = TOP / words[0]
    if not os.access(path, os.X_OK):
        return f"no script {words[0]}"
    for word in words[1:]:
        if word.startswith("--") and word != "--" and word not in path.read_text():
            return f"{words[0]} has no option {word}"
    return None


def wrong_make(words):
    for word in words[1:]:
        if "=" not in word and not word.startswith("-") and word not in TARGETS:
            return f"no target {word}"
    return None


def wrong(words):
    """What is wrong with one simple command; or None."""
    while words and re.fullmatch(r"\w+=.*", words[0]):
        words = words[1:]
    if not words:
        return None
    if words[0] == "pg-collect":
        return wrong_collect(words[1:])
    if words[0].startswith("scripts/"):
        return wrong_script(words)
    if words[0] == "make":
        return wrong_make(words)
    if words[0] == "modprobe":
        return next((f"no parameter {word}" for word in words[2:]
                     if word.split("=")[0] not in MODULE_PARAMETERS), None)
    if words[0].startswith("/lib/modules/") or words[0] in OTHERS:
        return None
    return f"an unknown command: {words[0]}"


def simple_commands(line):
    """The words of each command of a line."""
    line = re.sub(r"\$\((uname -r|pgrep [^)]*)\)", "X", line)
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|()")
    lexer.whitespace_split, lexer.commenters = True, "#"
    words = []
    for word in lexer:
        if set(word) <= set(";&|()"):
            yield words
            words = []
        else:
            words.append(word)
    yield words


def blocks(page):
    """The code blocks: lists of lines, without their indentation."""
    block, before = [], ""
    for line in (TOP / page).read_text().splitlines() + ["end"]:
        is_code = line.startswith("    ") and (block or not before.strip())
        if is_code:
            block.append(line)
        elif not line.strip() and block:
            block.append("")
        elif block:
            yield [one.strip() for one in block if one.strip()]
            block = []
        before = line


def is_command(line):
    word = re.sub(r"^(\w+=\S* )+", "", line).split()[0]
    return word in OTHERS | {"pg-collect", "make"} or word.startswith(("scripts/", "/lib/modules/"))


def commands(block):
    """Those of a block: of it all, or of its lines with a prompt; with what is continued."""
    has_prompt = any(re.match(r"[#$] \S", line) for line in block)
    if not has_prompt and not is_command(block[0]):
        return
    is_open = False
    for line in block:
        if has_prompt and not re.match(r"[#$] \S", line):
            continue
        line = re.sub(r"^[#$] ", "", line) if has_prompt else line
        if not is_open:
            yield line.removesuffix("\\")
        is_open = line.endswith("\\")


def named_options(page):
    """Options of pg-collect that the text names: `arm --limit`, `--json`."""
    text = "\n".join(line for line in (TOP / page).read_text().splitlines()
                     if not line.startswith("    "))
    for code in re.findall(r"`([^`]+)`", text):
        words = code.replace("\n", " ").split()
        verb = next((word for word in words if word in VERBS), None)
        if words[0] in OTHERS or words[0] == "make" or words[0].startswith("scripts/"):
            continue
        for word in words:
            name = word.split("=")[0].rstrip(",;:.")
            if re.fullmatch(r"--[a-z][a-z-]*", name):
                yield verb, name


def problems(page):
    nr = 0
    for block in blocks(page):
        for line in commands(block):
            nr += 1
            for words in simple_commands(line):
                problem = wrong(words)
                if problem:
                    yield f"{problem}, in: {line}"
    for verb, name in named_options(page):
        known = VERBS[verb] if verb else {one for options in VERBS.values() for one in options}
        if name not in known and name not in OTHER_OPTIONS:
            yield f"no option {name} of {verb or 'any verb'}"
    if not nr and page.endswith(("README.md", "tutorial.md", "production.md", "install.md")):
        yield "no command was found"


def main():
    print("TAP version 13")
    failed = 0
    for number, page in enumerate(PAGES, 1):
        found = list(problems(page))
        failed += bool(found)
        print(f"{'not ok' if found else 'ok'} {number} - the commands of {page} are known")
        for one in found:
            print(f"# {one}")
    # That it finds what is wrong.
    bad = ["pg-collect adit -p 1", "pg-collect audit --slowly", "make tea", "scripts/none",
           "frobnicate now", "pg-collect watch | frobnicate", "modprobe perfguard rings=1",
           "pg-collect audit -p"]
    good = all(any(wrong(words) for words in simple_commands(line)) for line in bad)
    print(f"{'ok' if good else 'not ok'} {len(PAGES) + 1} - what is not known is found")
    print(f"1..{len(PAGES) + 1}")
    return 1 if failed or not good else 0


raise SystemExit(main())
