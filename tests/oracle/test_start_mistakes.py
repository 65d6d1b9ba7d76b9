"""Each mistake in starting ranks: what is said, by whom, with which exit code, and that it is found in time.

A line "MISTAKE | exit code | seconds | message" is printed for each, which docs/guide/starting.md quotes.
"""

import contextlib
import datetime
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import sys
import threading
import time
import unittest

import torch
import torch.distributed as dist

from started_ranks import LONG_S, SLOW_DAY_S, Rank, StartedRanks, five, free_port

SHORT_S = 6  # a --rendezvous-timeout that a test waits for


class Mistakes(StartedRanks):
    def expect(self, name, rank, code, *expected, timeout_s=None):
        """`rank` ends with `code` and says what is expected: after `timeout_s` where the mistake is an absence, and
        otherwise long before LONG_S."""
        found, messages = rank.finish((timeout_s or 0) + SLOW_DAY_S)
        self.assertEqual(found, code, messages)
        said = [line for line in messages.splitlines() if re.match(r"ddpprof(-worker| worker): (rank \d+ failed|environment|-)", line)]
        for text in expected:
            self.assertIn(text, "\n".join(said) or messages)
        if timeout_s:
            self.assertGreaterEqual(rank.seconds, timeout_s)
        print(f"{name} | {code} | {rank.seconds:.2f} s | {said[-1] if said else messages.splitlines()[-1]}", flush=True)
        return messages

    # ---- the variables themselves: exit code 4, before LibTorch is loaded

    def test_a_missing_variable(self):
        for name in five(0, 2, 29500):
            environment = five(0, 2, 29500)
            del environment[name]
            self.expect(f"{name} missing", self.start(environment), 4, f"environment variable {name} is not set, but ",
                        "all of them, or none for one process without DDP")
        self.assertFalse(self.out.exists())

    def test_a_rank_that_is_none(self):
        for value, expected in (("one", "RANK=one is not a number"), ("-1", "RANK=-1 is negative"),
                                ("2", "RANK=2: expected less than WORLD_SIZE=2")):
            self.expect(f"RANK={value} of 2", self.start(dict(five(0, 2, 29500), RANK=value)), 4, expected)

    def test_data_parallel_over_processes(self):
        self.expect("dp with WORLD_SIZE=2", self.start(five(0, 2, 29500), "--strategy", "dp"), 2,
                    "--strategy dp is one process with replicas, but WORLD_SIZE=2")

    # ---- who is there: exit code 4

    def test_a_rank_that_never_comes(self):
        port = free_port()
        ranks = [self.start(five(rank, 3, port), timeout_s=SHORT_S) for rank in range(2)]
        self.expect("rank 2 of 3 never comes (rank 0)", ranks[0], 4, f"rank 2 of 3 did not come within {SHORT_S} s (came: rank 0 "
                    f"(process {ranks[0].pid} on ", f"rank 1 (process {ranks[1].pid} on ", timeout_s=SHORT_S)
        self.expect("rank 2 of 3 never comes (rank 1)", ranks[1], 4, f"rank 0's store at 127.0.0.1:{port} was reached, but rank 2 "
                    "of 3 did not come", timeout_s=SHORT_S / 2)

    def test_the_same_rank_twice(self):
        port = free_port()
        zero = self.start(five(0, 3, port))
        twins = [self.start(five(1, 3, port)) for _ in range(2)]
        for rank in (zero, *twins):
            messages = self.expect("rank 1 twice", rank, 4, "rank 1 came twice, as process ")
            for twin in twins:
                self.assertIn(f"process {twin.pid} on ", messages)

    def test_different_world_sizes(self):
        port = free_port()
        ranks = [self.start(five(0, 2, port)), self.start(five(1, 3, port))]
        for number, rank in enumerate(ranks):
            self.expect(f"WORLD_SIZE 2 and 3 (rank {number})", rank, 4, "the ranks differ in WORLD_SIZE: rank 0 (process ", " has 2, rank 1 ",
                        " has 3")

    def test_different_scenarios(self):
        port = free_port()
        ranks = [self.start(five(0, 2, port)), self.start(five(1, 2, port), "--set", "measure.steps=7")]
        for number, rank in enumerate(ranks):
            self.expect(f"different scenarios (rank {number})", rank, 4, "the ranks have different scenarios", "measure.steps: 6 and 7")

    def card_of_another(self, port, **changes):
        """Rank 1's card in rank 0's store, as a worker of another version or mode would leave it: rank 0's own with
        changes. Returns what rank 0's verdict says."""
        store = dist.TCPStore("127.0.0.1", port, is_master=False, timeout=datetime.timedelta(seconds=SLOW_DAY_S))
        ours = dist.PrefixStore("ddpprof//attempt-0", store)
        card = json.loads(ours.get("arrival/1"))
        card.update(rank=1, pid=os.getpid(), nonce="0123456789abcdef", **changes)
        ours.set(f"arrival/{ours.add('arrivals', 1)}", json.dumps(card))
        ours.wait(["verdict is there"], datetime.timedelta(seconds=SLOW_DAY_S))
        verdict = json.loads(ours.get("verdict"))
        ours.add("heard", 1)
        return verdict

    def test_different_versions_and_strategies(self):
        for changes, expected in (({"version": "ddpprof 9.9.9, torch 2.11.0"}, "the ranks differ in program versions: rank 0 "),
                                  ({"strategy": "bench-comm"}, "the ranks differ in strategy: rank 0 ")):
            port = free_port()
            zero = self.start(five(0, 2, port), "--overwrite")
            verdict = self.card_of_another(port, **changes)
            self.assertFalse(verdict["ok"])
            self.assertIn(expected, verdict["message"])
            self.expect(f"different {next(iter(changes))}", zero, 4, expected, next(iter(changes.values())))

    # ---- the place to meet: exit code 4

    def test_a_port_in_use(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            self.expect("port in use", self.start(five(0, 2, port)), 4, f"port {port} is in use by process {os.getpid()} (python",
                        "give this run another MASTER_PORT")

    def test_a_second_rank_0_is_refused_and_the_first_goes_on(self):
        port = free_port()
        first = self.start(five(0, 2, port))
        self.wait_for_listener(port)
        second = self.start(five(0, 2, port), out=self.path / "second")
        self.expect("a second rank 0", second, 4,
                    f"port {port} is in use by process {first.pid} (ddpprof-worker): another rank 0 may be there already")
        self.expect_done(first, self.start(five(1, 2, port)))

    def wait_for_listener(self, port):
        end = time.monotonic() + SLOW_DAY_S
        while time.monotonic() < end:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.05)
        self.fail("rank 0 never listened")

    def test_nobody_listens(self):
        port = free_port()
        self.expect("no process listens", self.start(five(1, 2, port), timeout_s=SHORT_S), 4,
                    f"nothing listens at 127.0.0.1:{port}: the connection was refused for ", timeout_s=SHORT_S)

    def test_a_name_that_does_not_resolve(self):
        # ".invalid" never resolves (RFC 6761). With and without a name server this takes getaddrinfo different times.
        for rank in (0, 1):
            self.expect(f"unknown host (rank {rank})", self.start(five(rank, 2, free_port(), "nowhere.invalid"), "--overwrite", timeout_s=SHORT_S), 4,
                        "MASTER_ADDR=nowhere.invalid does not resolve (", timeout_s=SHORT_S)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("ip"), "needs root and iproute2 for a network namespace")
    def test_no_answer(self):
        """A network of its own, whose other host is a wire without anybody: packets leave and nothing comes back."""
        network = ("ip link set lo up && ip link add wire type veth peer name end && ip addr add 10.9.8.1/24 dev wire && "
                   "ip link set wire up && ip link set end up && "
                   "ip neigh add 10.9.8.7 lladdr 02:00:00:00:00:07 dev wire nud permanent && exec \"$@\"")
        command = ["unshare", "--net", "sh", "-c", network, "sh", *self.command(timeout_s=SHORT_S)]
        rank = Rank(command, five(1, 2, 29500, "10.9.8.7"))
        self.ranks.append(rank)
        self.expect("no answer", rank, 4, "no answer from 10.9.8.7:29500 for ", timeout_s=SHORT_S)

    @unittest.skipUnless(os.geteuid() == 0, "needs root for a network namespace")
    def test_no_route(self):
        rank = Rank(["unshare", "--net", *self.command(timeout_s=SHORT_S)], five(1, 2, 29500, "10.9.8.7"))
        self.ranks.append(rank)
        self.expect("no route", rank, 4, "no route to 10.9.8.7:29500 for ", "Network is unreachable", timeout_s=SHORT_S)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("ip"), "needs root and iproute2 for network namespaces")
    def test_master_addr_of_another_host_on_rank_0(self):
        """Two hosts on a wire; rank 0 runs on one, MASTER_ADDR names the other, where no process listens."""
        network = ("unshare --net sleep 600 & other=$!; trap 'kill $other' EXIT; "
                   "ip link set lo up && ip link add wire type veth peer name end && ip addr add 10.9.8.1/24 dev wire && "
                   "ip link set wire up; until ip link set end netns $other; do sleep 0.1; done; "
                   "nsenter --target $other --net ip addr add 10.9.8.7/24 dev end; "
                   "nsenter --target $other --net ip link set end up; \"$@\"")
        rank = Rank(["unshare", "--net", "bash", "-c", network, "bash", *self.command(timeout_s=LONG_S)],
                    five(0, 2, 29500, "10.9.8.7"))
        self.ranks.append(rank)
        self.expect("MASTER_ADDR of another host on rank 0", rank, 4,
                    "MASTER_ADDR=10.9.8.7 is an address of another host: rank 0 can only listen on an address of its own host")

    def foreign_server(self, answer):
        """A server that accepts every connection on a port and sends `answer`."""
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        self.addCleanup(listener.close)
        kept = []

        def serve():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                kept.append(connection)
                if answer:
                    try:
                        connection.sendall(answer)
                    except OSError:
                        pass

        threading.Thread(target=serve, daemon=True).start()
        return listener.getsockname()[1]

    def test_another_program_answers(self):
        for name, answer in (("is silent", b""), ("talks", b"HTTP/1.1 400 Bad Request\r\n\r\n")):
            port = self.foreign_server(answer)
            rank = self.start(five(1, 2, port), "--overwrite", timeout_s=SHORT_S)
            self.expect(f"another program that {name}", rank, 4, f"127.0.0.1:{port} accepts connections but ")

    # ---- rank 0 goes away, or is another run's

    def test_rank_0_is_killed_while_others_wait(self):
        port = free_port()
        zero, one = [self.start(five(rank, 3, port)) for rank in range(2)]
        self.wait_until_met(one)
        os.kill(zero.pid, signal.SIGKILL)
        self.expect("rank 0 killed", one, 4, f"the connection to rank 0's store at 127.0.0.1:{port} was lost",
                    "rank 0 has ended, and its output says why")

    def wait_until_met(self, rank):
        """Until the rank has a connection to the store: then it waits for the verdict, or is about to."""
        end = time.monotonic() + SLOW_DAY_S
        while time.monotonic() < end:
            sockets = set()
            for path in pathlib.Path(f"/proc/{rank.pid}/fd").iterdir():
                with contextlib.suppress(FileNotFoundError):  # closed since it was listed
                    sockets.add(os.readlink(path))
            lines = [line.split() for table in ("tcp", "tcp6") for line in pathlib.Path("/proc/net", table).read_text().splitlines()]
            if any(fields[3] == "01" and f"socket:[{fields[9]}]" in sockets for fields in lines):  # 01: connected
                time.sleep(0.5)
                return
            time.sleep(0.05)
        self.fail("the rank never reached rank 0's store")

    def test_rank_0_is_stopped_while_others_wait(self):
        port = free_port()
        zero, one = [self.start(five(rank, 3, port), timeout_s=SHORT_S) for rank in range(2)]
        self.wait_until_met(one)
        os.kill(zero.pid, signal.SIGSTOP)
        self.expect("rank 0 stopped", one, 4, f"rank 0's store at 127.0.0.1:{port} stopped answering",
                    timeout_s=SHORT_S / 2)

    def test_rank_0_is_stopped_when_all_have_come(self):
        """Between the verdict and the group of ranks: a store gives the verdict, as rank 0 does, and is stopped when rank
        1 has left its first key of Gloo's there."""
        port = free_port()
        code = f'''
import datetime, json, os, signal, time, torch.distributed as dist
base = dist.TCPStore("127.0.0.1", {port}, is_master=True, wait_for_workers=False, timeout=datetime.timedelta(seconds={SLOW_DAY_S}))
store = dist.PrefixStore("ddpprof//attempt-0", base)
card = json.loads(store.get("arrival/1"))
accepted = {{"0": "0" * 16, "1": card["nonce"]}}
store.set("verdict", json.dumps({{"ok": True, "run": "f" * 16, "accepted": accepted, "message": ""}}))
store.set("verdict is there", "1")
keys = base.num_keys()
while base.num_keys() == keys:
    time.sleep(0.005)
os.kill(os.getpid(), signal.SIGSTOP)
'''
        zero = Rank([sys.executable, "-c", code, str(self.path)], {})
        self.ranks.append(zero)
        one = self.start(five(1, 2, port), "--set", "measure.timeout_s=2", timeout_s=SHORT_S)
        self.expect("rank 0 stopped when all have come", one, 4, "rank 1 failed while connecting to the other ranks: ",
                    "is rank 0's process stopped, or its host cut off?")
        os.kill(zero.pid, signal.SIGCONT)

    def test_a_rank_that_comes_to_a_run_that_is_complete(self):
        port = free_port()
        endless = ("--set", "measure.steps=1000000", "--set", "measure.trace=false")
        ranks = [self.start(five(rank, 2, port), *endless) for rank in range(2)]
        end = time.monotonic() + SLOW_DAY_S
        while not (self.out / "attempt-0" / "run-1.json").exists() and time.monotonic() < end:
            time.sleep(0.05)
        late = self.start(five(1, 2, port), *endless, out=self.path / "late")
        self.expect("a rank of a complete run", late, 4,
                    f"the run that meets here is complete, and its rank 1 is process {ranks[1].pid} on ")
        late = self.start(five(2, 3, port), *endless, out=self.path / "later")
        self.expect("a rank of a larger run", late, 4, "the run that meets here is complete with WORLD_SIZE=2, and rank 2 ")
        time.sleep(1)
        self.assertEqual([rank.process.poll() for rank in ranks], [None, None], "the run must go on")

    def test_torchrun_passes_the_message_on(self):
        """Under torchrun too: the message is on its output, and nothing is left when it has ended."""
        port = free_port()
        rank = self.torchrun("--nnodes", "1", "--nproc-per-node", "2", "--master-port", str(port),
                             command=["bash", "-c", 'export WORLD_SIZE=$((WORLD_SIZE + RANK)); exec "$@"', "bash", *self.command()])
        code, messages = rank.finish(LONG_S)
        self.assertNotEqual(code, 0, messages)
        self.assertIn("the ranks differ in WORLD_SIZE", messages)


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main()
