"""A training that is killed goes on from its checkpoint as if nothing had been."""

import json
import os
import signal
import unittest

import torch

from faulty_runs import FaultTest, wait_until


class Training(FaultTest):
    def write(self, steps, checkpoint):
        self.scenario.write_text(f"""
name: goes-on
workload:
  model: {{kind: mlp, widths: [20, 30, 10]}}
  data: {{samples: 280, seed: 5}}
  batch_per_worker: 4
  optimizer: {{kind: sgd, momentum: 0.9}}
strategies: [ddp]
workers: [2]
device: cpu
measure: {{warmup_steps: 3, steps: {steps - 3}, repeats: 1, unwrapped: false, threads_per_rank: 1, timeout_s: 60}}
learning_rate: {{base: 0.01}}
checkpoint: {json.dumps(checkpoint)}
""")

    def losses(self, name):
        result = self.ddpprof("run", self.scenario, "--out", self.path / f"{name}.db")
        self.assertIn(result.returncode, (0, 5), result.stderr)
        folder = self.path / f"{name}.db.d" / "ddp-n2-r0"
        return [json.loads((folder / f"result-{rank}.json").read_text())["losses"] for rank in range(2)]

    def test_resumed_from_its_checkpoint(self):
        kept = self.path / "kept"
        self.write(1_000_000, {"folder": str(kept), "every_steps": 10})
        run = self.start(*self.run_arguments())
        self.assertTrue(wait_until((kept / "ddp-2.pt").exists))
        self.wait_for_step(step=40)
        os.kill(self.worker(0), signal.SIGKILL)
        code, messages, seconds = self.finish(run)
        self.assertEqual(code, 4, messages)
        self.expect_nobody_left()
        done = torch.load(kept / "ddp-2.pt")["step"]
        self.assertGreaterEqual(done, 10)
        self.assertEqual(done % 10, 0)
        self.write(30, {"resume": str(kept / "ddp-2.pt")})
        rest = self.losses("rest")
        self.write(done + 30, {})
        whole = self.losses("whole")
        for rank in range(2):
            self.assertEqual(len(rest[rank]), 30)
            self.assertEqual(rest[rank], whole[rank][done:])
        self.row("a training is killed and resumed from its checkpoint", messages, code, seconds,
                 f"the checkpoint of step {done}; the next 30 losses are bit for bit those of a run that was not killed")


if __name__ == "__main__":
    unittest.main()
