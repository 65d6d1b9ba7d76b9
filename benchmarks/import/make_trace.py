#!/usr/bin/env python3
"""Writes a trace as torch's profiler does of one rank of a DDP training, of any size, as a stream.

    make_trace.py OUT.json[.gz] --bytes 5G [--rank 0] [--world-size 2] [--layers 48] [--indent]

The host's operations of all steps come first, then all launches and what the devices ran, each with its arrow: the order
in which torch writes them. A step has a ProfilerStep, DDP's forward, autograd's functions on a thread of their own,
gradients added up, buckets that are all-reduced beside the backward pass with their message sizes, and the optimizer's
step. The same arguments give the same bytes. A step's text is made once and repeated with other times and ids.
Prints the events and bytes that were written.
"""

import argparse
import gzip
import json
import random
import sys

PID, MAIN, AUTOGRAD, STREAM, NCCL_STREAM = 4242, 4242, 4300, 7, 20
BASE_US = 1_700_000_000_000_000
BATCH, WIDTH = 64, 1024


class Text:
    """Events with holes for what differs between steps: each number is an offset plus the step's number times a slope."""

    def __init__(self, indent: bool):
        self.indent, self.parts, self.offsets, self.slopes, self.events = indent, [], [], [], 0

    def hole(self, offset: int, slope: int) -> str:
        self.offsets.append(offset)
        self.slopes.append(slope)
        return "@"

    def event(self, phase, category, name, pid, tid, start_ns, duration_ns=None, args=None, extra=None):
        self.events += 1
        comma, colon = (",\n    ", ": ") if self.indent else (", ", ": ")
        # Functions make the rest, so that holes are noted in the order in which they stand in the text.
        text = f'"ph"{colon}"{phase}", "cat"{colon}"{category}", "name"{colon}"{name}", "pid"{colon}{pid}, "tid"{colon}{tid}'
        text += f'{comma}"ts"{colon}{self.hole(BASE_US + start_ns // 1000, self.step_us)}.{start_ns % 1000:03d}'
        if duration_ns is not None:
            text += f', "dur"{colon}{duration_ns // 1000}.{duration_ns % 1000:03d}'
        if extra:
            text += extra()
        if args:
            text += comma + '"args": {' + ("\n      " if self.indent else "") + args() + ("\n    }" if self.indent else "}")
        self.parts.append(("  {\n    " if self.indent else "{") + text + ("\n  },\n" if self.indent else "},\n"))

    def close(self):
        self.template = "".join(self.parts).replace("%", "%%").replace("@", "%d")
        self.holes = list(zip(self.offsets, self.slopes))
        del self.parts
        return self

    def of_step(self, step: int) -> bytes:
        return (self.template % tuple([offset + step * slope for offset, slope in self.holes])).encode()


class Step:
    """One step's events: `host` what the CPU did, `device` launches and what they started."""

    def __init__(self, layers: int, world_size: int, indent: bool, seed: int):
        self.random = random.Random(seed)
        self.layers, self.world_size = layers, world_size
        self.host, self.device = Text(indent), Text(indent)
        self.ids_a_step = 12 * layers + 64
        # Each layer launches twice forward and three times backward, a little slower than the device works.
        self.step_us = layers * 170 + 900
        self.host.step_us = self.device.step_us = self.step_us
        self.id = 0
        self.device_ns, self.nccl_ns = 0, 0
        self.build()

    def next_id(self) -> int:
        self.id += 1
        return self.id

    def jitter(self, around_ns: int) -> int:
        return int(around_ns * self.random.uniform(0.8, 1.2))

    def op(self, name, tid, start_ns, duration_ns, more="", category="cpu_op"):
        number = self.next_id()
        self.host.event("X", category, name, PID, tid, start_ns, duration_ns,
                        lambda: f'"External id": {self.host.hole(number, self.ids_a_step)}{more}')

    def launch(self, tid, start_ns, kernel, duration_ns, stream=STREAM, more=""):
        number = self.next_id()
        text, slope = self.device, self.ids_a_step
        text.event("X", "cuda_runtime", "cudaLaunchKernel", PID, tid, start_ns, self.jitter(6_000),
                   lambda: f'"External id": {text.hole(number, slope)}, "cbid": 211, "correlation": {text.hole(number, slope)}')
        text.event("s", "ac2g", "ac2g", PID, tid, start_ns, extra=lambda: f', "id": {text.hole(number, slope)}')
        free_ns = self.nccl_ns if stream == NCCL_STREAM else self.device_ns
        begin_ns = max(free_ns + 900, start_ns + 5_000)
        text.event("X", "kernel", kernel, 0, stream, begin_ns, duration_ns,
                   lambda: f'"External id": {text.hole(number, slope)}, "queued": 0, "device": 0, "context": 1, '
                           f'"stream": {stream}, "correlation": {text.hole(number, slope)}, "registers per thread": 40, '
                           f'"shared memory": 16384, "blocks per SM": 4.740741, "warps per SM": 37.925926, '
                           f'"grid": [512, 1, 1], "block": [256, 1, 1], "est. achieved occupancy %": 50{more}')
        text.event("f", "ac2g", "ac2g", 0, stream, begin_ns, extra=lambda: f', "id": {text.hole(number, slope)}, "bp": "e"')
        if stream == NCCL_STREAM:
            self.nccl_ns = begin_ns + duration_ns
        else:
            self.device_ns = begin_ns + duration_ns

    def all_reduce(self, at_ns: int, elements: int):
        ranks = ", ".join(str(rank) for rank in range(min(self.world_size, 8)))
        sizes = (f', "Collective name": "allreduce", "In msg nelems": {elements}, "Out msg nelems": {elements}, '
                 f'"Group size": {self.world_size}, "dtype": "Float", "Process Group Name": "0", '
                 f'"Process Group Description": "default_pg", "Process Group Ranks": "[{ranks}{", ..." if self.world_size > 8 else ""}]"')
        self.op("c10d::allreduce_", AUTOGRAD, at_ns, 70_000)
        self.op("record_param_comms", AUTOGRAD, at_ns + 10_000, 40_000, sizes)
        self.op("nccl:all_reduce", AUTOGRAD, at_ns + 15_000, 30_000, category="user_annotation")
        self.launch(AUTOGRAD, at_ns + 20_000, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                    self.jitter(elements // 60), NCCL_STREAM, sizes)

    def build(self):
        shapes = f', "Input type": ["float", "float", "float"], "Input Dims": [[{BATCH}, {WIDTH}], [{WIDTH}, {WIDTH}], [{WIDTH}]]'
        gemm = "ampere_sgemm_128x64_tn"
        add = ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
               "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3>)")
        layer_ns, begin_ns = 50_000, 100_000
        forward_ns = layer_ns * self.layers
        # A name with a hole of its own: the step's number.
        self.host.events += 1
        name = '"ProfilerStep#' + self.host.hole(1, 1) + '"'
        start = self.host.hole(BASE_US, self.step_us)
        number = self.host.hole(self.next_id(), self.ids_a_step)
        self.host.parts.append('  {"ph": "X", "cat": "user_annotation", "name": ' + name + f', "pid": {PID}, "tid": {MAIN}, '
                               f'"ts": {start}.000, "dur": {self.step_us - 50}.000, "args": {{"External id": {number}}}}},\n')
        self.op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", MAIN, 10_000, 60_000, category="user_annotation")
        self.op("DistributedDataParallel.forward", MAIN, begin_ns, forward_ns, category="cpu_op")
        for layer in range(self.layers):
            at_ns = begin_ns + 1_000 + layer * layer_ns
            self.op("aten::linear", MAIN, at_ns, layer_ns - 5_000, shapes)
            self.op("aten::t", MAIN, at_ns + 1_000, 4_000)
            self.op("aten::addmm", MAIN, at_ns + 6_000, 25_000, shapes)
            self.launch(MAIN, at_ns + 15_000, gemm, self.jitter(38_000))
            self.op("aten::relu", MAIN, at_ns + 34_000, 10_000)
            self.launch(MAIN, at_ns + 37_000, add, self.jitter(6_000))
        backward_ns = begin_ns + forward_ns + 20_000
        gradient_ns, pending = 110_000, 0
        for layer in range(self.layers):
            at_ns = backward_ns + layer * gradient_ns
            self.op("autograd::engine::evaluate_function: AddmmBackward0", AUTOGRAD, at_ns, 80_000,
                    f', "Sequence number": {1000 + self.layers - layer}, "Fwd thread id": 1')
            self.op("AddmmBackward0", AUTOGRAD, at_ns + 2_000, 70_000,
                    f', "Sequence number": {1000 + self.layers - layer}, "Fwd thread id": 1')
            for part in range(2):
                self.op("aten::mm", AUTOGRAD, at_ns + 6_000 + 30_000 * part, 20_000)
                self.launch(AUTOGRAD, at_ns + 12_000 + 30_000 * part, gemm, self.jitter(44_000))
            self.op("torch::autograd::AccumulateGrad", AUTOGRAD, at_ns + 82_000, 12_000,
                    f', "Input type": ["float"], "Input Dims": [[{WIDTH}, {WIDTH}]]')
            self.launch(AUTOGRAD, at_ns + 86_000, add, self.jitter(6_000))
            pending += WIDTH * WIDTH
            if (layer + 1) % 6 == 0 or layer + 1 == self.layers:
                self.all_reduce(at_ns + 96_000, pending)
                pending = 0
        optimizer_ns = backward_ns + gradient_ns * self.layers + 100_000
        self.op("Optimizer.step#SGD.step", MAIN, optimizer_ns, 300_000, category="user_annotation")
        self.op("aten::_foreach_add_", MAIN, optimizer_ns + 20_000, 200_000)
        self.device_ns = max(self.device_ns, self.nccl_ns)  # the optimizer's stream waits for the communication's
        self.launch(MAIN, optimizer_ns + 60_000, "void at::native::(anonymous namespace)::multi_tensor_apply_kernel"
                    "<at::native::(anonymous namespace)::TensorListMetadata<2> >()", self.jitter(150_000))
        self.host.close()
        self.device.close()


def bytes_of(text: str) -> int:
    units = {"K": 10**3, "M": 10**6, "G": 10**9}
    return int(float(text[:-1]) * units[text[-1].upper()]) if text[-1].upper() in units else int(text)


def write_trace(path: str, size: int, rank: int, world_size: int, layers: int, indent: bool) -> tuple[int, int]:
    # A few kinds of steps, in turn; ranks differ as machines do.
    steps = [Step(layers, world_size, indent, 1000 * rank + kind) for kind in range(4)]
    head = {"schemaVersion": 1,
            "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 85_000_000_000,
                                  "computeMajor": 8, "computeMinor": 0, "numSms": 108}],
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world_size, "nccl_version": "2.20.5"}}
    opener = (lambda: gzip.GzipFile(path, "wb", compresslevel=1, mtime=0)) if path.endswith(".gz") else (lambda: open(path, "wb", 1 << 20))
    a_round = sum(len(step.host.of_step(0)) + len(step.device.of_step(0)) for step in steps)
    count = max(4, round(size * 4 / a_round))
    written = 0
    with opener() as out:
        def put(text: bytes):
            nonlocal written
            written += len(text)
            out.write(text)
        put((json.dumps(head)[:-1] + ',\n"traceEvents": [\n').encode())
        for part in ("host", "device"):
            for step in range(count):
                put(getattr(steps[step % 4], part).of_step(step))
        put(f'{{"ph": "M", "name": "process_name", "ts": {BASE_US}.000, "pid": {PID}, "tid": 0, "args": {{"name": "python"}}}}\n'
            '],\n"displayTimeUnit": "ms"\n}\n'.encode())
    events = sum(steps[step % 4].host.events + steps[step % 4].device.events for step in range(4)) * (count // 4)
    events += sum(steps[step].host.events + steps[step].device.events for step in range(count % 4)) + 1
    return events, written


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--bytes", default="100M", help="of JSON, about; K, M and G are powers of 1000")
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--world-size", type=int, default=2)
    parser.add_argument("--layers", type=int, default=48, help="linear layers of the model")
    parser.add_argument("--indent", action="store_true", help="a line a part of an event, as torch writes; else a line an event")
    arguments = parser.parse_args()
    events, written = write_trace(arguments.out, bytes_of(arguments.bytes), arguments.rank, arguments.world_size,
                                  arguments.layers, arguments.indent)
    print(f"{arguments.out}: {events} events, {written} bytes of JSON")
    return 0


if __name__ == "__main__":
    sys.exit(main())
