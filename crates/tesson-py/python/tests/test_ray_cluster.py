"""Ray Train on a cluster of three nodes, of which one is taken away. Each node is a network namespace of this machine."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

import pytest
from ray_runs import Run

pytest.importorskip("ray.train", reason="ray is not installed")
pytest.importorskip("torch", reason="torch is not installed")

NODES = 3

#: A node that does not answer for a second or two is lost, and a notice is seen within a moment.
QUICK = {
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "500",
    "RAY_health_check_failure_threshold": "3",
    "RAY_TRAIN_PREEMPTION_POLL_INTERVAL_S": "0.2",
    "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S": "20",
    "RAY_DEDUP_LOGS": "0",
    # No other process reaches the namespaces.
    "RAY_AUTH_MODE": "disabled",
}

#: Waits for a line, and says then that the node with an address will be taken away in ten minutes, as a cloud does.
NOTICE = """\
import ray, sys, time
from ray.core.generated.autoscaler_pb2 import DRAIN_NODE_REASON_PREEMPTION
ray.init(log_to_driver=False)
(node,) = [node["NodeID"] for node in ray.nodes() if node["NodeManagerAddress"] == sys.argv[1]]
client = ray._private.worker.global_worker.gcs_client
print("ready", flush=True)
input()
done, why = client.drain_node(node, DRAIN_NODE_REASON_PREEMPTION, "test", int((time.time() + 600) * 1000))
assert done, why
"""


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


class Cluster:
    """Nodes with room for one worker each, on a bridge of their own. Addresses are those set aside for tests of networks."""

    def __init__(self) -> None:
        self.tag = f"ts{os.getpid()}"
        self.names = [f"{self.tag}n{node}" for node in range(NODES)]
        self.addresses = [f"198.18.77.{node + 1}" for node in range(NODES)]
        self.address = f"{self.addresses[0]}:6379"
        run("ip", "link", "add", self.tag, "type", "bridge")
        run("ip", "link", "set", self.tag, "up")
        for name, address in zip(self.names, self.addresses, strict=True):
            run("ip", "netns", "add", name)
            run("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
            run("ip", "link", "set", name, "master", self.tag, "up")
            run("ip", "-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            run("ip", "-n", name, "link", "set", "eth0", "up")
            run("ip", "-n", name, "link", "set", "lo", "up")

    def on(self, node: int, *command: str) -> list[str]:
        """A command of Python, as one that runs on a node."""
        # The machine's name stands for no address of a namespace, so processes find each other by the interface.
        variables = {**QUICK, "GLOO_SOCKET_IFNAME": "eth0", "RAY_ADDRESS": self.address}
        environment = ["env", *(f"{name}={value}" for name, value in variables.items())]
        return ["ip", "netns", "exec", self.names[node], *environment, sys.executable, *command]

    def start(self, folder: Path) -> None:
        for node, address in enumerate(self.addresses):
            head = ["--head", "--port=6379", "--include-dashboard=false", "--disable-usage-stats", f"--temp-dir={folder}"]
            role = head if node == 0 else [f"--address={self.address}"]
            size = ["--num-cpus=1", f"--object-store-memory={80 << 20}"]
            run(*self.on(node, "-m", "ray.scripts.scripts", "start", *role, f"--node-ip-address={address}", *size))

    def notice(self, node: int) -> subprocess.Popen[str]:
        """A process that says, as soon as it is sent a line, that a node will be taken away."""
        process = subprocess.Popen(
            self.on(0, "-c", NOTICE, self.addresses[node]), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        return process

    def take_away(self, node: int) -> None:
        """Cut a node off, so that it can tell nothing to the others, and end what runs there."""
        run("ip", "link", "set", self.names[node], "down")
        self.end(node)

    def end(self, node: int) -> None:
        for process in run("ip", "netns", "pids", self.names[node]).split():
            try:
                os.kill(int(process), signal.SIGKILL)
            except ProcessLookupError:
                pass

    def remove(self) -> None:
        for node, name in enumerate(self.names):
            if Path("/run/netns", name).exists():
                self.end(node)
                run("ip", "netns", "delete", name)
        run("ip", "link", "delete", self.tag)


@contextmanager
def cluster() -> Iterator[Cluster]:
    # Not one of pytest's, since names of sockets are short.
    folder = Path(tempfile.mkdtemp())
    made = Cluster()
    try:
        made.start(folder)
        yield made
    finally:
        made.remove()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def can_make_namespaces(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--cluster"):
        pytest.skip("only with --cluster")
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("only root can make network namespaces, with iproute2")


def undisturbed(storage: Path, epochs: int, save_every: int) -> str:
    whole = Run(storage / "undisturbed", 1, epochs=epochs, save_every=save_every)
    list(whole.lines())
    return whole.digest


def sizes(run: Run) -> list[int]:
    """The numbers of workers that the run started with, one after the other."""
    found = re.findall(r"Started training worker group of size (\d+)", "".join(run.printed))
    # Nodes that share a folder of logs each print a line.
    return [int(size) for size, _ in groupby(found)]


def test_a_node_that_is_lost_changes_nothing(tmp_path: Path) -> None:
    with cluster() as nodes:
        disturbed = Run(tmp_path, 1, NODES, epochs=4, program=nodes.on(0))
        for number, _ in enumerate(disturbed.reports()):
            if number == 3:
                nodes.take_away(2)
    assert sizes(disturbed) == [3, 2], "".join(disturbed.printed[-40:])
    assert disturbed.digest == undisturbed(tmp_path, 4, 5)


def test_a_notice_that_a_node_will_be_taken_away_saves_at_once(tmp_path: Path) -> None:
    epochs, never = 12, 10**9
    sent = saved = resumed = None
    with cluster() as nodes:
        notice = nodes.notice(2)
        disturbed = Run(tmp_path, 1, NODES, epochs=epochs, save_every=never, program=nodes.on(0))
        for line in disturbed.lines():
            if "Started training worker group of size 3" in line and sent is None:
                sent = time.monotonic()
                notice.communicate("now\n", timeout=60)
            if (found := re.search(r"saved at (.*), as nodes will be taken away", line)) and saved is None:
                saved = found[1]
                print(f"saved at {saved}, {time.monotonic() - (sent or 0):.1f} s after the notice")
                nodes.take_away(2)
            if found := re.search(r"resumed at (epoch \d+, batch \d+)", line):
                resumed = found[1]
    assert notice.returncode == 0
    assert sizes(disturbed) == [3, 2], "".join(disturbed.printed[-40:])
    # Nothing else was saved, so training continues where the notice came.
    assert saved is not None and resumed == saved, "".join(disturbed.printed[-40:])
    assert disturbed.digest == undisturbed(tmp_path, epochs, never)
