# SPDX-License-Identifier: GPL-2.0
"""OpenLDAP's slapd, over an mdb database."""

import subprocess

from programs.program import Mix, Program, Unexpected, read_some

ENTRIES = 500
SUFFIX = "dc=eval"


def ber(tag, *parts):
    """Of less than 65536 bytes."""
    body = b"".join(parts)
    length = len(body)
    if length < 128:
        return bytes([tag, length]) + body
    return bytes([tag, 0x82]) + length.to_bytes(2, "big") + body


def integer(value, tag=2):
    return ber(tag, value.to_bytes(3, "big"))


def string(words, tag=4):
    return ber(tag, words.encode())


def kinds_of(data):
    """[(tag of an answer, its code)] of whole messages, or None with one that is not."""
    found, at = [], 0
    while at < len(data):
        if at + 2 > len(data):
            return None
        length, header = data[at + 1], 2
        if length & 0x80:
            size = length & 0x7f
            length, header = int.from_bytes(data[at + 2:at + 2 + size], "big"), 2 + size
        if at + header + length > len(data):
            return None
        body = data[at + header:at + header + length]
        operation = body[2 + body[1]:]
        first = 2 + (operation[1] & 0x7f if operation[1] & 0x80 else 0)
        found.append((operation[0], operation[first + 2]))
        at += header + length
    return found


def search(base, scope, filters, wanted=()):
    return ber(0x63, string(base), integer(scope, 10), integer(0, 10), integer(0), integer(0),
               ber(1, b"\0"), filters, ber(0x30, *map(string, wanted)))


def equal(name, value):
    return ber(0xa3, string(name), string(value))


PRESENT = ber(0x87, b"objectClass")


class LdapMix(Mix):
    # Entries that come back, and the code of the end.
    answers = {"read": (1, 0), "by uid": (1, 0), "compare": (0, 6), "not there": (0, 32),
               "and": (1, 0), "modify": (0, 0), "some of it": (1, 0), "substring": (11, 0),
               "bind": (0, 0), "root": (1, 0)}
    labels = list(answers)

    def request(self, label):
        self.turn += 1
        user = f"user{self.turn % ENTRIES}"
        name = f"uid={user},ou=people,{SUFFIX}"
        return ber(0x30, integer(self.turn), {
            "read": lambda: search(name, 0, PRESENT),
            "by uid": lambda: search(SUFFIX, 2, equal("uid", user)),
            "compare": lambda: ber(0x6e, string(name), ber(0x30, string("uid"), string(user))),
            "not there": lambda: search("uid=none,ou=people," + SUFFIX, 0, PRESENT),
            "and": lambda: search(SUFFIX, 2, ber(0xa0, equal("uid", user),
                                                 equal("objectClass", "account"))),
            "modify": lambda: ber(0x66, string(name), ber(0x30, ber(0x30, integer(2, 10), ber(
                0x30, string("description"), ber(0x31, string(f"turn {self.turn}")))))),
            "some of it": lambda: search(name, 0, PRESENT, ("uid",)),
            "substring": lambda: search(SUFFIX, 2, ber(0xa4, string("uid"), ber(
                0x30, string(f"user{self.turn % 4 + 1}0", 0x80)))),
            "bind": lambda: ber(0x60, integer(3), string(f"cn=root,{SUFFIX}"), ber(0x80, b"root")),
            "root": lambda: search("", 0, PRESENT),
        }[label]())

    def answer(self, connection, label):
        data = b""
        # The end of a search is no entry (0x64).
        while not (found := kinds_of(data)) or found[-1][0] == 0x64:
            data += read_some(connection)
        nr, code = self.answers[label]
        if len(found) != nr + 1 or found[-1][1] != code:
            raise Unexpected(f"{label}: {found}")


class Server(Program):
    exe = "/usr/sbin/slapd"
    packages = ("slapd",)
    port = 7026

    def configure(self):
        (self.dir / "data").mkdir(exist_ok=True)
        (self.dir / "conf").write_text(f"""
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
modulepath /usr/lib/ldap
moduleload back_mdb
threads 4
database mdb
suffix "{SUFFIX}"
rootdn "cn=root,{SUFFIX}"
rootpw root
directory {self.dir}/data
dbnosync
index objectClass eq
index uid eq,sub
access to * by * write
""")
        entries = [f"dn: {SUFFIX}\nobjectClass: domain\ndc: eval\n",
                   f"dn: ou=people,{SUFFIX}\nobjectClass: organizationalUnit\nou: people\n"]
        entries += [f"dn: uid=user{i},ou=people,{SUFFIX}\nobjectClass: account\nuid: user{i}\n"
                    f"description: none\n" for i in range(ENTRIES)]
        (self.dir / "entries").write_text("\n".join(entries))
        subprocess.run(["slapadd", "-q", "-f", self.dir / "conf", "-l", self.dir / "entries"],
                       check=True)

    def command(self):
        return [self.exe, "-d", "0", "-f", str(self.dir / "conf"), "-h",
                f"ldap://127.0.0.1:{self.port}"]

    def connect(self):
        connection = super().connect()
        connection.sendall(ber(0x30, integer(1), ber(0x60, integer(3), string(f"cn=root,{SUFFIX}"),
                                                     ber(0x80, b"root"))))
        read_some(connection)
        return connection

    def mix(self, number, count, seed):
        return LdapMix(number, count, seed)
