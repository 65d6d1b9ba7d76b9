"""One rank of a pipeline parallel training with torch.distributed.pipelining over Gloo, under torch.profiler.

    RANK=… WORLD_SIZE=3 MASTER_ADDR=… MASTER_PORT=… profiled_pipeline.py CASE.json

CASE.json: {"folder", "schedule": "gpipe" or "1f1b", "layers" (of each stage), "width", "batch", "micro_batches",
"warmup", "steps"}. Writes rank<R>.json, and truth<R>.json: for each traced step its duration, how long the schedule waited
for sends and receives, and how long it took to start them, on the job's own clock.
"""

import datetime
import json
import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed import pipelining
from torch.distributed.pipelining import schedules
from torch.profiler import ProfilerActivity, profile, schedule

SCHEDULES = {"gpipe": pipelining.ScheduleGPipe, "1f1b": pipelining.Schedule1F1B}


class Timed:
    """Measures the time in a function of the schedules."""

    def __init__(self, name):
        self.seconds, self.function = 0.0, getattr(schedules, name)
        setattr(schedules, name, self)

    def __call__(self, *arguments, **named):
        begin = time.perf_counter()
        result = self.function(*arguments, **named)
        self.seconds += time.perf_counter() - begin
        return result

    def take(self):
        seconds, self.seconds = self.seconds, 0.0
        return seconds


def main():
    case, rank = json.loads(pathlib.Path(sys.argv[1]).read_text()), int(os.environ["RANK"])
    stages = int(os.environ["WORLD_SIZE"])
    folder, width = pathlib.Path(case["folder"]), case["width"]
    torch.set_num_threads(1)
    torch.manual_seed(rank)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=120))
    layers = [torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU()) for _ in range(case["layers"][rank])]
    model = torch.nn.Sequential(*layers)
    stage = pipelining.PipelineStage(model, rank, stages, torch.device("cpu"))
    run = SCHEDULES[case["schedule"]](stage, case["micro_batches"], loss_fn=torch.nn.functional.mse_loss)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs, targets = torch.randn(case["batch"], width), torch.randn(case["batch"], width)
    waits, starts, truth = Timed("_wait_batch_p2p"), Timed("_batch_p2p"), []
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True,
                 schedule=schedule(wait=case["warmup"] - 1, warmup=1, active=case["steps"], repeat=1),
                 on_trace_ready=lambda done: done.export_chrome_trace(str(folder / f"rank{rank}.json"))) as profiler:
        for step in range(case["warmup"] + case["steps"]):
            begin = time.perf_counter()
            waits.take()
            starts.take()
            run.step(*([inputs] if rank == 0 else []), **({"target": targets} if rank == stages - 1 else {}))
            optimizer.step()
            optimizer.zero_grad()
            if step >= case["warmup"]:
                truth.append({"step_s": time.perf_counter() - begin, "wait_s": waits.take(), "start_s": starts.take()})
            profiler.step()
    (folder / f"truth{rank}.json").write_text(json.dumps(truth))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
