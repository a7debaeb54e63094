"""Torture: trials that try to break the library through its public doors; see docs/torture.md."""
