"""The notebook around us: where we run, and a kernel that listens while a cell waits."""
