"""Run a zoo implementation in its own process, check it, time it against its baselines, and write the record.

Needs torch, triton, numpy and cuda-core, and nothing else of Warplore, so that it runs on a bare GPU host.
"""
