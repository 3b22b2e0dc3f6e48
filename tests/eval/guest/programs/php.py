# SPDX-License-Identifier: GPL-2.0
"""nginx, which asks php-fpm by a local socket, which asks MariaDB by TCP or by another one."""

import subprocess

from subjects.mariadb import BIG_ROWS, BigServer

from . import mariadb, nginx
from .http import HttpMix
from .program import Program

# By TCP, and by a local socket.
WAYS = ("tcp", "unix")

# What pages ask of the database, and what makes the same statements slow.
USUAL = {
    "point select": "select c from t0 where id=5",
    "range order": "select c from t0 where id between 20 and 29 order by c",
    "like scan": "select count(*) from s where c like '%x7%'",
    "sha": "select sha1(repeat('a', 25))",
    "regexp": "select concat(repeat('a', 4), 'b') regexp '^(a+)+$'",
    "scan": "select sum((select count(*) from s x where x.c = s.c)) from s where id <= 2",
}
SLOW = {
    "sha": "select sha1(repeat(repeat('a', 1024), 128 * 1024))",
    "regexp": "select concat(repeat('a', 21), 'b') regexp '^(a+)+$'",
    "scan": "select sum((select count(*) from big where n = s.id)) from s where id <= 12",
    "sort": f"select c from big order by md5(c) limit {BIG_ROWS // 2}, 1",
}


class Database(BigServer):
    def options(self, data=None):
        return [*mariadb.Server.options(self, data), "--max-allowed-packet=256M"]

    def socket(self):
        return f"{self.dir}/socket"


class Pool(Program):
    """The processes that run the scripts."""

    exe = "/usr/sbin/php-fpm8.2"

    def __init__(self, database):
        super().__init__()
        self.dir = self.dir.with_name("php-pool")
        self.database = database

    def socket(self):
        return f"{self.dir}/socket"

    def configure(self):
        listed = ",\n".join(f'"{name}" => "{text}"' for name, text in [
            *USUAL.items(), *((f"slow {name}", text) for name, text in SLOW.items())])
        (self.dir / "page.php").write_text(f"""<?php
$statements = [{listed}];
$database = $_GET["way"] == "unix"
	? new mysqli("localhost", "eval", "", "d", 0, "{self.database.socket()}")
	: new mysqli("127.0.0.1", "eval", "", "d", {self.database.port});
foreach ($database->query($statements[$_GET["ask"]]) as $row)
	echo implode(" ", $row), "\\n";
""")
        (self.dir / "conf").write_text(f"""
[global]
error_log = {self.dir}/error.log
daemonize = no
[www]
user = www-data
listen = {self.socket()}
listen.mode = 0666
pm = static
pm.max_children = 2
catch_workers_output = yes
""")

    def command(self):
        return [self.exe, "-F", "-y", str(self.dir / "conf")]

    def is_up(self):
        return (self.dir / "socket").exists()


class PageMix(HttpMix):
    pages = {f"{name} by {way}": ("GET", f"/page.php?way={way}&ask={name.replace(' ', '+')}", {},
                                  200)
             for name in USUAL for way in WAYS}


class Server(nginx.Server):
    port = 7044
    packages = ("php8.2-fpm", "php8.2-mysql")

    def __init__(self):
        super().__init__()
        self.database = Database()
        self.pool = Pool(self.database)

    def install(self):
        self.database.install()

    def configure(self):
        super().configure()
        path = self.dir / "conf"
        path.write_text(path.read_text().replace("		location /list/", f"""\
		location = /page.php {{
			include /etc/nginx/fastcgi_params;
			fastcgi_param SCRIPT_FILENAME {self.pool.dir}/page.php;
			fastcgi_pass unix:{self.pool.socket()};
			fastcgi_read_timeout 600s;
		}}
		location /list/""", 1))

    def start(self):
        for program in self.database, self.pool:
            program.start()
        super().start()

    def stop(self):
        super().stop()
        for program in self.pool, self.database:
            program.stop()

    def mix(self, number, count, seed):
        return PageMix(number, count, seed)


def version():
    """Of Debian's packages."""
    return subprocess.run(
        ["dpkg-query", "-W", "-f=${Package} ${Version}, ", "nginx", "php8.2-fpm", "mariadb-server"],
        capture_output=True, text=True, check=False).stdout.rstrip(", ")
