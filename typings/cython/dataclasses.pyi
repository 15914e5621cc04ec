"""Dataclasses of Cython: those of Python."""

from dataclasses import dataclass as dataclass
from dataclasses import field as field
