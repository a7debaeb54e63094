"""What the paper does not show, measured in its manner: robustness, growth and Table 1."""
