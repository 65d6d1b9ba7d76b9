"""Starts a Python script as N ranks of one host; ends all when one fails.    launch.py N SCRIPT ARGUMENT…"""

import os
import socket
import subprocess
import sys
import time

import stacks


def main():
    stacks.print_before_the_limit()
    count, command = int(sys.argv[1]), [sys.executable, "-B", *sys.argv[2:]]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ranks = [subprocess.Popen(command, env=dict(os.environ, RANK=str(rank), WORLD_SIZE=str(count), LOCAL_RANK=str(rank),
                                                MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)))
             for rank in range(count)]
    try:
        while any(rank.poll() is None for rank in ranks) and not any(rank.poll() for rank in ranks):
            time.sleep(0.05)
        failed = [(number, rank.returncode) for number, rank in enumerate(ranks) if rank.returncode]
        for number, code in failed:
            print(f"launch.py: rank {number} ended with {f'signal {-code}' if code < 0 else f'exit code {code}'}",
                  file=sys.stderr)
        return bool(failed)
    finally:
        for rank in ranks:
            if rank.poll() is None:
                rank.kill()
            rank.wait()


if __name__ == "__main__":
    sys.exit(main())
