"""The static site of `make lite`, in a browser that reaches nothing else."""
