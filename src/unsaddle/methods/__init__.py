"""The table of methods, and how theory sets their parameters."""
