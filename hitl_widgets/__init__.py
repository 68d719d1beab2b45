"""Human approval for agents and functions in Jupyter notebooks."""
