#!/usr/bin/env python3
"""Checks that a crawl stays correct when workers are cut off from the database by the network.

    scripts/partition.py [--porthole PATH] [--workers 3] [--pages 20000] [--cuts 3] [--latency 0.05] [--seed 1] [--no-hubs] [--keep]

PostgreSQL and every worker have their own network namespaces (`ip netns`), joined by a bridge; a second bridge leads to the generated
web of `chaos.py`. One worker after the other is cut off from the database, but not from the web: its port of the bridge silently
drops all packets. When the server has ended its session and the others have taken over its sites, the port is opened again. The crawl
continues to its end, and all checks of `chaos.py` must hold: no URL is lost or has two results, no request comes from a worker that no
longer owns the site, no site has two requests at the same time.

Needs root, iproute2 and Debian's PostgreSQL; everything runs on this machine. Exits with 1 if a check fails.
"""

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import chaos
from chaos import say

# The addresses of the database and of the web in their networks.
DATABASE, WEB = "10.77.0.1", "10.78.0.1"


def main():
    options = parse_options()
    if not shutil.which(options.porthole):
        sys.exit(f"error: there is no {options.porthole}: cargo build --release -p porthole")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="porthole-partition-"))
    os.chmod(folder, 0o755)
    network = Network(options.workers)
    cluster = None
    try:
        network.create()
        cluster = DistantCluster(folder / "pg", network)
        with NearWeb(folder / "web.log", options) as web:
            fleet = DistantFleet(options, folder, cluster, web)
            fleet.network = network
            fleet.crawl()
            failures = chaos.check(options, fleet, web)
    finally:
        if cluster:
            cluster.stop()
        network.remove()
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if failures else 0)


def parse_options():
    parser = chaos.option_parser(__doc__, workers=3, pages=20_000, latency=0.05)
    parser.add_argument("--cuts", type=int, default=3, help="how often a worker is cut off (default: %(default)s)")
    return parser.parse_args()


def command(*words):
    subprocess.run([str(word) for word in words], check=True)


class Network:
    """Namespaces for the database and the workers, and two bridges between them: one to the database, one to the web."""

    def __init__(self, workers):
        self.name = f"ph{os.getpid() % 100_000}"
        self.workers = workers
        self.bridges = {"d": f"{self.name}d", "w": f"{self.name}w"}
        self.spaces = [f"{self.name}-{who}" for who in ("db", *range(workers))]

    def space(self, worker):
        return f"{self.name}-{worker}"

    def create(self):
        for space in self.spaces:
            command("ip", "netns", "add", space)
            command("ip", "-n", space, "link", "set", "lo", "up")
        for bridge in self.bridges.values():
            command("ip", "link", "add", bridge, "type", "bridge")
            command("ip", "link", "set", bridge, "up")
        command("ip", "address", "add", f"{WEB}/24", "dev", self.bridges["w"])
        self.join("db", "d", DATABASE)
        for worker in range(self.workers):
            self.join(worker, "d", f"10.77.0.{10 + worker}")
            self.join(worker, "w", f"10.78.0.{10 + worker}")

    def port(self, who, net):
        return f"{self.name}{net}{who}"

    def join(self, who, net, address):
        """Connects a namespace to a bridge."""
        port, space = self.port(who, net), self.space(who)
        command("ip", "link", "add", port, "type", "veth", "peer", "name", f"net-{net}", "netns", space)
        command("ip", "link", "set", port, "master", self.bridges[net], "up")
        command("ip", "-n", space, "address", "add", f"{address}/24", "dev", f"net-{net}")
        command("ip", "-n", space, "link", "set", f"net-{net}", "up")

    def cut(self, worker, is_cut):
        """Makes the worker's port to the database drop all packets, or forward them again."""
        command("bridge", "link", "set", "dev", self.port(worker, "d"), "state", 0 if is_cut else 3)

    def remove(self):
        for bridge in self.bridges.values():
            subprocess.run(["ip", "link", "del", bridge], capture_output=True)
        for space in self.spaces:
            subprocess.run(["ip", "netns", "del", space], capture_output=True)


class DistantCluster(chaos.Cluster):
    """A private PostgreSQL in a namespace."""

    def __init__(self, folder, network):
        self.inside = ["ip", "netns", "exec", network.space("db")]
        super().__init__(folder)
        self.url = f"postgres://porthole@{DATABASE}:{self.port}/chaos"

    def start(self):
        rules = self.folder / "data/pg_hba.conf"
        if DATABASE not in rules.read_text():
            with rules.open("a") as file:
                file.write("host all all 10.77.0.0/24 trust\n")
        listen = f"listen_addresses=127.0.0.1,{DATABASE}"
        server = [self.bin / "postgres", "-D", self.folder / "data", "-p", str(self.port), "-c", listen]
        server += ["-c", "unix_socket_directories=", "-c", "max_connections=200"]
        self.process = subprocess.Popen([*self.inside, *self.user, *server], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(300):
            if self.ask("select 1", "postgres", "admin", check=False) == "1":
                return
            time.sleep(0.1)
        sys.exit("error: PostgreSQL did not start")

    def ask(self, sql, database="chaos", role="porthole", check=True):
        url = f"postgres://{role}@127.0.0.1:{self.port}/{database}"
        asked = subprocess.run([*self.inside, self.bin / "psql", "-XqAt", "-c", sql, url], capture_output=True, text=True)
        if check and asked.returncode:
            raise RuntimeError(asked.stderr)
        return asked.stdout.strip()


class NearWeb(chaos.Web):
    """The generated web, at an address that the workers can reach."""

    def __init__(self, log, options):
        super().__init__(log, options)
        for listening in self.sockets:
            listening.close()
        self.sockets = [socket.create_server((WEB, 0), backlog=1000) for _ in range(options.workers)]
        self.ports = [listening.getsockname()[1] for listening in self.sockets]


class DistantFleet(chaos.Fleet):
    """Workers in namespaces."""

    HOST = WEB

    def inside(self, worker):
        return ["ip", "netns", "exec", self.network.space(worker)]

    def porthole(self, *arguments):
        # Any namespace from which the database can be reached.
        words = [*self.inside(0), self.options.porthole, *map(str, arguments)]
        subprocess.run(words, check=True, capture_output=True, timeout=120)

    def run(self):
        for worker in range(self.options.workers):
            self.start(worker)
        began = time.time()
        cuts, act_at = 0, began + 8
        while any(process.poll() is None for process in self.workers):
            self.look()
            for worker, process in enumerate(self.workers):
                if process.poll() not in (None, 0):
                    say(f"worker {worker} ended with {process.returncode}; see w{worker}.log")
                    self.counts["ended with an error"] += 1
                    self.start(worker)
            if time.time() >= act_at and cuts < self.options.cuts:
                self.partition((cuts + 1) % self.options.workers)
                cuts += 1
                act_at = time.time() + 8
            if time.time() - began > 900:
                sys.exit("error: the crawl does not end")
            time.sleep(0.2)
        self.seconds = time.time() - began
        if cuts < self.options.cuts:
            sys.exit(f"error: the crawl ended after {cuts} of {self.options.cuts} partitions; use a larger --pages")

    def partition(self, worker):
        """Cuts a worker off until its session has ended and others have its sites, and for some seconds more."""
        began = time.time()
        self.network.cut(worker, True)
        while self.shards(worker) > 0 and time.time() - began < 60:
            time.sleep(0.2)
            self.look()
        say(f"worker {worker} was cut off: its sites were taken over after {time.time() - began:.1f} s")
        time.sleep(3)
        self.look()
        self.network.cut(worker, False)
        self.cuts.append((began, time.time(), worker))
        self.counts["partitions"] += 1

    def shards(self, worker):
        return int(self.cluster.ask(f"select count(*) from shard where owner = {worker}"))


if __name__ == "__main__":
    main()
