"""Loaded at the start of every Python process of a job that ddpprof traces: its folder is first on PYTHONPATH.

Waits for the import of torch.optim.optimizer and then hands over to _ddpprof_torch.py. Runs the sitecustomize that the
process would have loaded otherwise. Never raises into the job: problems are reported to `ddpprof record`.
"""
import os
import sys
from importlib.machinery import PathFinder  # importlib.util and json take 10 ms: they are imported when needed

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_TRIGGER = "torch.optim.optimizer"


def report(event, **facts):
    """Appends a line to python-HOST.jsonl in the output folder. A line is written at once, so lines of processes do not mix.
    """
    try:
        rank = os.environ.get("RANK", "")
        line = '{"event": "%s", "pid": %d, "rank": %s' % (event, os.getpid(), '"%s"' % rank if rank.isdigit() else "null")
        if facts:
            import json

            line += ", " + json.dumps(facts)[1:-1]
        line += "}\n"
        # One file per host: appended lines of several hosts may overwrite each other in a shared folder.
        host = "".join(c if c.isalnum() or c in "-." else "-" for c in os.uname().nodename)
        path = os.path.join(os.environ["DDPPROF_PYTHON_DIR"], "python-%s.jsonl" % host)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.write(descriptor, line.encode("utf-8", "replace"))
        finally:
            os.close(descriptor)
    except Exception:  # the folder may be gone: the job must go on
        pass


def _load_tracer(optimizer_module):
    try:
        import importlib.util

        path = os.path.join(_FOLDER, "_ddpprof_torch.py")
        spec = importlib.util.spec_from_file_location("_ddpprof_torch", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # torch.compile imports the module of a hook that it traces
        bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # the folder may be shared or read-only
        try:
            spec.loader.exec_module(module)
        finally:
            sys.dont_write_bytecode = bytecode
        module.install(optimizer_module, report)
    except Exception as error:
        report("problem", reason="ddpprof's module cannot start: %r" % (error,))


class _Finder:
    """Finds nothing itself. Calls _load_tracer after the import of torch.optim.optimizer, and removes itself before."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != _TRIGGER:
            return None
        try:
            sys.meta_path.remove(_Finder)
        except ValueError:  # another thread imports it, too
            return None
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                _call_after(spec.loader)
                return spec
        return None


def _call_after(loader):
    try:
        execute = loader.exec_module

        def exec_module(module):
            try:
                del loader.exec_module
            except AttributeError:
                pass
            execute(module)
            _load_tracer(module)

        loader.exec_module = exec_module
    except Exception as error:
        report("problem", reason="the import of torch cannot be observed: %r" % (error,))


def _run_hidden_sitecustomize():
    """Runs the sitecustomize behind this one on sys.path, as if this one did not exist. Its errors are its own."""
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    import importlib.util

    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _leave_path():
    sys.path[:] = [entry for entry in sys.path if not entry or os.path.abspath(entry) != _FOLDER]


try:
    _leave_path()
    if os.environ.get("DDPPROF_PYTHON_DIR"):
        report("python")
        sys.meta_path.insert(0, _Finder)
except Exception as _error:
    report("problem", reason="ddpprof's module cannot start: %r" % (_error,))
_run_hidden_sitecustomize()
