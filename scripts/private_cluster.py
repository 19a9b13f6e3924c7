"""A private PostgreSQL cluster for scripts: in a temporary folder, on a free port, ended with the script."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time


def programs():
    """The folder with PostgreSQL's programs."""
    debian = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    path = [pathlib.Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep)]
    for folder in [*debian, *path]:
        if (folder / "initdb").exists():
            return folder
    sys.exit("error: no PostgreSQL; apt-get install postgresql")


class Cluster:
    """A running cluster. Settings are those of postgresql.conf."""

    def __init__(self, folder=None, **settings):
        self.bin = programs()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="porthole-pg-", dir=folder))
        # PostgreSQL refuses to run as root.
        self.prefix = []
        if os.geteuid() == 0:
            if not shutil.which("setpriv"):
                sys.exit("error: PostgreSQL does not run as root; use another user, or install util-linux (setpriv)")
            self.prefix = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups", "--"]
            shutil.chown(self.folder, "postgres", "postgres")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.data = self.folder / "data"
        initdb = [self.bin / "initdb", "-D", self.data, "-U", "admin", "-A", "trust", "-E", "UTF8", "--locale=C"]
        self._run(*initdb, "--no-sync")
        self.process = None
        self.start(**settings)
        self.sql("create role porthole login createdb")

    def _run(self, *command):
        command = [*self.prefix, *map(str, command)]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"error: {' '.join(command)}: {done.stderr[-2000:]}")

    def start(self, **settings):
        options = {"listen_addresses": "127.0.0.1", "unix_socket_directories": "", **settings}
        flags = [flag for name, value in options.items() for flag in ("-c", f"{name}={value}")]
        command = [*self.prefix, str(self.bin / "postgres"), "-D", str(self.data), "-p", str(self.port), *flags]
        log = open(self.folder / "log", "a")
        # In a separate process group: Ctrl-C goes to this script only, which then ends the cluster.
        self.process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log, start_new_session=True)
        for _ in range(600):
            if self.process.poll() is not None:
                sys.exit(f"error: the cluster did not start: {(self.folder / 'log').read_text()[-2000:]}")
            if self.ask("select 1", check=False):
                return
            time.sleep(0.1)
        sys.exit("error: the cluster did not answer within a minute")

    def restart(self, **settings):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        self.start(**settings)

    def url(self, database, user="porthole"):
        return f"postgres://{user}@127.0.0.1:{self.port}/{database}"

    def create(self, database):
        self.sql(f"create database {database} owner porthole")
        return self.url(database)

    def ask(self, sql, database="postgres", check=True):
        psql = [str(self.bin / "psql"), "-XqAt", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-c", sql, self.url(database, "admin")]
        done = subprocess.run(psql, capture_output=True, text=True)
        if done.returncode and check:
            sys.exit(f"error: {sql}: {done.stderr}")
        return [line.split("\t") for line in done.stdout.splitlines()]

    def sql(self, sql, database="postgres"):
        self.ask(sql, database)

    def cpu_seconds(self):
        """CPU time of all processes of the cluster so far, including those that have ended."""
        tick = os.sysconf("SC_CLK_TCK")
        total, main = 0, str(self.process.pid)
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                pid, fields = stat.parent.name, stat.read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            # Its own CPU time; for the main process also that of its children that have ended.
            if pid == main:
                total += sum(map(int, fields[11:15]))
            elif fields[1] == main:
                total += sum(map(int, fields[11:13]))
        return total / tick

    def end(self):
        if self.process:
            self.process.send_signal(signal.SIGINT)
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
