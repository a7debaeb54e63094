"""The command line: ``unsaddle methods``, ``minimize``, ``certify``, ``atoms``, ``reproduce``."""

from unsaddle.cli.commands import FIELDS, main

__all__ = ["FIELDS", "main"]
