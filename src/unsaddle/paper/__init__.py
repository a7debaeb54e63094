"""The experiments of Zhang & Li (2021), run again: figures, claims, verdicts, report."""
