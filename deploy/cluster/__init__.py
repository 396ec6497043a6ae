"""A Glim cluster on this machine: one scheduler with the embedded database, agents with simulated GPUs, and what is
needed to run jobs on it and to look at what happened. Used by deploy/quickstart, tests/e2e and tests/bench alike.

Standard library only. Everything a cluster writes is under one private folder; everything it starts is stopped by
process id.
"""
