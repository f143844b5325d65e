"""A run through Slurm: examples/cluster/train.sbatch on two nodes, told to end in the middle, requeued, resumed.

Brings up munged, slurmctld and two slurmd of its own on this machine, in a temporary directory; needs root.
"""
import json
import os
import shutil
import socket
import subprocess
import time
import unittest
from pathlib import Path

import launch

TOP = Path(__file__).resolve().parents[2]
NODES = ("n1", "n2")
STEPS = 200
CONFIGURATION = """\
data:
  format: features
  file: {data}
model:
  arch: mlp
  hidden: [64]
train:
  per_group: 6
  lr: 0.05
  steps: {steps}
  eval_every: 50
  checkpoint_every: 20
"""
SLURM = """\
ClusterName=gerne
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
TmpFS={folder}/tmp-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
ReturnToService=2
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Slurm:
    """Daemons with a configuration of their own; up() says what is wrong, or None."""

    def __init__(self, folder):
        self.folder = folder
        self.daemons = []
        # Nodes of one name would take each other's shared memory for their own: TCP, as between machines. Ranks
        # that wait leave the cores to the others, of which there are more than Slurm believes.
        self.environment = {**launch.environment(), "SLURM_CONF": str(folder / "slurm.conf"),
                            "OMPI_MCA_btl": "tcp,self", "OMPI_MCA_btl_tcp_if_include": "lo",
                            "OMPI_MCA_mpi_yield_when_idle": "1",
                            "PATH": f"{launch.GERNE.resolve().parent}:{os.environ['PATH']}:/usr/sbin"}

    def call(self, *words, check=True):
        return subprocess.run([str(word) for word in words], env=self.environment, capture_output=True, text=True,
                              check=check, timeout=120 * launch.PATIENCE)

    def start(self, *words):
        """In the foreground, so that it is ours to end."""
        with open(self.folder / f"{words[0]}{len(self.daemons)}.out", "w", encoding="utf-8") as said:
            self.daemons.append(subprocess.Popen(words, env=self.environment, stdout=said, stderr=said))

    def wait_for(self, condition, seconds):
        deadline = time.monotonic() + seconds * launch.PATIENCE
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.2)
        return condition()

    def is_idle(self):
        result = self.call("sinfo", "-h", "-o", "%t %D", check=False)
        return result.returncode == 0 and result.stdout.split() == ["idle", str(len(NODES))]

    def up(self):
        folder = self.folder
        for name in ("state", *(f"tmp-{node}" for node in NODES), *(f"spool-{node}" for node in NODES)):
            (folder / name).mkdir()
        (folder / "munge.key").write_bytes(os.urandom(1024))
        (folder / "munge.key").chmod(0o400)
        host = socket.gethostname().split(".")[0]
        (folder / "slurm.conf").write_text(SLURM.format(folder=folder, host=host, ports=free_ports(3)))
        self.start("munged", "--foreground", "--force", f"--key-file={folder}/munge.key", f"--socket={folder}/munge.socket",
                   f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log", f"--seed-file={folder}/munged.seed")
        if not self.wait_for((folder / "munge.socket").exists, 10):
            return "munged does not start"
        self.start("slurmctld", "-D", "-i")
        for node in NODES:
            self.start("slurmd", "-D", "-N", node)
        if not self.wait_for(self.is_idle, 30):
            log = folder / "slurmctld.log"
            return "slurmctld and slurmd do not start: " + (log.read_text() if log.exists() else "no log")[-300:]
        listed = self.call("srun", "--mpi=list", check=False)
        return None if "pmix" in listed.stdout + listed.stderr else "this Slurm has no PMIx"

    def down(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(timeout=20 * launch.PATIENCE)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


class Requeue(unittest.TestCase):
    slurm = None  # running

    def describe(self, job):
        words = self.slurm.call("scontrol", "show", "job", job, check=False).stdout.split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def test_requeue(self):
        folder = self.slurm.folder
        config, whole, run, said = (folder / name for name in ("config.yaml", "whole", "run", "job.out"))
        config.write_text(CONFIGURATION.format(data=launch.make_features(folder / "x.csv", 160)[-1], steps=STEPS))
        result = launch.gerne(4, "train", config, "--threads", 1, "--quiet", "--out", whole)
        self.assertEqual(result.returncode, 0, result.stderr)

        job = self.slurm.call("sbatch", "--parsable", "--cpus-per-task=1", "--time=10", f"--output={said}",
                              TOP / "examples/cluster/train.sbatch", config, run).stdout.strip()
        started = self.slurm.wait_for((run / "log.jsonl").exists, 60)
        self.assertTrue(started, said.read_text() if said.exists() else "the job does not start")
        self.slurm.call("scancel", "--signal=USR1", job)
        ended = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")
        self.slurm.wait_for(lambda: self.describe(job).get("JobState") in ended, 400)
        what = self.describe(job)
        self.assertEqual(what.get("JobState"), "COMPLETED", f"{what}\n{said.read_text()}")
        self.assertEqual(what["Restarts"], "1")
        self.assertIn("the run is saved", said.read_text())
        self.assertEqual(json.loads((run / "results.json").read_text())["ranks"], 4)
        for name in ("best.safetensors", "predictions.csv"):
            self.assertEqual((run / name).read_bytes(), (whole / name).read_bytes(), name)


def main():
    if os.geteuid() != 0:
        launch.skip("Slurm's daemons need root here")
    os.environ["PATH"] += ":/usr/sbin"
    for program in ("munged", "slurmctld", "slurmd", "sbatch"):
        if not shutil.which(program):
            launch.skip(f"{program} is not installed (install slurm-wlm)")
    with launch.temporary() as folder:
        slurm = Requeue.slurm = Slurm(Path(folder))
        try:
            reason = slurm.up()
            if reason:
                launch.skip(reason)
            unittest.main()
        finally:
            slurm.down()


if __name__ == "__main__":
    main()
