"""`python -m retriever`: the command line without an installed script."""

from retriever.cli import run

run()
