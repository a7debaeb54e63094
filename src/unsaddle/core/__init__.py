"""The contract between algorithms and loops. Imports nothing else of the package."""
