"""The version of the package, readable without importing anything else."""

VERSION = "0.1.0"
