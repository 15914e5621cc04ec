"""The tasks of a search: in this process, on a pool of processes, on a cluster."""
