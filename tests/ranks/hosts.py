"""Machines for mpirun on one machine: network namespaces with a name and an address each, on one bridge.

Whatever the ranks of two of them exchange goes over TCP.
"""
import os
import subprocess
import tempfile
from pathlib import Path

AGENT = """#!/bin/sh
# mpirun calls it instead of ssh: AGENT ADDRESS WORDS...
name={prefix}$(echo "$1" | sed 's/.*\\.//')
shift
exec ip netns exec "$name" unshare --uts sh -c "hostname $name; $*"
"""


def ip(*words):
    subprocess.run(["ip", *map(str, words)], check=True, capture_output=True, text=True)


def missing():
    """What stands in the way, or None."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    try:
        with Hosts(1):
            return None
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no network namespaces here: {getattr(error, 'stderr', None) or error}".strip()


class Hosts:
    """with Hosts(2) as hosts: mpirun *hosts.words(ranks_of_each) -n ..."""

    def __init__(self, count):
        self.count = count
        self.tag = f"g{os.getpid() % 100000}"
        self.network = f"10.{os.getpid() % 200 + 20}.{os.getpid() // 200 % 250}"
        self.names = [f"{self.tag}h{i + 1}" for i in range(count)]

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="gerne-hosts-")
        self.agent = Path(self.folder.name) / "agent"
        self.agent.write_text(AGENT.format(prefix=f"{self.tag}h"))
        self.agent.chmod(0o755)
        try:
            self.connect()
        except BaseException:
            self.__exit__()
            raise
        return self

    def connect(self):
        bridge = f"{self.tag}b"
        ip("link", "add", bridge, "type", "bridge")
        ip("addr", "add", f"{self.network}.254/24", "dev", bridge)
        ip("link", "set", bridge, "up")
        for i, name in enumerate(self.names):
            ip("netns", "add", name)
            ip("link", "add", f"{self.tag}v{i + 1}", "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("link", "set", f"{self.tag}v{i + 1}", "master", bridge, "up")
            ip("-n", name, "addr", "add", f"{self.network}.{i + 1}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
        subprocess.run(["ip", "link", "del", f"{self.tag}b"], capture_output=True)
        self.folder.cleanup()

    def words(self, ranks_of_each):
        """For Open MPI's mpirun."""
        hosts = ",".join(f"{self.network}.{i + 1}:{ranks_of_each}" for i in range(self.count))
        networks = [word for kind in ("btl", "oob") for word in ("--mca", f"{kind}_tcp_if_include", f"{self.network}.0/24")]
        return ["--host", hosts, "--mca", "plm_rsh_agent", str(self.agent), "--mca", "btl", "tcp,self", *networks]
