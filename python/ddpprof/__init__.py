"""Reads databases of ddpprof, predicts other worker counts, and records trainings.

    import ddpprof

    db = ddpprof.open("job.db")
    db.steps                                      # pandas.DataFrame if pandas is installed, otherwise a list of dicts
    db.report("summary")                          # a page with figures in Jupyter, text in a terminal
    db.predict(workers=[8, 64], gpus_per_node=8, what_if={"bandwidth": "25Gbit/s"})

    with ddpprof.profile(out="job.db", steps=range(20, 40)):
        train()

All numbers come from the program ddpprof of this installation.
"""
from . import callbacks
from ._program import ProgramError, program, version
from .database import Database, Report, open
from .profiling import profile
from .tables import Column, Table

__all__ = ["Column", "Database", "ProgramError", "Report", "Table", "callbacks", "open", "profile", "program", "version"]
