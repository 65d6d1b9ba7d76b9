"""Ranks on networks that one does not trust: where rank 0 listens, what the run's token keeps out, and files that come
home through the ranks' store. Real processes, real stores; hosts are network namespaces where the machine makes them."""

import datetime
import errno
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

import torch
import torch.distributed as dist

from started_ranks import LONG_S, SLOW_DAY_S, Rank, StartedRanks, clean_environment, five, free_port
from tiers import LONG, long_test

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cluster"))
import hosts as cluster  # noqa: E402

SHORT_S = 6  # a --rendezvous-timeout that a test waits for
ENDLESS = ("--set", "measure.steps=1000000", "--set", "measure.trace=false")
SECRET = "kq7Zb1xJd0s2VfYw8LmN3RtUeHgPcXa5"
REFUSED_BY_KERNEL = errno.ECONNREFUSED


def knock(address, port):
    with socket.socket() as probe:
        probe.settimeout(10)
        return probe.connect_ex((address, port))


class Networks(StartedRanks):
    def until(self, done, what, limit_s=LONG_S):
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            if done():
                return
            time.sleep(0.05)
        self.fail(f"not within {limit_s} s: {what}")

    def expect(self, rank, code, *expected):
        found, messages = rank.finish(LONG_S / 2)  # at once, or a test that waits for nothing would pass slowly
        self.assertEqual(found, code, messages)
        for text in expected:
            self.assertIn(text, messages)
        return messages

    def token(self, name="token", secret=SECRET, mode=0o600):
        path = self.path / name
        path.write_text(secret + "\n")
        path.chmod(mode)
        return path

    def said(self, rank, text):
        """Reads `rank`'s standard error until `text` has come."""
        heard = b""

        def look():
            nonlocal heard
            if select.select([rank.process.stderr], [], [], 0)[0]:
                heard += os.read(rank.process.stderr.fileno(), 1 << 16)
            return text.encode() in heard
        self.until(look, f"rank 0 says {text!r}")


class Listening(Networks):
    def test_on_the_given_address_alone(self):
        for address, other in (("127.0.0.2", "127.0.0.1"), ("localhost", "127.0.0.2"))[:2 if LONG else 1]:
            port = free_port()
            zero = self.start(five(0, 2, port, address), "--overwrite")
            self.until(lambda: knock(address, port) == 0, "rank 0 listens")
            self.assertEqual(knock(other, port), REFUSED_BY_KERNEL)
            self.expect_done(zero, self.start(five(1, 2, port, address), "--overwrite"))

    @long_test
    def test_elsewhere_where_one_says_so(self):
        """MASTER_ADDR leads to rank 0 for others only, as address translation does; it is not an address of this host."""
        for listen in ("127.0.0.1", "localhost"):
            port = free_port()
            zero = self.start(five(0, 2, port, "192.0.2.7"), "--overwrite", "--listen", listen)
            self.expect_done(zero, self.start(five(1, 2, port), "--overwrite", "--listen", listen))

    @long_test
    def test_not_where_it_cannot(self):
        self.expect(self.start(five(0, 2, free_port(), "192.0.2.7")), 4, "MASTER_ADDR=192.0.2.7 is an address of another host",
                    "give --listen ADDRESS")
        self.expect(self.start(five(0, 2, free_port()), "--overwrite", "--listen", "192.0.2.7"), 4,
                    "--listen 192.0.2.7 is not an address of this host")
        loopback = dict(five(0, 2, free_port(), "localhost"), LOCAL_WORLD_SIZE="1")
        self.expect(self.start(loopback, "--overwrite"), 4, "which other hosts cannot reach, and ranks on other hosts are expected")
        step = {"SLURM_PROCID": "0", "SLURM_NTASKS": "2", "SLURM_LOCALID": "0", "SLURM_STEP_NODELIST": "localhost",
                "SLURM_STEP_NUM_NODES": "2", "SLURM_STEP_ID": "0", "MASTER_PORT": str(free_port())}
        self.expect(self.start(step, "--overwrite"), 4, "which other hosts cannot reach, and ranks on other hosts are expected")


class Tokens(Networks):
    def test_is_nowhere_to_be_seen(self):
        token = self.token()
        port = free_port()
        ranks = [self.start(five(rank, 2, port), "--token-file", token, *ENDLESS[:2]) for rank in range(2)]
        self.until((self.out / "attempt-0" / "run-1.json").exists, "the ranks met")
        for rank in ranks:
            for place in ("cmdline", "environ"):
                self.assertNotIn(SECRET.encode(), pathlib.Path(f"/proc/{rank.pid}/{place}").read_bytes())
        for rank in ranks:
            os.kill(rank.pid, signal.SIGKILL)
            rank.process.communicate()
        files = [path for path in self.out.rglob("*") if path.is_file()]
        self.assertGreater(len(files), 6)
        for path in files:
            self.assertNotIn(SECRET.encode(), path.read_bytes(), path)

    @long_test
    def test_ranks_with_the_token_train(self):
        """From a file, from the variable, and from a pipe, each once."""
        token = self.token()
        port = free_port()
        ranks = [self.start(five(0, 3, port), "--token-file", token),
                 self.start(dict(five(1, 3, port), DDPPROF_TOKEN_FILE=str(token)))]
        piped = Rank(["bash", "-c", 'exec "$@" --token-file <(cat "$0")', str(token), *self.command()], five(2, 3, port))
        self.ranks.append(piped)
        messages = self.expect_done(*ranks, piped)
        self.assertNotIn(SECRET, messages)
        result = self.ddpprof("import", self.out, "--out", self.path / "run.db")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn(SECRET.encode(), (self.path / "run.db").read_bytes())

    def test_strangers_are_refused_and_the_run_goes_on(self):
        token = self.token()
        port = free_port()
        zero = self.start(five(0, 2, port), "--token-file", token)
        self.until(lambda: knock("127.0.0.1", port) == 0, "rank 0 listens")
        strangers = {"none": (), "another": ("--token-file", self.token("other", SECRET[::-1]))}
        for name, option in strangers.items():
            stranger = self.start(five(1, 2, port), *option, out=self.path / name)
            self.expect(stranger, 4, f"rank 0's store at 127.0.0.1:{port} was reached, and refused this process: it "
                        + ("was started without this run's token" if name == "none" else "has another token than rank 0"))
            self.said(zero, f"rank 0 refuses process {stranger.pid} on ")
        # Another size of world would end a run without a token at once.
        self.expect(self.start(five(2, 3, port), out=self.path / "larger"), 4, "was started without this run's token")
        self.expect_done(zero, self.start(five(1, 2, port), "--token-file", token))
        late = [path for path in self.out.rglob("result-*.json")]
        self.assertEqual(len(late), 2)

    @long_test
    def test_a_rank_that_was_given_no_token_is_named(self):
        token = self.token()
        port = free_port()
        zero = self.start(five(0, 2, port), "--token-file", token, timeout_s=SHORT_S)
        one = self.start(five(1, 2, port), timeout_s=SHORT_S)
        self.expect(one, 4, "was started without this run's token (--token-file)")
        self.expect(zero, 4, f"rank 1 of 2 did not come within {SHORT_S} s", f"refused: process {one.pid} on ",
                    "which came as rank 1, which was started without this run's token")

    @long_test
    def test_a_rank_0_that_was_given_no_token(self):
        port = free_port()
        ranks = [self.start(five(0, 2, port)), self.start(five(1, 2, port), "--token-file", self.token())]
        self.expect(ranks[0], 4, f"rank 1 (process {ranks[1].pid} on ", "was given a token (--token-file), and rank 0 (process ", " none")
        self.expect(ranks[1], 4, f"the process that serves 127.0.0.1:{port} has no token, which this rank has")

    def test_a_file_that_others_may_read(self):
        for mode in (0o644, 0o640, 0o604) if LONG else (0o640,):
            self.expect(self.start(five(0, 2, free_port()), "--token-file", self.token(mode=mode)), 2,
                        "so other users than its owner may use it: expected 0600 or 0400")
        self.expect(self.start(five(0, 2, free_port()), "--token-file", self.path / "none"), 2, "cannot be opened")
        self.assertFalse(self.out.exists())

    def store_of(self, port, is_master=False):
        store = dist.TCPStore("127.0.0.1", port, is_master=is_master, wait_for_workers=False,
                              timeout=datetime.timedelta(seconds=SLOW_DAY_S))
        return dist.PrefixStore("ddpprof//attempt-0", store)

    def recorded_run(self, token):
        """Records one run's rendezvous as seen on the network: challenge, decision, rank 1's registration and proof."""
        port = free_port()
        ranks = [self.start(five(rank, 2, port), "--token-file", token, *ENDLESS, out=self.path / "seen") for rank in range(2)]
        self.until((self.path / "seen" / "attempt-0" / "run-1.json").exists, "the ranks met")
        store = self.store_of(port)
        cards = {number: store.get(f"arrival/{number}") for number in (1, 2)}
        number = next(number for number, card in cards.items() if json.loads(card)["rank"] == 1)
        seen = {"challenge": store.get("challenge"), "verdict": store.get("verdict"), "card": cards[number],
                "proof": store.get(f"proof/{number}")}
        for rank in ranks:
            os.kill(rank.pid, signal.SIGKILL)
            rank.process.communicate()
        self.assertNotIn(SECRET, str(seen))
        return seen

    @long_test
    def test_what_was_recorded_opens_nothing(self):
        token = self.token()
        seen = self.recorded_run(token)
        # A process without the token joins a new run with rank 1's recorded registration and proof.
        port = free_port()
        zero = self.start(five(0, 2, port), "--token-file", token)
        self.until(lambda: knock("127.0.0.1", port) == 0, "rank 0 listens")
        store = self.store_of(port)
        store.wait(["challenge"], datetime.timedelta(seconds=SLOW_DAY_S))
        self.assertNotEqual(store.get("challenge"), seen["challenge"])
        number = store.add("arrivals", 1)
        store.set(f"guarded/{number}", "1")
        store.set(f"arrival/{number}", seen["card"])
        store.set(f"proof/{number}", seen["proof"])
        store.wait([f"refused/{number}"], datetime.timedelta(seconds=SLOW_DAY_S))
        self.assertEqual(store.get(f"refused/{number}"), b"has another token than rank 0")
        self.expect_done(zero, self.start(five(1, 2, port), "--token-file", token))
        # A process serves the recorded run again: its decision is authentic, but it does not concern this process.
        port = free_port()
        fake = self.store_of(port, is_master=True)
        for key in ("challenge", "verdict"):
            fake.set(key, seen[key])
        fake.set("verdict is there", "1")
        fooled = self.start(five(1, 2, port), "--token-file", token, out=self.path / "fooled")
        self.expect(fooled, 4, "the run that meets here is complete, and its rank 1 is ")
        self.assertEqual(list((self.path / "fooled").rglob("run-1.json")), [])

    def test_a_strangers_rank_0_is_found_out(self):
        port = free_port()
        fake = self.store_of(port, is_master=True)
        fake.set("challenge", "00" * 32)
        one = self.start(five(1, 2, port), "--token-file", self.token())
        self.until(lambda: fake.check(["proof/1"]), "rank 1 answered")
        card = json.loads(fake.get("arrival/1"))
        accepted = json.dumps({"ok": True, "run": "f" * 16, "accepted": {"0": "e" * 16, "1": card["nonce"]}, "message": ""})
        fake.set("verdict", json.dumps({"verdict": accepted, "proof": "0" * 64}))
        fake.set("verdict is there", "1")
        self.expect(one, 4, f"the process that serves 127.0.0.1:{port} has another token than this rank")
        self.assertEqual(list(self.out.rglob("run-1.json")), [])


class Gathered(Networks):
    TABLES = ("measurement", "step", "phase", "collective", "bucket", "diagnostic", "memory")

    def facts(self, database):
        """Every row, less the numbers that the loading itself gives."""
        facts = {}
        for table in self.TABLES:
            columns = [row[1] for row in self.query(database, f"PRAGMA table_info({table})")]
            self.assertTrue(columns, table)
            kept = [name for name in columns if name not in ("id", "shard_id")]
            facts[table] = sorted(map(str, self.query(database, f"SELECT {', '.join(kept)} FROM {table}")))
        self.assertGreater(len(facts["step"]), 10)
        return facts

    def imported(self, name, *folders):
        database = self.path / name
        result = self.ddpprof("import", *folders, "--out", database)
        self.assertEqual(result.returncode, 0, result.stderr)
        return database

    def check_gathered(self, folders, world_size):
        """Rank 0's folder alone makes the database that all folders together would have made."""
        apart = self.path / "apart"
        shutil.copytree(folders[0], apart)
        for rank in range(1, world_size):
            for path in apart.rglob(f"*-{rank}[.-]*"):
                path.unlink()
        gathered = self.imported("gathered.db", folders[0])
        self.assertEqual(self.facts(gathered), self.facts(self.imported("apart.db", apart, *folders[1:])))
        self.assertEqual(self.query(gathered, "SELECT world_size, status FROM measurement"), [(world_size, "ok")])
        self.assertEqual(self.query(gathered, "SELECT code FROM diagnostic WHERE code IN ('unclosed_shard', 'shard_twice')"), [])


class Gathering(Gathered):
    def test_through_the_store(self):
        folders = [self.path / f"host-{rank}" for rank in range(3)]
        for more in ((), ("--token-file", self.token(), "--overwrite"))[0 if LONG else 1:]:
            port = free_port()
            ranks = [self.start(five(rank, 3, port), "--gather", *more, out=folders[rank]) for rank in range(3)]
            self.expect(ranks[0], 0, "the files of 2 of 2 other ranks came")
            self.expect_done(*ranks[1:])
        self.check_gathered(folders, 3)

    @long_test
    def test_of_a_shared_folder_nothing_is_sent(self):
        port = free_port()
        ranks = [self.start(five(rank, 2, port), "--gather") for rank in range(2)]
        self.expect(ranks[0], 0, "the files of 0 of 1 other ranks came (0 bytes); those of 1 were here already")
        self.expect_done(ranks[1])
        self.imported("run.db", self.out)

    @long_test
    def test_all_ranks_gather_or_none(self):
        port = free_port()
        ranks = [self.start(five(0, 2, port), "--gather"), self.start(five(1, 2, port))]
        for rank in ranks:
            self.expect(rank, 4, "the ranks differ in strategy: rank 0 ", "has ddp with --gather, rank 1 ")

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("mount"), "skipped: needs root for a small disk")
    def test_a_disk_that_is_full(self):
        """Rank 0 keeps 64 MiB of its disk free: a disk of that size takes its own files, but no other rank's files."""
        disk, other = self.path / "disk", self.path / "other"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(disk)], capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest(f"skipped: this machine mounts nothing: {mounted.stderr}")
        self.addCleanup(subprocess.run, ["umount", "--lazy", str(disk)], check=True)
        port = free_port()
        zero = self.start(five(0, 2, port), "--gather", out=disk / "out")
        one = self.start(five(1, 2, port), "--gather", out=other)
        self.expect(zero, 4, "files of 1 of 2 ranks did not come, the others' are kept: rank 1: its files have ", "rank 0's disk has ")
        self.expect(one, 4, "rank 0 did not take this rank's files: stop: its files have ", f"this rank's files are in {other}")
        self.check_pair(disk / "out", other)

    def check_pair(self, *folders):
        database = self.imported("pair.db", *folders)
        self.assertEqual(self.query(database, "SELECT world_size, status FROM measurement"), [(2, "ok")])


class Hosts(Gathered):
    """The same over hosts of their own, where an address is really another host's."""

    def setUp(self):
        super().setUp()
        why = cluster.why_not(share=False)
        if why and os.environ.get("DDPPROF_COMPLETE") and "no program" in why:
            self.fail(why)
        if why:
            self.skipTest(f"skipped: no network namespaces here: {why}")

    def start_on(self, hosts, host, environment, *more, **options):
        rank = Rank.__new__(Rank)
        rank.begin, rank.seconds = time.monotonic(), None
        rank.process = hosts.start(host, self.command(*more, **options), dict(clean_environment(), **environment), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.ranks.append(rank)
        return rank

    def knock_from(self, hosts, host, address, port):
        code = f"import socket,sys; p=socket.socket(); p.settimeout(10); sys.exit(p.connect_ex(({address!r}, {port})))"
        return hosts.start(host, [sys.executable, "-c", code], dict(os.environ)).wait(60)

    def test_listening_and_gathering(self):
        with cluster.Hosts(2, mbit=400) as hosts:
            # A second network of the same hosts, as the public one beside the cluster's own.
            for host in range(2):
                cluster.quiet("ip", "-n", hosts.namespace(host), "address", "add", f"10.213.8.{host + 1}/24", "dev", "eth0")
            port, token = 29517, self.token()
            folders = [self.path / f"host-{rank}" for rank in range(2)]
            variables = [dict(five(rank, 2, port, hosts.address(0)), LOCAL_RANK="0", LOCAL_WORLD_SIZE="1") for rank in range(2)]
            options = ("--gather", "--token-file", token)
            zero = self.start_on(hosts, 0, variables[0], *options, out=folders[0])
            self.until(lambda: self.knock_from(hosts, 1, hosts.address(0), port) == 0, "rank 0 listens")
            self.assertEqual(self.knock_from(hosts, 1, "10.213.8.1", port), REFUSED_BY_KERNEL)
            self.assertEqual(self.knock_from(hosts, 0, "127.0.0.1", port), REFUSED_BY_KERNEL)
            one = self.start_on(hosts, 1, variables[1], *options, out=folders[1])
            self.expect(zero, 0, "the files of 1 of 1 other ranks came")
            self.expect_done(one)
        self.check_gathered(folders, 2)

    @long_test
    def test_a_name_that_is_loopback_on_its_own_host(self):
        """Rank 0's /etc/hosts says 127.0.1.1 and the others' name service another address; torchrun's agent, which
        listens everywhere, is reached at both."""
        with cluster.Hosts(2, mbit=400) as hosts:
            port = 29518
            serve = ("import sys, torch.distributed as d; "
                     f"s = d.TCPStore('0.0.0.0', {port}, is_master=True, wait_for_workers=False); sys.stdin.read()")
            agent = hosts.start(0, [sys.executable, "-c", serve], dict(os.environ), stdin=subprocess.PIPE)
            self.addCleanup(agent.wait, 60)
            self.addCleanup(agent.stdin.close)
            self.until(lambda: self.knock_from(hosts, 0, "127.0.1.1", port) == 0, "the agent listens")
            ranks = [self.start_on(hosts, rank, dict(five(rank, 2, port, address), LOCAL_RANK="0", LOCAL_WORLD_SIZE="1",
                                                     TORCHELASTIC_RUN_ID="x", TORCHELASTIC_USE_AGENT_STORE="True"),
                                   out=self.path / f"host-{rank}")
                     for rank, address in enumerate(("127.0.1.1", hosts.address(0)))]
            for rank in ranks:
                self.expect(rank, 4, " has the loopback address 127.0.0.1, because MASTER_ADDR (or --listen) is loopback on "
                            "its host; rank 1 ")


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main()
