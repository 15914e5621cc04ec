# The same numbers as in volume_constants.py, for compiled kernels.
cdef enum:
    ANY = 0
    LESS = 1
    LESS_TWICE = 2
    COLUMN_BITS = 5
