"""Observes the optimizer steps of one training process, and runs torch.profiler in a bounded window of them.

Loaded by sitecustomize.py after the import of torch.optim.optimizer. Steps are counted from 0 for each optimizer. Before
the window first … last come the steps with norms of the gradient, if any (_ddpprof_noise.py). The window has these parts:

    first - 1               the facts of the job are read: DDP's wrapper or the model, batch, accumulation
    first … start - 2       steps are timed without the profiler
    start - 1               the profiler is on; this step is not used
    start … last            traced steps, annotated as ProfilerStep#N

Then the trace is written, and the hook returns at once. Nothing here may raise into the job.
"""
import atexit
import contextlib
import gc
import json
import os
import sys
import threading
import time

_MOST_TRACED_STEPS = 20
_MOST_OTHER_STEPS = 256  # of other optimizers between two steps of the traced one
_FORMAT = 1


def _window():
    first, last = (int(part) + _noise_steps() for part in os.environ["DDPPROF_PYTHON_STEPS"].split("-"))
    traced = max(1, min(_MOST_TRACED_STEPS, (last - first + 1) // 2))
    return first, last - traced + 1, last


def _noise_steps():
    number = os.environ.get("DDPPROF_PYTHON_NOISE_STEPS", "")
    return int(number) if number.isdigit() else 0


def _instances(of):
    """Returns the live objects of a class. Does not touch attributes of other objects, as isinstance() would."""
    return [one for one in gc.get_objects() if issubclass(type(one), of)]


def _models(torch):
    """Returns the live modules that are trained and not part of another module: FSDP's roots, engines, plain models."""
    modules = _instances(torch.nn.Module)
    parts = {id(part) for module in modules for part in module.__dict__.get("_modules", {}).values()}

    def trained(module):
        try:
            return any(p.requires_grad for p in module.parameters())
        except Exception:  # a class with parameters() of its own, or a module that is not complete
            return False

    return [module for module in modules if id(module) not in parts and trained(module)]


class Tracer:
    def __init__(self, report):
        self.report = report
        self.first, self.start, self.last = _window()
        self.automatic = os.environ.get("DDPPROF_PYTHON_MODE") != "always"
        self.folder = os.environ["DDPPROF_PYTHON_DIR"]
        self.guarded = None
        self.noise_steps = _noise_steps()
        self.forget()

    def forget(self):
        """Begins anew, as in a forked child."""
        self.unguard()
        if getattr(self, "profiler", None) is not None:
            _record_nothing()
        self.pid = os.getpid()
        self.counts = {}  # ended steps, by _key()
        self.leader = None
        self.others = 0  # steps of other optimizers since the leader's last step
        self.other_kinds = set()
        self.ended = False
        self.models = []
        self.facts = {}
        self.noise = None
        self.durations_ns = []
        self.begin_ns = self.before_ns = 0
        self.profiler = self.annotation = self.rank = self.thread = None
        self.local = threading.local()

    # Called after every optimizer step.
    def after_step(self, optimizer, args, kwargs):
        if self.ended:
            return
        try:
            self.count(optimizer)
        except Exception as error:
            self.give_up("ddpprof's module failed: %r" % (error,))

    after_step._torchdynamo_disable = True

    def count(self, optimizer):
        now_ns = time.monotonic_ns()
        key = _key(optimizer)
        if self.leader is not None and key != self.leader:
            self.other_kinds.add(type(optimizer).__name__)
            return self.other_step()
        self.others = 0
        done = self.counts[key] = self.counts.get(key, 0) + 1  # steps 0 … done - 1 have ended
        if self.noise_steps and self.first - self.noise_steps <= done <= self.first:
            self.observe_noise(optimizer, done, now_ns)
        if done < self.first - 1:
            return
        self.in_window(optimizer, done, now_ns)

    def other_step(self):
        """The steps of the window are those of one optimizer. If it was replaced, they would never end."""
        self.others += 1
        if self.others < _MOST_OTHER_STEPS or self.profiler is None:
            return
        self.annotation = None  # this step did not end
        if self.counts[self.leader] > self.start:
            return self.finish("replaced")
        self.give_up("its optimizer or its first parameter was replaced in the traced steps: choose other --steps")

    def in_window(self, optimizer, done, now_ns):
        if done == self.first - 1:
            self.leader = _key(optimizer)
            self.watch_models()
        elif done == self.first:
            self.read_facts(optimizer)
            self.begin_ns = time.time_ns()
            self.before_ns = time.monotonic_ns()
        elif self.first < done < self.start:
            self.durations_ns.append(now_ns - self.before_ns)
            self.before_ns = now_ns
            if done == self.start - 1:
                self.start_profiler()
        elif done >= self.start:
            self.end_annotation()
            if done <= self.last:
                self.annotate(done)
            else:
                self.finish("window")

    # The noise_steps steps before the window.
    def observe_noise(self, optimizer, done, now_ns):
        """A failure costs the norms, not the trace."""
        try:
            if done == self.first - self.noise_steps:
                self.leader = _key(optimizer)
                self.noise = _noise_watch(optimizer, done)
            elif self.noise is not None:
                self.noise.after_step(now_ns)
                if done == self.first:
                    self.noise.remove()
                    why = self.noise.problem()
                    if why:
                        self.report("problem", reason="no noise scale: " + why)
                    else:
                        self.facts["norms"] = self.noise.facts()
                    self.noise = None
        except Exception as error:
            self.leave_noise()
            self.report("problem", reason="no noise scale: %s" % (error,))

    def leave_noise(self):
        if self.noise is not None:
            self.noise.remove()
            self.noise = None

    # The step before the window.
    def watch_models(self):
        import torch

        if self.start - 1 <= self.first:  # no step without the profiler
            raise RuntimeError("the window of steps is too short")
        wrappers, facts_of = _wrappers(), _neighbour("_ddpprof_facts")
        self.wrapped = bool(wrappers)
        for model in wrappers or _models(torch):
            try:
                self.models.append(facts_of.ModelFacts(model))
            except Exception:  # an older torch, a ScriptModule: no such hooks; the importer derives the batch from shapes
                pass

    def read_facts(self, optimizer):
        import torch

        for one in self.models:
            one.handle.remove()
        used = [one for one in self.models if one.forwards > 0]
        facts, facts_of = self.facts, _neighbour("_ddpprof_facts")
        parameters = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
        owned = {id(p) for p in parameters}
        used = [one for one in used if any(id(p) in owned for p in one.trained())] or used
        if used:
            main = max(used, key=lambda one: sum(facts_of.numel(p) for p in one.trained()))
            parameters = main.trained()
            facts.update(facts_of.batches(main.batches), sharding=facts_of.sharding(main.model))
            if self.wrapped:
                facts.update(
                    accumulation=main.forwards,
                    bucket_cap_bytes=getattr(main.model, "bucket_bytes_cap", None),
                    find_unused_parameters=getattr(main.model, "find_unused_parameters", None),
                    gradient_as_bucket_view=getattr(main.model, "gradient_as_bucket_view", None),
                )
        facts.update(
            parameter_count=sum(facts_of.numel(p) for p in parameters),
            parameter_bytes=sum(facts_of.numel(p) * p.element_size() for p in parameters),
            optimizer=type(optimizer).__name__,
            **facts_of.rates(optimizer),
            threads=torch.get_num_threads(),
            **facts_of.host(),
            python=sys.version.split()[0],
            torch=str(torch.__version__),
        )
        self.models = [main] if used else []

    def watch_batches(self):
        """The batch of one step may be the last, smaller one of an epoch: those of the traced steps show the usual one."""
        for one in self.models:
            one.watch()

    def leave_models(self):
        for one in self.models:
            one.handle.remove()

    # The profiler.
    def start_profiler(self):
        import torch

        if self.job_profiles(torch):
            return self.give_up("the job uses torch.profiler itself, which keeps it")
        if self.automatic and ((torch.cuda.is_available() and torch.cuda.is_initialized()) or self.has_shard()):
            self.report("native")
            return self.give_up(None)
        self.rank, self.thread = _rank(), threading.get_ident()
        activities = [torch.profiler.ProfilerActivity.CPU]
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            activities.append(torch.profiler.ProfilerActivity.CUDA)
        with _Quiet():
            try:  # acc_events: without it torch prints a warning
                self.profiler = torch.profiler.profile(activities=activities, record_shapes=True, acc_events=True)
            except TypeError:
                self.profiler = torch.profiler.profile(activities=activities, record_shapes=True)
            self.profiler.start()
        self.local.end = _ThreadEnd(self)
        self.guard(torch.autograd.profiler.profile)
        self.watch_batches()
        self.report("tracing", first=self.start, last=self.last)

    @staticmethod
    def job_profiles(torch):
        return (torch.autograd._profiler_enabled() or _instances(torch.profiler.profile)
                or _instances(torch.autograd.profiler.profile))

    @staticmethod
    def has_shard():
        """Returns true if the native tracer records this process: it has NVTX ranges."""
        folder = os.environ.get("DDPPROF_TRACE_DIR")
        mark = "-%d." % os.getpid()
        return bool(folder) and any(mark in name and name.endswith(".ddps") for name in os.listdir(folder))

    def guard(self, profile_class):
        """While the window is traced, a profiler that the job makes ends this one: kineto serves one at a time."""
        original = profile_class.__init__
        tracer = self

        def __init__(profile, *args, **kwargs):
            tracer.give_up("the job started torch.profiler in the window, and keeps it")
            original(profile, *args, **kwargs)

        profile_class.__init__ = __init__
        self.guarded = (profile_class, original)

    def unguard(self):
        if self.guarded:
            profile_class, original = self.guarded
            profile_class.__init__ = original
            self.guarded = None

    def annotate(self, number):
        import torch

        self.annotation = torch.profiler.record_function("ProfilerStep#%d" % number)
        self.annotation.__enter__()

    def end_annotation(self):
        if self.annotation is not None:
            self.annotation.__exit__(None, None, None)
            self.annotation = None

    def stop_profiler(self):
        self.unguard()
        profiler, self.profiler = self.profiler, None
        with _Quiet():
            profiler.stop()
        return profiler

    def finish(self, why):
        """Writes the trace. The file gets its name when it is complete."""
        import torch

        begin_ns = time.monotonic_ns()
        facts = dict(self.facts, format=_FORMAT, attempt=int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")))
        facts["last_step"] = min(self.counts[self.leader] - 1, self.last)  # a step after it is not complete
        self.leave_models()
        for one in self.models:
            facts.update(_neighbour("_ddpprof_facts").batches(one.batches))
        if self.other_kinds:
            facts["other_optimizers"] = sorted(self.other_kinds)
        facts["untraced"] = {"first": self.first, "begin_ns": self.begin_ns, "durations_ns": self.durations_ns}
        torch.autograd._add_metadata_json("ddpprofJob", json.dumps(facts))
        profiler = self.stop_profiler()
        rank = self.rank
        path = os.path.join(self.folder, "rank%d-%d.json" % (rank, os.getpid()))
        with _Quiet():
            profiler.export_chrome_trace(path + ".part")
        os.rename(path + ".part", path)
        self.report("traced", file=os.path.basename(path), rank_number=rank, attempt=facts["attempt"], ended_by=why,
                    seconds=(time.monotonic_ns() - begin_ns) * 1e-9)
        self.end()

    def give_up(self, reason):
        """Removes everything without a trace. The reason is reported, unless it is None."""
        try:
            self.leave_noise()
            self.leave_models()
            self.end_annotation()
            if self.profiler is not None:
                self.stop_profiler()
        except Exception as error:
            reason = "%s; then %r" % (reason or "at the end", error)
        if reason is not None:
            self.report("problem", reason=reason)
        self.end()

    def end(self):
        self.unguard()
        self.ended = True
        self.counts, self.facts, self.models, self.durations_ns = {}, {}, [], []
        self.profiler = self.annotation = None

    def at_exit(self):
        if self.ended or os.getpid() != self.pid:
            return
        try:
            if self.profiler is not None and self.thread != threading.get_ident():
                self.annotation = None
                return self.give_up("its training, in a thread, was cut off by the end of the process: choose earlier "
                                    "--steps")
            if self.profiler is not None and self.counts.get(self.leader, 0) > self.start:
                self.annotation = None  # the last step is not complete
                return self.finish("exit")
            self.report("ended", steps=max(self.counts.values(), default=0))
            self.give_up(None)
        except Exception as error:
            self.report("problem", reason="the trace cannot be written: %r" % (error,))


def _key(optimizer):
    """Returns what distinguishes the steps of an optimizer. Some programs (DeepSpeed) step an optimizer several times, each
    time with another group of parameters: these are not several steps."""
    groups = optimizer.param_groups
    parameters = next((group["params"] for group in groups if group["params"]), ())
    return id(optimizer), id(parameters[0]) if parameters else 0


def _wrappers():
    """Returns the live modules with DistributedDataParallel."""
    parallel = sys.modules.get("torch.nn.parallel.distributed")
    return _instances(parallel.DistributedDataParallel) if parallel else []


def _neighbour(name):
    """Loads a module of this file's folder as sitecustomize.py loads this one."""
    module = type(sys)(name)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
    with open(path) as file:
        exec(compile(file.read(), path, "exec"), module.__dict__)
    sys.modules[name] = module
    return module


def _noise_watch(optimizer, first):
    import torch

    return _neighbour("_ddpprof_noise").NoiseWatch(torch, _wrappers(), optimizer, first)


class _ThreadEnd:
    """In a threading.local: ends the traced steps with their thread. kineto stops only in the thread that started it."""

    def __init__(self, tracer):
        self.tracer = tracer

    def __del__(self):
        if self.tracer.profiler is not None:
            self.tracer.at_exit()


class _Quiet:
    """Sets kineto's log level while the profiler starts and stops, so that it prints nothing into the job's output."""

    def __enter__(self):
        self.unset = "KINETO_LOG_LEVEL" not in os.environ
        if self.unset:
            os.environ["KINETO_LOG_LEVEL"] = "99"

    def __exit__(self, *_):
        if self.unset:
            os.environ.pop("KINETO_LOG_LEVEL", None)


def _record_nothing():
    """In a child that was forked while its parent was traced: the inherited profiler must not fill the memory."""
    try:
        import torch

        torch._C._autograd._enable_record_function(False)
    except Exception:
        pass


def _rank():
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank()
    for name in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"):
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return 0


def install(optimizer_module, report):
    register = getattr(optimizer_module, "register_optimizer_step_post_hook", None)
    if register is None:
        report("problem", reason="this torch has no hooks of optimizer steps; torch 2.1 or newer has them")
        return
    tracer = Tracer(report)
    register(tracer.after_step)
    atexit.register(tracer.at_exit)
    os.register_at_fork(after_in_child=tracer.forget)
    report("torch")
