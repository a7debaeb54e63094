"""What it takes to go over several processes: numbers sent, memory, time. ``docs/machines.md``."""
