"""Matrix products alone and beside copies that load the same memory, in turn.    contention.py DEVICE SECONDS TOLD

The times are the device's (events) on a GPU, the host's on a CPU, where a thread copies.
"""

import json
import sys
import threading
import time

import stacks

stacks.print_before_the_limit()

import torch  # noqa: E402


class Gpu:
    def __init__(self):
        self.side = torch.cuda.Stream()
        self.a, self.b = (torch.randn(4096, 4096, device="cuda") for _ in range(2))
        self.source, self.target = (torch.empty(256 << 20, dtype=torch.uint8, device="cuda") for _ in range(2))

    def products_ns(self, beside):
        torch.cuda.synchronize()
        begin, end, stop = (torch.cuda.Event(enable_timing=True) for _ in range(3))
        if beside:  # far more copies than the products last; how long they did is checked
            with torch.cuda.stream(self.side):
                for _ in range(400):
                    self.target.copy_(self.source)
                stop.record()
        begin.record()
        for _ in range(10):
            torch.mm(self.a, self.b)
        end.record()
        torch.cuda.synchronize()
        covered = not beside or end.elapsed_time(stop) > 0
        return begin.elapsed_time(end) * 1e6, covered


class Cpu:
    def __init__(self):
        torch.set_num_threads(1)
        self.a, self.b = (torch.randn(256, 256) for _ in range(2))

    def products_ns(self, beside):
        stop = threading.Event()

        def copies():
            source, target = (torch.empty(8 << 20, dtype=torch.uint8) for _ in range(2))
            while not stop.is_set():
                target.copy_(source)

        thread = threading.Thread(target=copies)
        if beside:
            thread.start()
        begin = time.monotonic_ns()
        for _ in range(10):
            torch.mm(self.a, self.b)
        took = time.monotonic_ns() - begin
        stop.set()
        if beside:
            thread.join()
        return took, True


def main():
    device, seconds, told = sys.argv[1], float(sys.argv[2]), sys.argv[3]
    work = Gpu() if device == "cuda" else Cpu()
    for _ in range(3):
        work.products_ns(False), work.products_ns(True)
    until, pairs, uncovered = time.monotonic() + seconds, [], 0
    while time.monotonic() < until or len(pairs) < 8:
        (alone, _), (beside, covered) = work.products_ns(False), work.products_ns(True)
        pairs.append([alone, beside])
        uncovered += not covered
    with open(told, "w") as file:
        json.dump({"pairs_ns": pairs, "uncovered": uncovered}, file)


if __name__ == "__main__":
    main()
