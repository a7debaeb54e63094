"""The experiments of Zhang & Li (2021), run again: figures, claims with verdicts, and the report."""
