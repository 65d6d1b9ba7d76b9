"""A Slurm of this test's own: munged with its own key and socket, slurmctld and slurmd, all run by this user in one folder.

Nothing of the machine's Slurm is touched, ports are the kernel's choice, and the daemons end with the context by their
own pids; the kernel ends them when this process is killed.
"""

import os
import pathlib
import signal
import socket
import subprocess
import time

from engine_runs import search_path
from started_ranks import free_port

STARTED_S = 120  # for a daemon to be ready on a busy machine

CONFIGURATION = """
ClusterName=ddpprof
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
ReturnToService=2
MessageTimeout=60
KillWait=5
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=1 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class PrivateSlurm:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.daemons = []

    def environment(self):
        """What srun and sbatch need to find this Slurm."""
        return {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self):
        for name in ("munge", "state", "spool"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "munge").chmod(0o755)  # munged insists on a socket that all can reach
        self.folder.chmod(0o755)
        key = self.folder / "munge" / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        munge = self.folder / "munge"
        # --force accepts a folder below a world-writable one: here it is a temporary folder.
        self.daemon("munged", "--force", "--foreground", f"--key-file={key}", f"--socket={munge}/socket",
                    f"--pid-file={munge}/pid", f"--seed-file={munge}/seed", "--num-threads=2")
        self.wait(lambda: subprocess.run(["munge", "--no-input", f"--socket={munge}/socket", "--output=/dev/null"],
                                         env=self.tools(), capture_output=True, timeout=60).returncode == 0,
                  "munged answers")
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True, timeout=30).stdout.strip()
        ports = {free_port() for _ in range(8)}
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=socket.gethostname(), controller_port=ports.pop(), node_port=ports.pop(), folder=self.folder, user=user))
        configuration = str(self.folder / "slurm.conf")
        self.daemon("slurmctld", "-D", "-i", "-f", configuration)
        self.daemon("slurmd", "-D", "-f", configuration)
        self.wait(lambda: "idle" in self.say("sinfo", "--noheader", "--format=%t"), "the node is idle")

    def tools(self):
        return {**os.environ, **self.environment(), "PATH": search_path()}

    def say(self, *command):
        result = subprocess.run(command, env=self.tools(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                timeout=STARTED_S)
        return result.stdout

    def daemon(self, *command):
        log = open(self.folder / f"{command[0]}.out", "w")
        # Its own group: what reaches the test's terminal does not reach it.
        self.daemons.append((command[0], subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *command], env=self.tools(), stdin=subprocess.DEVNULL, stdout=log,
            stderr=log, start_new_session=True)))
        log.close()

    def wait(self, condition, what):
        end = time.monotonic() + STARTED_S
        while not condition():
            gone = [name for name, process in self.daemons if process.poll() is not None]
            if gone or time.monotonic() > end:
                raise RuntimeError(f"not so: {what}; {', '.join(gone) or 'nothing'} has ended\n{self.last_words()}")
            time.sleep(0.2)

    def last_words(self):
        return "\n".join(f"{path.name}: {path.read_text(errors='replace')[-1500:]}"
                         for path in sorted([*self.folder.glob("*.out"), *self.folder.glob("*.log")]))

    def __exit__(self, *_):
        if any(name == "slurmctld" and process.poll() is None for name, process in self.daemons):
            self.say("scancel", "--full", "--user", str(os.getuid()))  # the jobs' processes first, while Slurm knows them
            end = time.monotonic() + 60
            while self.say("squeue", "--noheader").strip() and time.monotonic() < end:
                time.sleep(0.2)
        for _, process in reversed(self.daemons):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(30)
        self.daemons = []
